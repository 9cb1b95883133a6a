// A thread that loads an addon at its start, as those of the store do, and another with a task, as that of passwords does. It
// tells its owner when it is about to begin with one, so that it can be ended just then.

import Module from 'node:module'
import { loadNative } from '#lib/process/native.ts'
import { serve, threadEnd } from '#lib/process/serve.ts'

const end = threadEnd<Int32Array>()
const { _extensions: extensions } = Module as unknown as {
  _extensions: Record<string, (module: unknown, file: string) => void>
}
const load = extensions['.node']
extensions['.node'] = (module, file) => {
  Atomics.add(end.given, 0, 1)
  Atomics.notify(end.given, 0)
  load?.(module, file)
}

const require = Module.createRequire(import.meta.url)

serve(
  { load: () => loadNative(async () => void require('argon2')) },
  { end, open: () => void new (require('better-sqlite3'))(':memory:') },
)
