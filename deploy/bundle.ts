// What is built of the sources, and how: dist/. The executable is made of it (executable.ts).
//
// dist/ is a package: main.js (the command line), index.js (the library) and testing.js as modules and for `require`, with
// their types, a file for each thread, and the web application (web.ts). Everything written in JavaScript is bundled in the versions that were tested;
// what is native is asked for by the manifest. Parts they share lie at the depth of src/lib, so that what a source file
// finds beside itself (lib/build-info.ts: the threads, package.json) is where it looks for it in both. dist/ is written
// anew or not at all: a start that reads it meanwhile finds the old one.

import assert from 'node:assert'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { BuildOptions, Metafile, Plugin } from 'esbuild'
import { later, laterEntries, packageOf } from './later.ts'
import { type Entry, writePackage } from './package.ts'
import { buildWeb } from './web.ts'

export const root = join(import.meta.dirname, '..')
export const dist = join(root, 'dist')
export const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

/** Names of the threads. */
export const threads = readdirSync(join(root, 'workers')).map(file => file.replace(/\.ts$/, ''))

/** Packages with native parts that are installed beside dist/; without uWebSockets.js Node's own HTTP serves. */
const natives = ['better-sqlite3']
export const beside = [...natives, 'uWebSockets.js', 'msgpackr-extract']

/** What every bundle has in common. */
export const shape = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node22',
  minifySyntax: true,
  // Less to read at each start; lines stay short, since the runtime prints them with an error.
  minifyWhitespace: true,
  lineLimit: 120,
  legalComments: 'none',
  logLevel: 'warning',
} satisfies BuildOptions

/** Where a thread starts. */
function threadEntry(thread: string): string {
  return join(root, 'workers', `${thread}.ts`)
}

/** What programs may import: the library, what is for tests, and each file of src/testing that has types written beside it. */
function entries(): Entry[] {
  const fixed: Entry[] = [
    { name: 'index', source: 'src/library.ts', types: 'src/teal.d.ts' },
    { name: 'testing', source: 'src/testing/testing.ts', types: 'src/testing.d.ts' },
  ]
  const folder = join(root, 'src/testing')
  const more = existsSync(folder) ? readdirSync(folder).filter(file => file.endsWith('.d.ts')) : []
  return [
    ...fixed.filter(({ source }) => existsSync(join(root, source))),
    ...more.map(file => {
      const name = file.slice(0, -'.d.ts'.length)
      return { name: `testing/${name}`, source: `src/testing/${name}.ts`, types: `src/testing/${file}` }
    }),
  ]
}

