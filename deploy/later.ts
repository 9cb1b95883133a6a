// Packages that are loaded when first asked for (src/lib/process/lazy.ts): each becomes a file of its own, which exports what
// is asked for of it by module.

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
  },
}
