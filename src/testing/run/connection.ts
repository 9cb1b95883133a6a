// A test in a process of its own that uses the service of another one: the worker of a runner, whose service was started
// once for all of them (global.ts).
//
// Mail is read here, of the bytes, so that it is the same as in the process of the service. A service that is gone is an error
// for whoever asks or waits.

import { holding, now } from '#lib/clock.ts'
import { workInBackground } from '#lib/process/background.ts'
import { connectForFrames, type FrameLine } from '#net/local/frames.ts'
import type * as Promised from '../../testing.d.ts'
import type { Entry, Source } from '../arrived/journal.ts'
import { type Facts, readMail } from '../arrived/mail.ts'
import { clientOf, type Service } from '../client.ts'
import { placeOfRun } from './environment.ts'
import type { Asked, Calls, Told } from './sharing.ts'

export const connectTesting: typeof Promised.connectTesting = (place = placeOfRun()) =>
  holding(async () => {
    if (place === undefined)
      throw new Error(
        `No service was started for this run: is 'teal/testing/global' its globalSetup? (TEAL_TESTING is not set)`,
      )
    workInBackground()
    const remote = await Remote.open(place)
    const service = await serviceOf(remote)
    return clientOf(service, async () => remote.close())
  })

type Value<Name extends keyof Calls> = Awaited<ReturnType<Calls[Name]>>

class Remote {
  readonly #asked = new Map<number, { resolve(value: never): void; reject(error: Error): void }>()
  readonly #listeners = new Set<() => void>()
  #line: FrameLine | undefined
  #last = 0
  #gone = false

  static async open(place: string): Promise<Remote> {
    const remote = new Remote()
    remote.#line = await connectForFrames(place, value => remote.#hear(value as Told | undefined))
    return remote
  }

  call<Name extends keyof Calls>(name: Name, ...input: Parameters<Calls[Name]>): Promise<Value<Name>> {
    return holding(
      () =>
        new Promise<Value<Name>>((resolve, reject) => {
          if (this.#gone) return reject(gone())
          this.#last += 1
          this.#asked.set(this.#last, { resolve: resolve as (value: never) => void, reject })
          this.#line?.send({ id: this.#last, name, input } satisfies Asked)
        }),
    )
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    this.#gone = true
    this.#line?.close()
  }

  #hear(told: Told | undefined): void {
    if (told !== undefined && 'id' in told) {
      const asked = this.#asked.get(told.id)
      this.#asked.delete(told.id)
      if ('error' in told) asked?.reject(Object.assign(new Error(told.error.text), told.error.more))
      else asked?.resolve(told.value as never)
      return
    }
    if (told === undefined) {
      this.#gone = true
      for (const { reject } of this.#asked.values()) reject(gone())
      this.#asked.clear()
    }
    for (const listener of [...this.#listeners]) listener()
  }
}

function gone(): Error {
  return new Error('The service of this run is gone, or the connection to it was closed')
}

async function serviceOf(remote: Remote): Promise<Service> {
  const ports = await remote.call('ports')
  const before = now()
  /** What the clock of the service is ahead. */
  let ahead = (await remote.call('now')) - before
  return {
    source: new RemoteSource(remote),
    port: name => ports[name],
    inbox: name => remote.call('inbox', name),
    seed: (address, seed) => remote.call('seed', address, seed),
    full: async (address, full) => remote.call('full', address, full),
    async fail(rule) {
      const id = await remote.call('fail', rule)
      return { hits: () => remote.call('hits', id), stop: () => remote.call('stop', id) }
    },
    send: (mail, envelope) => remote.call('send', mail, envelope),
    now: () => now() + ahead,
    async advance(ms) {
      await remote.call('advance', ms)
      ahead += ms
    },
    forget: async () => remote.call('forget'),
  }
}

class RemoteSource implements Source {
  readonly #remote: Remote
  /** Mails are taken apart once, and known for as long as somebody holds them. */
  readonly #read = new Map<string, WeakRef<Promised.Mail>>()

  constructor(remote: Remote) {
    this.#remote = remote
  }

  async after(seq: number): Promise<readonly Entry[]> {
    const all = await this.#remote.call('after', seq)
    return all.map(facts => ({ facts, mail: () => this.#mail(facts) }))
  }

  last(): Promise<number> {
    return this.#remote.call('last')
  }

  watch(listener: () => void): () => void {
    return this.#remote.watch(listener)
  }

  async #mail(facts: Facts): Promise<Promised.Mail> {
    const known = this.#read.get(facts.id)?.deref()
    if (known !== undefined) return known
    const { raw, verified } = await this.#remote.call('content', facts.id)
    const mail = await readMail(facts, Buffer.from(raw.buffer, raw.byteOffset, raw.length), verified)
    this.#read.set(facts.id, new WeakRef(mail))
    return mail
  }
}
