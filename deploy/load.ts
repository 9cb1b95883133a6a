// Runs the program's bundle from its folder, with what the engine worked out from it at the build: that spares half of a
// start. Where the engine has no use for it (another release, other flags) it works everything out again.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { constants, Script } from 'node:vm'

/** Compiles main.cjs of `folder`; `run` runs it as a module. */
export function compile(folder: string): { script: Script; run: () => void } {
  const filename = join(folder, 'main.cjs')
  // The bundle is ASCII throughout (the build sees to it), and read as such it takes half the memory.
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(filename, 'latin1')}\n})`
  const cachedData = kept(join(folder, 'main.cache'))
  const script = new Script(source, {
    filename,
    ...(cachedData === undefined ? {} : { cachedData }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const run = () => {
    const module = { exports: {} }
    script.runInThisContext()(module.exports, createRequire(filename), module, filename, folder)
  }
  return { script, run }
}

function kept(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}
