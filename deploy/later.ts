// Packages that are loaded when first asked for (src/lib/process/lazy.ts): each becomes a file of its own, which exports what
// is asked for of it by module. One that another of them needs, in the same version, is not copied into that: it asks for the file.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'esbuild'

const root = join(import.meta.dirname, '..')

/** Package -> its modules that are asked for. */
export const later = new Map<string, string[]>()
for (const [, module = ''] of readFileSync(join(root, 'src/lib/process/lazy.ts'), 'utf8').matchAll(
  / load\('(.*?)'\)/g,
)) {
  const of = packageOf(module)
  later.set(of, [...new Set([...(later.get(of) ?? []), module])])
}

export function packageOf(module: string): string {
  return module.replace(/\/.*/, '')
}

/** Makes an entry `later:<package>` of each. */
export const laterEntries: Plugin = {
  name: 'later',
  setup(building) {
    building.onResolve({ filter: /^later:/ }, ({ path }) => ({ path, namespace: 'later' }))
    building.onLoad({ filter: /.*/, namespace: 'later' }, ({ path }) => ({
      contents: (later.get(path.slice('later:'.length)) ?? [])
        .map(module => `Object.defineProperty(exports, '${module}', { get: () => require('${module}') })\n`)
        .join(''),
      resolveDir: root,
    }))
    building.onResolve({ filter: /^[^.:]/ }, async ({ path, importer, namespace, resolveDir, kind, pluginData }) => {
      if (namespace !== 'file' || pluginData === looking || !later.get(packageOf(path))?.includes(path)) return
      const own = await building.resolve(path, { resolveDir: root, kind, pluginData: looking })
      const theirs = await building.resolve(path, { importer, resolveDir, kind, pluginData: looking })
      return own.path === theirs.path ? { path, namespace: 'shared' } : undefined
    })
    building.onLoad({ filter: /.*/, namespace: 'shared' }, ({ path }) => ({
      contents: `module.exports = require('./${packageOf(path)}.js')['${path}']`,
      resolveDir: root,
    }))
    building.onResolve({ filter: /^\.\//, namespace: 'shared' }, ({ path }) => ({ path, external: true }))
  },
}

/** Of a question of our own. */
const looking = 'looking'
