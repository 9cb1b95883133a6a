// The entry `teal/testing`: a mail service for tests, in their process. Its types are testing.d.ts.

import { holding, now } from '#lib/clock.ts'
import type * as Promised from '../testing.d.ts'
import { clientOf, type Service } from './client.ts'
import { Host } from './host.ts'

export { matchers } from './matchers.ts'
export { connectTesting } from './run/connection.ts'

export const startTesting: typeof Promised.startTesting = (options = {}) =>
  holding(async () => {
    const host = await Host.start(options)
    const close = () => holding(() => host.close())
    const { url, rootToken, listeners, check } = host.teal
    const client = await made(() => clientOf(serviceOf(host), close), close)
    return { ...client, url, rootToken, listeners, check, close, [Symbol.asyncDispose]: close }
  })

/** A start that fails leaves nothing open. */
async function made<Made>(make: () => Made, close: () => Promise<void>): Promise<Made> {
  try {
    return make()
  } catch (error) {
    await close()
    throw error
  }
}

/** What a test asks for, of a service in this process. */
function serviceOf(host: Host): Service {
  return {
    source: host.journal,
    port: name => host.port(name),
    inbox: name => host.inbox(name),
    seed: (address, seed) => host.seed(address, seed),
    full: (address, full) => host.full(address, full),
    async fail(rule) {
      const live = host.failures.add(rule)
      return { hits: async () => live.hits(), stop: async () => live.stop() }
    },
    send: (mail, envelope) => host.send(mail, envelope),
    now,
    advance: ms => host.advance(ms),
    forget: () => host.journal.forget(),
  }
}
