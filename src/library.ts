// The library entry: a whole service inside somebody's program or test. Its types are teal.d.ts.

import { startTeal as start } from './service.ts'
import type * as Promised from './teal.d.ts'

export const startTeal: typeof Promised.startTeal = async (options = {}) => {
  const { url, rootToken, listeners, check, close } = await start(options)
  return { url, rootToken, listeners, check, close }
}
