// What a front thread has instead of the actors, counters and numbers, which live at home: the same to whoever uses them,
// each asking over the line.
//
// Promises: a watcher hears nothing twice and, from when it is told that it watches, misses nothing; of many watchers of one
// account home knows one; numbers are fetched ahead, so that giving one out never waits.

import type { Guard } from '#actors/kernel/actor.ts'
import type { Change } from '#actors/kernel/change.ts'
import type { Actors, DirectoryHandle, Guarding, UserHandle } from '#actors/kernel/system.ts'
import { after, monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Link } from '#lib/process/link.ts'
import { madeMessageId } from '#mail/header/message-id.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Numbers, SequenceName } from '#store/engine/sequence.ts'
import type { Count, Counters } from '#store/folder/counters.ts'
import type { CounterCall, FrontCalls, FrontWords, HomeCalls, HomeWords } from './protocol.ts'

export type HomeLine = Link<FrontCalls, FrontWords, HomeCalls, HomeWords>

/** Who is to be told what of one account. */
class Told<Listener> {
  readonly listeners = new Set<Listener>()
  /** Resolves when home tells. */
  ready: Promise<unknown> = Promise.resolve()
  /** Home did not take it. */
  failed = false
}

export class RemoteActors implements Actors {
  readonly read: Reader
  readonly directory: DirectoryHandle
  readonly #home: HomeLine
  readonly #watched = new Map<string, Told<(change: Change) => void>>()
  readonly #guarded = new Map<string, Told<Guard>>()
  /** Accounts that no session is left of, with when the last one went, in that order: home goes on telling for a while. */
  readonly #left = new Map<string, number>()
  #sweeping = false

  constructor(home: HomeLine, read: Reader) {
    this.#home = home
    this.read = read
    this.directory = {
      read,
      run: (command, given, signal) =>
        this.#home.call('run', { user: null, command: command.name, given }, { signal }) as never,
    }
  }

  handle(id: string): UserHandle {
    return new RemoteHandle(this, id)
  }

  /** For handles. */
  run(id: string, command: string, given: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#home.call('run', { user: id, command, given }, { signal })
  }

  /** Home knows; here it is looked up. */
  storageOf(): undefined {
    return undefined
  }

