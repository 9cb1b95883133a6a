// Threads of tests begin from dist/, as they are delivered, also where what starts them runs from the sources: to translate the sources
// in each thread costs more processor time than all else that a service does at its start.
//
// For vitest as a plugin (vitest.config.ts), for a process of a test's own by `startThreadsAsDelivered` before it loads the service.
// dist/ is made before (built.ts).

import { registerHooks } from 'node:module'

export const threadsAsDelivered = {
  name: 'threads-as-delivered',
  enforce: 'pre',
  transform: (code: string, file: string) => (isBuildInfo(file) ? delivered(code) : undefined),
} as const

/** For the files that this process loads from now on. */
export function startThreadsAsDelivered(): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      return isBuildInfo(url) ? { ...loaded, source: delivered(String(loaded.source)) } : loaded
    },
  })
}

const isBuildInfo = (file: string) => file.endsWith('/src/lib/build-info.ts')

function delivered(code: string): string {
  const result = code.replace(/`\S*workers\/\S*`/, '`../../dist/workers/$${name}.js`')
  if (result === code) throw new Error('src/lib/build-info.ts says otherwise where threads begin')
  return result
}
