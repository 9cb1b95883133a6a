// Where the program starts. What was worked out from its own text is kept for the next start: modules without their types
// (lib/stripped.js, with figures) and compiled (the runtime's own cache).
// Both have to be asked for before anything else is imported, so the rest comes by a dynamic import. Plain JavaScript,
// because the runtime would load its whole stripper for this one file.

import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import './lib/stripped.js'

// A folder of our own: one in a place that others can write to could bring foreign code.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/teal', import.meta.url)))
const { run } = await import('#cli/program.ts')
await run()
