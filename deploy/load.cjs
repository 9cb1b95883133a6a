// Runs the program's bundle from its folder, with what the engine worked out from it at the build: that spares half of a
// start. Where the engine has no use for it (another release, other flags) it works everything out again.

const fs = require('node:fs')
const { createRequire } = require('node:module')
const path = require('node:path')
const vm = require('node:vm')

/** Compiles main.cjs of `folder`; `run` runs it as a module. @param {string} folder */
exports.compile = folder => {
  const filename = path.join(folder, 'main.cjs')
  // The bundle is ASCII throughout (the bundler escapes the rest), and read as such it takes half the memory.
  const source = `(function (exports, require, module, __filename, __dirname) {${fs.readFileSync(filename, 'latin1')}\n})`
  const script = new vm.Script(source, {
    filename,
    cachedData: kept(path.join(folder, 'main.cache')),
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const run = () => {
    const module = { exports: {} }
    script.runInThisContext()(module.exports, createRequire(filename), module, filename, folder)
  }
  return { script, run }
}

function kept(file) {
  try {
    return fs.readFileSync(file)
  } catch {
    return undefined
  }
}
