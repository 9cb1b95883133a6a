// Runs at the end of an installation: loads the program once without starting it, so that the first start finds its modules
// without types and compiled (src/lib/stripped.js), as every later one does. An installation never fails for it.

import { readdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const threads = new URL('../workers/', import.meta.url)

try {
  await import('../src/lib/stripped.js')
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/teal', import.meta.url)))
  await import('#cli/program.ts')
  await import('#service')
  // A thread's file ends by saying that it is none here; what it imports has been loaded then.
  for (const name of readdirSync(threads)) await import(new URL(name, threads).href).catch(() => {})
} catch {}
// What a thread left waiting must not hold the installation.
process.exit(0)
