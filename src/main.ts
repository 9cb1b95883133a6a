// Where the program starts. What Node compiles is kept for the next start, which then takes half the time; that has to be
// asked for before anything else is imported, so the rest comes by a dynamic import.

import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

// A folder of our own: one in a place that others can write to could bring foreign code.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/teal', import.meta.url)))
const { run } = await import('#cli/program.ts')
await run()
