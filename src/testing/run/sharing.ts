// One service of tests for several processes: those of a runner with workers, which each connect to it.
//
// Every request is a call of what a test may ask for (client.ts), by name; arrivals are told to whoever watches. Rules of a
// connection that ends end with it, so that a test that was killed spoils nothing for the next one.

import { now } from '#lib/clock.ts'
import { type FrameLine, type FrameListener, listenForFrames } from '#net/local/frames.ts'
import type * as Promised from '../../testing.d.ts'
import type { Facts, Verified } from '../arrived/mail.ts'
import type { Service } from '../client.ts'
import type { Host } from '../host.ts'

export interface Asked {
  readonly id: number
  readonly name: keyof Calls
  readonly input: readonly unknown[]
}

/** What came of a request; without a number: there may be more mail. */
export type Told =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: { readonly text: string; readonly more: object } }
  | { readonly changed: true }

/** What another process may ask for. */
export interface Calls {
  ports(): Readonly<Record<'smtp' | 'submissions' | 'imap' | 'pop3', Promised.MailPort>>
  after(seq: number): readonly Facts[]
  last(): Promise<number>
  content(id: string): Promise<{ readonly raw: Uint8Array; readonly verified: Verified }>
  inbox: Service['inbox']
  seed: Service['seed']
  full: Service['full']
  fail(rule: Promised.Failure): number
  hits(rule: number): number
  stop(rule: number): void
  send: Service['send']
  now(): number
  advance: Service['advance']
  forget: Service['forget']
}

/** Lets other processes of this machine use a service; gives what they have to know. */
export function shareHost(host: Host): Promise<FrameListener> {
  return listenForFrames(line => serve(host, line))
}

function serve(host: Host, line: FrameLine): (value: unknown) => void {
  const rules = new Map<number, { hits(): number; stop(): void }>()
  let last = 0
  const calls: Calls = {
    ports: () => ({
      smtp: host.port('smtp'),
      submissions: host.port('submissions'),
      imap: host.port('imap'),
      pop3: host.port('pop3'),
    }),
    after: seq => host.journal.since(seq).map(({ facts }) => facts),
    last: () => host.journal.last(),
    async content(id) {
      const entry = host.journal.find(id)
      if (entry === undefined) throw new Error('This mail was forgotten')
      const { raw, spf, dkim, dmarc } = await entry.mail()
      return { raw, verified: { spf, dkim, dmarc } }
    },
    inbox: name => host.inbox(name),
    seed: (address, seed) => host.seed(address, seed),
    full: (address, full) => host.full(address, full),
    fail(rule) {
      last += 1
      rules.set(last, host.failures.add(rule))
      return last
    },
    hits: rule => rules.get(rule)?.hits() ?? 0,
    stop: rule => rules.get(rule)?.stop(),
    send: (mail, envelope) => host.send(mail, envelope),
    now,
    advance: ms => host.advance(ms),
    forget: () => host.journal.forget(),
  }
  const unwatch = host.journal.watch(() => line.send({ changed: true } satisfies Told))
  return value => {
    if (value === undefined) {
      unwatch()
      for (const rule of rules.values()) rule.stop()
      return
    }
    void answer(calls, value as Asked).then(told => line.send(told))
  }
}

async function answer(calls: Calls, { id, name, input }: Asked): Promise<Told> {
  try {
    if (!Object.hasOwn(calls, name)) throw new TypeError(`There is no ${name}`)
    return { id, value: await (calls[name] as (...input: readonly unknown[]) => unknown)(...input) }
  } catch (error) {
    const { message, ...more } = error as Error & { code?: unknown; response?: unknown; responseCode?: unknown }
    const { code, response, responseCode } = more
    return { id, error: { text: message, more: { code, response, responseCode } } }
  }
}
