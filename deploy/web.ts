// Builds the web application and the page of `teal dev` into dist/web: scripts that are loaded when they are needed, a style for each,
// the pages that name them.
//
// Each file but the page has the hash of what is in it in its name, and lies there compressed too, so that the service only sends.
// manifest.json says which files there are; what is not in it is not served (src/http/page/files.ts).

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { BuildOptions, Metafile, Plugin } from 'esbuild'

/** What web/early.tsx makes for a language. */
interface Early {
  readonly dir: string
  readonly form: string
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** What names the scripts, and what it loads: the page for people, and that of `teal dev`. Each is built by itself, so that it has no pieces in common. */
const pages = [
  { name: 'index.html', source: 'page.html', entry: 'web/page.ts', out: 'main' },
  { name: 'dev.html', source: 'dev.html', entry: 'web/dev.tsx', out: 'dev' },
] as const
const ofPeople = pages[0].entry
/** Writes `folder`; what was put into it comes back, for the notices. */
export async function buildWeb(root: string, folder: string): Promise<Metafile> {
  const { build } = await import('esbuild')
  mkdirSync(folder, { recursive: true })
  const files = new Map<string, Buffer>()
  const all: Metafile = { inputs: {}, outputs: {} }
  const icon = { in: join(root, 'web/icon.svg'), out: 'icon' }
  for (const { name, source, entry, out } of pages) {
    const entryPoints = [{ in: join(root, entry), out }, icon]
    const { metafile, outputFiles = [] } = await build({ ...options(root, folder), entryPoints })
    const built = new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]))
    const script = scriptOf(metafile, entry)
    built.delete(script.empty)
    const text = page(readFileSync(join(root, 'web', source), 'utf8'), [...built.keys()], {
      [`${out}.js`]: script.name,
    })
    for (const [name, bytes] of built) files.set(name, bytes)
    if (entry === ofPeople) {
      for (const [name, page] of pagesByLanguage(metafile, text, await earlyForms(root))) files.set(name, page)
      files.set('worker.js', await worker(root, metafile, built))
    } else files.set(name, Buffer.from(text))
    Object.assign(all.inputs, metafile.inputs)
    Object.assign(all.outputs, metafile.outputs)
  }
  const manifest: Record<string, object> = {}
  for (const [name, bytes] of files) manifest[name] = place(folder, name, bytes)
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest))
  return all
}

function options(root: string, folder: string) {
  return {
    absWorkingDir: root,
    ...{ bundle: true, splitting: true, format: 'esm', minify: true, write: false, metafile: true },
    ...{
      jsx: 'automatic',
      jsxImportSource: 'preact',
      target: 'es2022',
      charset: 'utf8',
      legalComments: 'none',
      logLevel: 'warning',
    },
    loader: { '.svg': 'copy' },
    ...{
      entryNames: '[name]-[hash]',
      chunkNames: '[name]-[hash]',
      outdir: folder,
      tsconfig: join(root, 'web/tsconfig.json'),
    },
    plugins: [behindMain(root)],
  } as const satisfies BuildOptions
}

/** Says that whoever loads an area, or what comes after one, has the page: all that the page itself needs becomes one piece, not one for each set of them. */
function behindMain(root: string): Plugin {
  return {
    name: 'behind main',
    setup(build) {
      build.onLoad({ filter: /[\\/]web[\\/]\w+[\\/](?:area|letters)\.tsx?$/ }, ({ path }) => {
        if (dirname(path) === join(root, 'web/base')) return undefined
        const contents = `${readFileSync(path, 'utf8')}\nimport ${JSON.stringify(join(root, 'web/main.tsx'))}`
        return { contents, loader: path.endsWith('x') ? 'tsx' : 'ts' }
      })
    },
  }
}

/** The script of an entry: where nothing stands in its own but that it wants another piece, that piece. */
function scriptOf({ outputs }: Metafile, entry: string): { name: string; empty: string } {
  const [path, output] = Object.entries(outputs).find(([, one]) => one.entryPoint === entry) ?? []
  if (path === undefined || output === undefined) throw new Error(`${entry} was not built`)
  const own = Object.values(output.inputs).reduce((sum, { bytesInOutput }) => sum + bytesInOutput, 0)
  const [other, ...more] = output.imports.filter(({ kind }) => kind === 'import-statement')
  if (own > 0 || other === undefined || more.length > 0) return { name: basename(path), empty: '' }
  return { name: basename(other.path), empty: basename(path) }
}

