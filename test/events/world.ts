// What scenarios of events run in: a service, a subscriber to everything, and the shape of a scenario.

import type { EventName } from '#actors/kernel/events.ts'
import { Dialogue } from '../dialogue.ts'
import { type Subscriber, until } from '../jobs/outbox.ts'
import { type Body, type Running, useTeal } from '../running.ts'

export interface World {
  readonly running: Running
  /** Gets every event there is. */
  readonly hook: Subscriber
  /** Calls the API; what is no success fails the test. */
  ok(method: string, path: string, body?: unknown): Promise<Body>
  /** A new user; its name is `<word><number>`, its address `<name>@example.com`. */
  user(word?: string, more?: Record<string, unknown>): Promise<{ id: string; name: string; address: string }>
  /** Id of a folder. */
  mailbox(user: string, path: string): Promise<string>
  /** Gives commands over IMAP as a user made by `user`; one that is not done fails the test. */
  imap(user: { name: string }, ...commands: string[]): Promise<void>
  /** Something no other scenario has. */
  unique(word: string): string
}

export interface Scenario<Context = unknown> {
  readonly event: EventName
  /** The operation. */
  readonly name: string
  /** What must be there before; its events do not count. */
  prepare?(world: World): Promise<Context>
  /** Does it and answers the exact payload, without id, time and name. */
  act(world: World, context: Context): Promise<Record<string, unknown>>
  /** Further events that come of it, as often as they come. */
  readonly also?: readonly EventName[]
}

/** A table of scenarios, each with a context of its own type. */
export function scenario<Context>(one: Scenario<Context>): Scenario {
  return one as unknown as Scenario
}

/** A service for the tests of the calling file; `hook` is asked when a test runs. */
export function useWorld(hook: () => Subscriber, options: Parameters<typeof useTeal>[0] = {}): World {
  const running = useTeal({ hostname: 'mx.example.com', network: { allowPrivate: ['127.0.0.0/8'] }, ...options })
  let last = 0
  const ok: World['ok'] = async (method, path, body) => {
    const answer = await running.call(method, path, body)
    if (answer.status !== 200 || answer.body.success !== true) {
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    }
    return answer.body
  }
  const unique: World['unique'] = word => `${word}${++last}`
  return {
    running,
    get hook() {
      return hook()
    },
    ok,
    unique,
    async user(word = 'user', more = {}) {
      const name = unique(word)
      return { id: await running.user(name, more), name, address: `${name}@example.com` }
    },
    async imap({ name }, ...commands) {
      const session = await Dialogue.open(running.at('imap'))
      await session.line()
      for (const command of [`LOGIN ${name} "secret of ${name}"`, ...commands]) {
        session.send(`t ${command}\r\n`)
        let line = await session.line()
        while (!line.startsWith('t ')) line = await session.line()
        if (!line.startsWith('t OK')) throw new Error(`${command}: ${line}`)
      }
      session.close()
    },
    async mailbox(user, path) {
      const { results } = await ok('GET', `/users/${user}/mailboxes`)
      return results.find((one: Body) => one.path === path || one.specialUse === path).id
    },
  }
}

/** Waits until every event was matched and delivered. */
export async function quiet({ running }: World): Promise<void> {
  const { read } = running.teal.core
  const rows = async (table: string) => (await read.one<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))?.n ?? 0
  await until('all events to be delivered', async () => (await rows('event')) === 0 && (await rows('delivery')) === 0)
}
