// `npm run build`: makes dist/ and, where one can be made (Linux x86-64), the executable dist/teal.
//
// `npm run build:dist` makes the former alone; with `--stale`, as an installation and each `npm start` do, only where a source
// is newer.

import process from 'node:process'
import { buildDist, isStale } from './bundle.ts'

const has = (flag: string): boolean => process.argv.includes(flag)

if (has('--executable') && process.platform === 'linux' && process.arch === 'x64') await import('./executable.ts')
else if (!has('--stale') || isStale()) await buildDist()
