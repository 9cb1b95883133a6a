// Home's end of the line to one front thread: carries out what it asks for, and tells it what its sessions have to hear.
//
// Promises: a change is said before the reply of whoever made it; when the front is gone nobody is told on its behalf any
// more, its sessions are counted out, and what it had asked for comes to its end without it.

import type { Access } from '#actors/auth/access.ts'
import type { Authentication } from '#actors/auth/authentication.ts'
import type { Places } from '#actors/auth/session-places.ts'
import { directoryCrossings, userCrossings } from '#actors/crossings.ts'
import type { AddressBook } from '#actors/delivery/address-book.ts'
import type { Command } from '#actors/kernel/actor.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import type { Recency } from '#actors/mailbox/recency.ts'
import { Answering, type FindEndpoint } from '#http/elsewhere/home.ts'
import type { WrongTokens } from '#http/guard/wrong-tokens.ts'
import { within } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { type LineEnd, Link, type Side } from '#lib/process/link.ts'
import type { Pools } from '#pool'
import type { Sequence } from '#store/engine/sequence.ts'
import type { Counters } from '#store/folder/counters.ts'
import { Notices } from './notices.ts'
import type { FrontCalls, FrontWords, HomeCalls, HomeWords } from './protocol.ts'

/** Of the service, what fronts ask for. */
export interface HomeOf {
  readonly system: ActorSystem
  readonly authentication: Pick<Authentication, 'authenticate'>
  readonly places: Places
  readonly recency: Recency
  readonly pools: Pools
  readonly counters: Counters
  readonly sequence: Sequence
  readonly addressBook: Pick<AddressBook, 'note'>
  readonly access: Pick<Access, 'extend'>
  readonly wrongTokens: Pick<WrongTokens, 'note'>
  /** What answers over HTTP. */
  readonly endpoint: FindEndpoint
  readonly log: Log
}

export type FrontLine = Link<HomeCalls, HomeWords, FrontCalls, FrontWords>

export class FrontHome {
  readonly line: FrontLine
  readonly #of: HomeOf
  /** Account -> how not to be told of it any more. */
  readonly #watches = new Map<string, () => void>()
  readonly #guards = new Map<string, () => void>()
  /** Accounts of its sessions, each as often as it has one. */
  readonly #entered = new Map<string, number>()
  readonly #answering: Answering
  readonly notices = new Notices((user, change) => this.line.tell('changed', { user, change }))
  #gone = false

