// `npm run build`: makes dist/. With `--stale`, as an installation and each `npm start` do, only where a source is newer.

import process from 'node:process'
import { buildDist, isStale } from './bundle.ts'

if (!process.argv.includes('--stale') || isStale()) await buildDist()
