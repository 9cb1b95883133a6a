// What is built of the sources, and how: the one description behind dist/ and the executable.
//
// dist/ holds modules that import the packages beside it: main.js (the command line), index.js with index.d.ts (the library)
// and a file for each thread. Parts they share lie at the depth of src/lib, so that what a source file finds beside itself
// (lib/build-info.ts: the threads, package.json) is where it looks for it in both. It is written anew or not at all: a start that
// reads it meanwhile finds the old one.

import {
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
import process from 'node:process'
import type { BuildOptions } from 'esbuild'

export const root = join(import.meta.dirname, '..')
export const dist = join(root, 'dist')
export const { name, version, license, dependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as { name: string; version: string; license: string; dependencies: Record<string, string> }

/** Names of the threads. */
export const threads = readdirSync(join(root, 'workers')).map(file => file.replace(/\.ts$/, ''))

/** What every bundle has in common. */
export const shape = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node22',
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
} satisfies BuildOptions

/** Where a thread starts. */
export function threadEntry(thread: string): string {
  return join(root, 'workers', `${thread}.ts`)
}

/** Makes dist/. */
export async function buildDist(): Promise<void> {
  const { build } = await import('esbuild')
  const fresh = join(root, `dist.${process.pid}`)
  try {
    mkdirSync(fresh, { recursive: true })
    await build({
      ...shape,
      format: 'esm',
      packages: 'external',
      splitting: true,
      sourcemap: true,
      sourcesContent: false,
      entryPoints: [
        { in: join(root, 'src/main.ts'), out: 'main' },
        { in: join(root, 'src/library.ts'), out: 'index' },
        ...threads.map(thread => ({ in: threadEntry(thread), out: `workers/${thread}` })),
      ],
      chunkNames: 'src/lib/[name]-[hash]',
      outdir: fresh,
    })
    copyFileSync(join(root, 'src/teal.d.ts'), join(fresh, 'index.d.ts'))
    const about = { name, version, license, type: 'module', main: 'index.js', types: 'index.d.ts', dependencies }
    writeFileSync(join(fresh, 'package.json'), `${JSON.stringify(about, null, 2)}\n`)
    place(fresh)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

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
  if (['package.json', 'deploy/bundle.ts'].some(file => newer(join(root, file)))) return true
  return ['src', 'actors', 'workers'].some(folder =>
    readdirSync(join(root, folder), { recursive: true }).some(file => newer(join(root, folder, String(file)))),
  )
}