/** The pages for each language, which ask for its texts themselves: `entry` comes with the form to sign in, `index` without. */
function pagesByLanguage(
  { outputs }: Metafile,
  text: string,
  forms: Readonly<Record<string, Early>>,
): [name: string, page: Buffer][] {
  return Object.entries(forms).flatMap(([code, { dir, form }]) => {
    const [path] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === `web/texts/${code}.ts`) ?? []
    if (path === undefined) throw new Error(`There are no texts in ${code}`)
    const page = text
      .replace('<html lang="en" dir="ltr"', `<html lang="${code}" dir="${dir}"`)
      .replace('</head>', `<link rel="modulepreload" href="/assets/${basename(path)}">\n</head>`)
    const entry = page.replace('<div id="page"></div>', () => `<div id="page">${form}</div>`)
    return [
      [`index.${code}.html`, Buffer.from(page)],
      [`entry.${code}.html`, Buffer.from(entry)],
    ]
  })
}

/** The form to sign in as markup, by language: what the page itself makes of it (web/early.tsx), run here. */
async function earlyForms(root: string): Promise<Record<string, Early>> {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, 'web/early.tsx')],
    ...{ bundle: true, format: 'iife', globalName: 'made', write: false, target: 'es2022' },
    ...{ jsx: 'automatic', jsxImportSource: 'preact', tsconfig: join(root, 'web/tsconfig.json') },
    loader: { '.css': 'empty' },
  })
  // As much of a browser as modules look for when they are loaded.
  const heard = { addEventListener: () => {} }
  const browser = {
    ...heard,
    PublicKeyCredential: true,
    localStorage: { getItem: () => null },
    navigator: { languages: ['en'], onLine: true },
    location: { pathname: '/app', search: '' },
    document: { ...heard, cookie: '', documentElement: {}, querySelector: () => null },
    BroadcastChannel: class extends EventTarget {},
    ...{ URLSearchParams, URL, Intl, setTimeout, queueMicrotask },
  }
  const context = createContext({ ...browser, window: browser, self: browser })
  const run = `${outputFiles[0]?.text ?? ''}; made.early()`
  return (await runInContext(run, context)) as Record<string, Early>
}

/** What keeps the page for when there is no network: it knows the files of its own build, and is another one for each. */
async function worker(root: string, metafile: Metafile, built: ReadonlyMap<string, Buffer>): Promise<Buffer> {
  const { build } = await import('esbuild')
  const wanted = reachable(metafile, ofPeople)
  const files = [...built.keys()].filter(name => wanted.has(name) || name.startsWith('icon-')).toSorted()
  const hash = createHash('sha256').update(files.join('\n')).digest('hex').slice(0, 12)
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, 'web/worker.ts')],
    ...{ bundle: true, format: 'iife', minify: true, write: false, target: 'es2022', legalComments: 'none' },
    define: { FILES: JSON.stringify(files.map(name => `/assets/${name}`)), BUILD: JSON.stringify(hash) },
    tsconfig: join(root, 'web/tsconfig.json'),
  })
  return Buffer.from(outputFiles[0]?.contents ?? [])
}

/** Names of the built files that an entry may come to load. */
function reachable({ outputs }: Metafile, entry: string): Set<string> {
  const found = new Set<string>()
  const follow = (path: string) => {
    if (found.has(basename(path))) return
    found.add(basename(path))
    const { imports = [], cssBundle } = outputs[path] ?? {}
    for (const one of imports) if (one.external !== true) follow(one.path)
    if (cssBundle !== undefined) follow(cssBundle)
  }
  for (const [path, output] of Object.entries(outputs)) if (output.entryPoint === entry) follow(path)
  return found
}

/** Names of the built files in the place of those of the sources. @param known some that are called otherwise */
function page(text: string, names: readonly string[], known: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\/assets\/(\w+)\.(\w+)/g, (_, stem: string, ending: string) => {
    const isIt = (name: string) => new RegExp(`^${stem}-[A-Z0-9]{8}\\.${ending}$`).test(name)
    const found = known[`${stem}.${ending}`] ?? names.find(isIt)
    if (found === undefined) throw new Error(`The page names ${stem}.${ending}, which was not built`)
    return `/assets/${found}`
  })
}

/** Writes a file, and its compressed forms where they are shorter. */
function place(folder: string, name: string, bytes: Buffer): object {
  writeFileSync(join(folder, name), bytes)
  const packed = {
    br: brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
    gz: gzipSync(bytes, { level: 9 }),
  }
  const shorter = Object.entries(packed).filter(([, form]) => form.length < bytes.length)
  for (const [ending, form] of shorter) writeFileSync(join(folder, `${name}.${ending}`), form)
  const type = types[extname(name)] ?? 'application/octet-stream'
  return {
    type,
    hash: createHash('sha256').update(bytes).digest('hex').slice(0, 16),
    packed: shorter.map(([ending]) => ending),
  }
}
