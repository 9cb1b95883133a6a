// What the executable runs first: puts the program's files where they can be loaded, then runs them.
//
// The folder is named by the build, private to its owner, and every file in it is checked by its hash, so neither a torn
// file nor somebody else's is ever run. Folders tried in order: XDG_CACHE_HOME, ~/.cache, beside the executable, the
// temporary folder; the first that can be written to and run from.

const { createHash } = require('node:crypto')
const fs = require('node:fs')
const { createRequire } = require('node:module')
const os = require('node:os')
const path = require('node:path')
const sea = require('node:sea')

const hashes = /* parts */ {}
const build = 'build'

const folder = find()
process.argv[1] = process.argv[1] ?? 'teal'
createRequire(path.join(folder, 'main.cjs'))('./main.cjs')

function find() {
  const home = process.env.HOME
  const roots = [
    process.env.XDG_CACHE_HOME,
    home && path.join(home, '.cache'),
    path.dirname(process.execPath),
    os.tmpdir(),
  ]
  let reason = 'no folder to try'
  for (const root of roots) {
    if (!root || !path.isAbsolute(root)) continue
    try {
      return fill(path.join(root, `teal-${build}`))
    } catch (error) {
      reason = `${root}: ${error.message}`
    }
  }
  process.stderr.write(`teal: found no folder for its files (${reason})\n`)
  process.exit(1)
}

function fill(own) {
  fs.mkdirSync(own, { recursive: true, mode: 0o700 })
  const stat = fs.lstatSync(own)
  if (!stat.isDirectory() || stat.uid !== process.getuid() || (stat.mode & 0o077) !== 0) {
    throw new Error('the folder is not private')
  }
  for (const [name, hash] of Object.entries(hashes)) {
    const file = path.join(own, name)
    if (hashOf(file) === hash) continue
    const fresh = `${file}.${process.pid}`
    fs.writeFileSync(fresh, Buffer.from(sea.getRawAsset(name)), { mode: 0o700 })
    fs.renameSync(fresh, file)
  }
  // A folder mounted noexec lets files be written and not be loaded.
  for (const name of Object.keys(hashes))
    if (name.endsWith('.node')) fs.accessSync(path.join(own, name), fs.constants.X_OK)
  return own
}

function hashOf(file) {
  try {
    return createHash('sha256').update(fs.readFileSync(file)).digest('hex')
  } catch {
    return ''
  }
}
