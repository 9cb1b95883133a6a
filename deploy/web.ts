// Builds the web application and the page of `teal dev` into dist/web: scripts that are loaded when they are needed, a style for each,
// the pages that name them.
//
// Each file but the page has the hash of what is in it in its name, and lies there compressed too, so that the service only sends.
// manifest.json says which files there are; what is not in it is not served (src/http/page/files.ts).

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Metafile } from 'esbuild'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** What names the scripts: the page for people, and that of `teal dev`. */
const pages = { 'index.html': 'page.html', 'dev.html': 'dev.html' } as const

/** Writes `folder`; what was put into it comes back, for the notices. */
export async function buildWeb(root: string, folder: string): Promise<Metafile> {
  const { build } = await import('esbuild')
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [
      { in: join(root, 'web/main.tsx'), out: 'main' },
      { in: join(root, 'web/dev.tsx'), out: 'dev' },
      { in: join(root, 'web/icon.svg'), out: 'icon' },
    ],
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
  })
  mkdirSync(folder, { recursive: true })
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]))
  const names = [...files.keys()]
  files.set('worker.js', await worker(root, metafile, names))
  for (const [name, source] of Object.entries(pages))
    files.set(name, Buffer.from(page(readFileSync(join(root, 'web', source), 'utf8'), names)))
  const manifest: Record<string, object> = {}
  for (const [name, bytes] of files) manifest[name] = place(folder, name, bytes)
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest))
  return metafile
}

/** What keeps the page for when there is no network: it knows the files of its own build, and is another one for each. */
async function worker(root: string, metafile: Metafile, names: readonly string[]): Promise<Buffer<ArrayBuffer>> {
  const { build } = await import('esbuild')
  const files = [...reachable(metafile, 'web/main.tsx'), ...names.filter(name => name.startsWith('icon-'))].toSorted()
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

/** Names of the built files in the place of those of the sources. */
function page(text: string, names: readonly string[]): string {
  return text.replaceAll(/\/assets\/(\w+)\.(\w+)/g, (_, stem: string, ending: string) => {
    const found = names.find(name => new RegExp(`^${stem}-[A-Z0-9]{8}\\.${ending}$`).test(name))
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