  /** Home says that something changed. */
  changed({ user, change }: FrontWords['changed']): void {
    for (const listener of this.#watched.get(user)?.listeners ?? []) listener(change)
  }

  /** Home says that sessions may have ended, and waits until they know. */
  async guarded({ user, reason }: FrontCalls['guarded']['input']): Promise<void> {
    await Promise.all([...(this.#guarded.get(user)?.listeners ?? [])].map(guard => guard(reason)))
  }

  /** For handles. */
  async watch(id: string, listener: (change: Change) => void): Promise<() => void> {
    const told = this.#join(this.#watched, id, () => this.#home.call('watch', id))
    told.listeners.add(listener)
    const leave = () => this.#leave(this.#watched, id, listener, () => this.#home.tell('unwatch', id))
    try {
      await told.ready
      return leave
    } catch (error) {
      leave()
      throw error
    }
  }

  /** For handles. */
  guard(id: string, guard: Guard): Guarding {
    const told = this.#join(this.#guarded, id, () => this.#home.call('guard', id))
    told.listeners.add(guard)
    this.#left.delete(id)
    return { known: told.ready, leave: () => this.#unguard(id, told, guard) }
  }

  /** Who comes again soon, as mail programs do, need not wait until home tells once more. */
  #unguard(id: string, told: Told<Guard>, guard: Guard): void {
    if (!told.listeners.delete(guard) || told.listeners.size > 0) return
    this.#left.set(id, monotonic())
    const [oldest] = this.#left.keys()
    const isFull = this.#left.size > limits.front.guardsLeftMax
    if (told.failed) this.#forget(id)
    else if (isFull && oldest !== undefined) this.#forget(oldest)
    if (!this.#sweeping) this.#sweepIn(limits.front.guardLeftMs)
  }

  #sweepIn(ms: number): void {
    this.#sweeping = true
    after(ms, () => {
      this.#sweeping = false
      const due = monotonic() - limits.front.guardLeftMs
      for (const [id, left] of this.#left) if (left <= due) this.#forget(id)
      const [next] = this.#left.values()
      if (next !== undefined) this.#sweepIn(next - due)
    })
  }

  #forget(id: string): void {
    this.#left.delete(id)
    this.#guarded.delete(id)
    this.#home.tell('unguard', id)
  }

  #join<Listener>(all: Map<string, Told<Listener>>, id: string, ask: () => Promise<unknown>): Told<Listener> {
    const known = all.get(id)
    if (known !== undefined) return known
    const told = new Told<Listener>()
    all.set(id, told)
    told.ready = ask()
    told.ready.catch(() => {
      told.failed = true
    })
    return told
  }

  #leave<Listener>(all: Map<string, Told<Listener>>, id: string, listener: Listener, said: () => void): void {
    const told = all.get(id)
    if (told?.listeners.delete(listener) !== true || told.listeners.size > 0) return
    all.delete(id)
    said()
  }
}

/** Sessions keep theirs for as long as they are: it holds nothing but where it leads. */
class RemoteHandle implements UserHandle {
  readonly id: string
  readonly #actors: RemoteActors

  constructor(actors: RemoteActors, id: string) {
    this.#actors = actors
    this.id = id
  }

  get read(): Reader {
    return this.#actors.read
  }

  run(command: { readonly name: string }, given: unknown, signal?: AbortSignal): Promise<never> {
    return this.#actors.run(this.id, command.name, given, signal) as Promise<never>
  }

  watch(listener: (change: Change) => void): Promise<() => void> {
    return this.#actors.watch(this.id, listener)
  }

  guard(guard: Guard): Guarding {
    return this.#actors.guard(this.id, guard)
  }
}

/** Counters that home keeps. */
export class RemoteCounters implements Counters {
  readonly #home: HomeLine

  constructor(home: HomeLine) {
    this.#home = home
  }

  counted(...given: Parameters<Counters['counted']>): Promise<Count> {
    return this.#ask({ name: 'counted', given }) as Promise<Count>
  }

  count(...given: Parameters<Counters['count']>): Promise<Count> {
    return this.#ask({ name: 'count', given }) as Promise<Count>
  }

  spend(...given: Parameters<Counters['spend']>): Promise<Count & { readonly allowed: boolean }> {
    return this.#ask({ name: 'spend', given }) as Promise<Count & { readonly allowed: boolean }>
  }

  draw(...given: Parameters<Counters['draw']>): Promise<number> {
    return this.#ask({ name: 'draw', given }) as Promise<number>
  }

  mark(...given: Parameters<Counters['mark']>): Promise<boolean> {
    return this.#ask({ name: 'mark', given }) as Promise<boolean>
  }

  remove(kind: string, id: string): void {
    this.#home.tell('uncount', { kind, id })
  }

  #ask(call: CounterCall): Promise<unknown> {
    return this.#home.call('count', call)
  }
}

/** Numbers of bodies, of which some are fetched before they are needed. */
export class RemoteNumbers implements Numbers {
  readonly #home: HomeLine
  readonly #hostname: string
  /** First and last of what is left, in order. */
  readonly #blocks: { next: number; last: number }[] = []
  #left = 0
  #asking: Promise<void> | undefined

  constructor(home: HomeLine, hostname: string) {
    this.#home = home
    this.#hostname = hostname
  }

  /** Fetches the first. */
  open(): Promise<void> {
    return this.#more()
  }

  /** @throws Fault Overloaded where they come slower than they are used */
  next(name: SequenceName): number {
    if (name !== 'body') throw new Error(`numbers of ${name} are given out at home`)
    if (this.#left < limits.front.numbersMin) void this.#more().catch(() => {})
    const [block] = this.#blocks
    if (block === undefined) throw new Fault('Overloaded')
    const number = block.next
    block.next += 1
    this.#left -= 1
    if (block.next > block.last) this.#blocks.shift()
    return number
  }

  messageId(seed: string): string {
    return madeMessageId(this.#hostname, seed)
  }

  #more(): Promise<void> {
    this.#asking ??= this.#home
      .call('bodyNumbers', limits.front.numbers)
      .then(first => {
        this.#blocks.push({ next: first, last: first + limits.front.numbers - 1 })
        this.#left += limits.front.numbers
      })
      .finally(() => {
        this.#asking = undefined
      })
    return this.#asking
  }
}