/** Makes dist/. */
export async function buildDist(): Promise<void> {
  const { build } = await import('esbuild')
  const fresh = join(root, `dist.${process.pid}`)
  const common = { ...shape, external: beside, sourcemap: true, sourcesContent: false, metafile: true } as const
  const offered = entries()
  try {
    mkdirSync(fresh, { recursive: true })
    const made = await Promise.all([
      build({
        ...common,
        format: 'esm',
        splitting: true,
        entryPoints: [
          { in: join(root, 'src/main.ts'), out: 'main' },
          ...offered.map(({ name, source }) => ({ in: join(root, source), out: name })),
          ...threads.map(thread => ({ in: threadEntry(thread), out: `workers/${thread}` })),
        ],
        banner: { js: moduleScope },
        chunkNames: 'src/lib/[name]-[hash]',
        outdir: fresh,
        plugins: [ownFiles],
      }),
      build({
        ...common,
        format: 'cjs',
        stdin: { contents: together(offered), resolveDir: root },
        define: { 'import.meta.url': 'TEAL_URL' },
        banner: { js: fileScope },
        outfile: join(fresh, 'library.cjs'),
        plugins: [ownFiles],
      }),
      build({
        ...common,
        format: 'cjs',
        entryPoints: [...[...later.keys()].map(name => ({ in: `later:${name}`, out: name }))],
        outdir: join(fresh, 'packages'),
        plugins: [laterEntries],
      }),
    ])
    // Small, and for every platform; its own package would bring commands along.
    cpSync(join(root, 'node_modules/argon2/prebuilds'), join(fresh, 'packages/prebuilds'), { recursive: true })
    const page = await buildWeb(root, join(fresh, 'web'))
    const built = [...made.map(({ metafile }: { metafile: Metafile }) => metafile), page]
    const inputs = built.flatMap(metafile => Object.keys(metafile.inputs))
    requireDepth(made[0].metafile)
    writePackage({ root, folder: fresh, entries: offered, inputs, natives })
    place(fresh)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

/** What looks for files beside itself must lie where it thinks it does. */
function requireDepth({ outputs }: Metafile): void {
  for (const [output, { inputs }] of Object.entries(outputs)) {
    for (const file of ['src/lib/build-info.ts', 'src/lib/process/lazy.ts'])
      assert(!(file in inputs) || /\/src\/lib\/[^/]+$/.test(output), `${file} became a part of ${output}`)
  }
}

/** What packages that were written for `require` find around them. */
const moduleScope = [
  `import { createRequire as tealRequire } from 'node:module'`,
  'const require = tealRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname',
].join('\n')

/** The same place in a file that lies elsewhere: as if it were one of the shared parts. */
const fileScope = `const TEAL_URL = require('node:url').pathToFileURL(require('node:path').join(__dirname, 'src/lib/library.js')).href`

/** One file for all that can be required, so that they share what they hold. */
function together(offered: readonly Entry[]): string {
  return offered.map(({ name, source }) => `export * as ${JSON.stringify(name)} from './${source}'\n`).join('')
}

/** Packages that are loaded late lie in a folder of their own. */
const ownFiles: Plugin = {
  name: 'own files',
  setup(building) {
    building.onLoad({ filter: /src\/lib\/process\/lazy\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(
        / load\('(.*?)'\)/g,
        (_, module: string) => ` load('../../packages/${packageOf(module)}.js')['${module}']`,
      ),
      loader: 'ts',
    }))
    building.onLoad({ filter: /node-gyp-build-optional-packages\/index\.js$/ }, () => ({ contents: lmdbLoader }))
    // Its code finds variables of its file by name in text it evaluates: in a scope of its own they keep their names.
    building.onResolve({ filter: /^ordered-binary$/ }, () => ({
      path: join(root, 'node_modules/ordered-binary/dist/index.cjs'),
    }))
  },
}

/** The native part of LMDB comes in a package for each platform, for one or two C libraries. */
const lmdbLoader = `
const { readdirSync } = require('node:fs')
const { dirname, join } = require('node:path')
module.exports = () => {
  const folder = dirname(require.resolve('@lmdb/lmdb-' + process.platform + '-' + process.arch + '/package.json'))
  const files = readdirSync(folder).filter(file => file.endsWith('.node') && file.includes('.napi.'))
  if (files.length === 1) return require(join(folder, files[0]))
  const musl = process.platform === 'linux' && process.report.getReport().header.glibcVersionRuntime === undefined
  return require(join(folder, files.find(file => file.includes('musl') === musl) ?? files[0]))
}
`

/** Puts what was built in the place of what was there; the executable stays. */
function place(fresh: string): void {
  const old = `${fresh}.old`
  try {
    renameSync(dist, old)
  } catch {
    // There was none.
  }
  renameSync(fresh, dist)
  try {
    renameSync(join(old, 'teal'), join(dist, 'teal'))
  } catch {
    // No executable was built.
  }
  rmSync(old, { recursive: true, force: true })
}

/** Whether a source is newer than dist/, or there is none. A few hundred files: some milliseconds. */
export function isStale(): boolean {
  let built: number
  try {
    built = statSync(join(dist, 'package.json')).mtimeMs
  } catch {
    return true
  }
  const newer = (path: string): boolean => statSync(path).mtimeMs > built
  const described = ['package.json', ...['bundle', 'package', 'later', 'web'].map(name => `deploy/${name}.ts`)]
  if (described.some(file => newer(join(root, file)))) return true
  return ['src', 'actors', 'workers', 'web'].some(folder =>
    readdirSync(join(root, folder), { recursive: true }).some(file => newer(join(root, folder, String(file)))),
  )
}
