// The library entry: a whole service inside somebody's program or test. Its types are teal.d.ts.
//
// The program ends when it has nothing more to do, whatever it forgot to close. That takes a front whose sockets can be told
// to let it, which those of uWebSockets.js cannot: it serves where it is asked for.

import { hold } from '#lib/clock.ts'
import { startTeal as start } from './service.ts'
import type * as Promised from './teal.d.ts'

export const startTeal: typeof Promised.startTeal = async (options = {}, { keepAlive = false } = {}) => {
  const { api, ...others } = options as { api?: Promised.ConfigPart }
  const given = { ...others, api: { port: 0, front: 'node:http', ...api } }
  const teal = await start(given, { background: true })
  const { url, rootToken, listeners, check } = teal
  const release = keepAlive ? hold() : () => {}
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= teal.close().finally(release)
    return closed
  }
  return { url, rootToken, listeners, check, close }
}