  constructor(line: LineEnd, of: HomeOf) {
    this.#of = of
    this.#answering = new Answering(of.endpoint, {
      piece: number => this.line.call('piece', number),
      whole: number => this.line.call('whole', number),
      drop: number => this.line.tell('dropBody', number),
    })
    this.line = new Link<HomeCalls, HomeWords, FrontCalls, FrontWords>(line, {
      calls: this.#calls(),
      words: this.#words(),
    })
  }

  /** The thread is gone, or about to. */
  end(): void {
    if (this.#gone) return
    this.#gone = true
    this.line.break(new Fault('Stopping'))
    this.#answering.end()
    for (const undo of [...this.#watches.values(), ...this.#guards.values()]) undo()
    this.#watches.clear()
    this.#guards.clear()
    for (const [user, sessions] of this.#entered) for (let at = 0; at < sessions; at++) this.#of.places.left(user)
    this.#entered.clear()
  }

  #calls(): Side<HomeCalls, HomeWords>['calls'] {
    const { system, authentication, access, places, recency, counters, sequence } = this.#of
    return {
      run: ({ user, command, given }, signal) =>
        user === null
          ? system.directory.run(known(directoryCrossings, command), given as never, signal)
          : this.#run(user, system.handle(user).run(known(userCrossings, command), given as never, signal)),
      watch: async user => {
        const unwatch = await system.handle(user).watch(change => this.notices.add(user, change))
        this.#keep(this.#watches, user, unwatch)
      },
      guard: user => {
        const { known, leave } = system.handle(user).guard(reason => this.#guarded(user, reason))
        this.#keep(this.#guards, user, leave)
        return known
      },
      authenticate: async attempt => {
        const { user, grant } = await authentication.authenticate(attempt)
        return { user, grant }
      },
      enter: async ({ user, max }) => {
        await places.enter(user, max)
        if (this.#gone) places.left(user)
        else this.#entered.set(user, (this.#entered.get(user) ?? 0) + 1)
      },
      pool: ({ pool, name, given, turnKey, deadlineMs }, signal) =>
        this.#pool(pool)(name, given, { turnKey, signal, ...(deadlineMs !== undefined && { deadlineMs }) }),
      count: ({ name, given }) => (counters[name] as (...given: readonly unknown[]) => unknown).apply(counters, given),
      ask: asked => this.#answering.ask(asked),
      pull: number => this.#answering.pull(number),
      extend: ({ hash, expires }) => access.extend(hash, expires),
      bodyNumbers: count => sequence.block('body', count),
      recent: async ({ mailbox, uidNext }) =>
        uidNext === null
          ? await recency.from(system.read, mailbox)
          : await recency.claim(system.read, mailbox, uidNext),
    }
  }

  #words(): Side<HomeCalls, HomeWords>['words'] {
    const { places, recency, system, counters, addressBook, wrongTokens, log } = this.#of
    return {
      unwatch: user => {
        this.#drop(this.#watches, user)
        this.notices.forget(user)
      },
      heard: count => this.notices.heard(count),
      unguard: user => this.#drop(this.#guards, user),
      left: user => {
        const sessions = this.#entered.get(user) ?? 0
        if (sessions === 0) return
        if (sessions === 1) this.#entered.delete(user)
        else this.#entered.set(user, sessions - 1)
        places.left(user)
      },
      keepRecent: ({ user, mailbox }) => recency.keep(system.handle(user), mailbox),
      leaveAnswer: number => this.#answering.leave(number),
      wrongToken: ({ token, address, route }) => wrongTokens.note(token, address, route),
      uncount: ({ kind, id }) => counters.remove(kind, id),
      correspond: ({ user, addresses, used, known }) => addressBook.note(user, addresses, used, known),
      log: ({ level, fields, text }) => log[level](fields, text),
    }
  }

  /** What a command changed is said before its reply, also where changes are kept back. */
  async #run<Reply>(user: string, running: Promise<Reply>): Promise<Reply> {
    try {
      return await running
    } finally {
      this.notices.catchUp(user)
    }
  }

  /** A front that does not hear is not waited for: it is about to be ended itself. */
  async #guarded(user: string, reason: string | undefined): Promise<void> {
    const heard = this.line.call('guarded', { user, reason })
    await within(limits.front.heardMs, heard, () => new Fault('TimedOut')).catch(() => {})
  }

  #keep(all: Map<string, () => void>, user: string, undo: () => void): void {
    const former = this.#gone ? undo : all.get(user)
    former?.()
    if (!this.#gone) all.set(user, undo)
  }

  #drop(all: Map<string, () => void>, user: string): void {
    all.get(user)?.()
    all.delete(user)
  }

  #pool(name: HomeCalls['pool']['input']['pool']) {
    const { reads, seal, spam, verify, patterns } = this.#of.pools
    type Run = (name: string, given: unknown, options: object) => Promise<unknown>
    switch (name) {
      case 'reads':
        if (reads === undefined) throw new Fault('Stopping')
        return reads.run.bind(reads) as Run
      case 'seal':
        return seal.run.bind(seal) as Run
      case 'spam':
        return spam.run.bind(spam) as Run
      case 'verify':
        return verify.run.bind(verify) as Run
      case 'patterns':
        return ((task, given, options) => patterns[task as 'run' | 'each'](given as never, options)) as Run
    }
  }
}

function known<State>(commands: ReadonlyMap<string, Command<State, never, unknown>>, name: string) {
  const command = commands.get(name)
  if (command === undefined) throw new Error(`${name} does not cross`)
  return command
}
