// An actor: one queue of commands, a state cached in memory, and a gate that holds every reply until the disk said yes.
//
// A turn only collects writes, events and notices. When it has returned, its unit goes to the writer; when the unit is on
// disk, watchers hear of the changes, the outbox is kicked and the reply resolves, in that order. A fault before the
// first write keeps the state; anything thrown after it, or a unit that failed, drops the state and the next command loads
// it again. A command marked `pipelined` may start while earlier units are still on their way: it must then rely on the
// state alone, never on rows a pending unit may change. Every other command starts when all earlier units are on disk.

import assert from 'node:assert'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { Queue } from '#lib/queue.ts'
import { aspDelete } from '#store/accounts/credentials.ts'
import { userUpdate } from '#store/accounts/users.ts'
import { answerInsert, keptAnswer } from '#store/cluster/answered.ts'
import type { Tenancy } from '#store/cluster/tenancy.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import { bytesOf, type Operation, operation, type Write } from '#store/engine/write.ts'
import { eventInsert } from '#store/events/event.ts'
import type { Settings } from '#store/folder/settings.ts'
import { StaleUnit, type Writer } from '#store/writer/writer.ts'
import type { Change } from './change.ts'
import type { EventName, Events } from './events.ts'
import { Tenure } from './tenure.ts'

export interface Command<State, Input, Reply> {
  /** `subject.verb`, for the log and the metrics. */
  readonly name: string
  /** May start before earlier units of this actor are on disk; reads of rows would see the past. */
  readonly pipelined?: true
  /** Nobody waits for it: its unit goes after those somebody waits for. */
  readonly background?: true
  run(turn: Turn<State>, input: Input): Reply | Promise<Reply>
}

export interface Turn<State> {
  /** Loaded on first use, owned by this actor; change it together with the writes that say the same. */
  readonly state: State
  /** Committed rows. */
  readonly read: Reader
  readonly sequence: Sequence
  readonly settings: Settings
  /** One moment for the whole turn, milliseconds since 1970. */
  readonly now: number
  /** The caller's deadline. */
  readonly signal: AbortSignal
  /** Adds a write to the unit; `bytes` is about what the row weighs, for rows that carry much. */
  write<Row>(write: Write<Row>, row: Row, bytes?: number): void
  /** Durable: an event row in this unit. */
  emit<Name extends EventName>(name: Name, body: Events[Name]): void
  /** Whether what users say of spam by moving mail is kept for whoever learns from it. */
  readonly learns: boolean
  /** Whether `emit` would keep an event of this name: ask before working out a costly payload. */
  wants(name: EventName): boolean
  /** Live: for watchers, after the commit. */
  notify(change: Change): void
  /** Live: every session of the account ends after the commit, for a reason that its clients are told. */
  endSessions(reason: string): void
  /** Has the loops of src/jobs look for work after the commit: those of tasks, too, of which an event says nothing. */
  wake(): void
}

/** What every actor of a system shares. */
export interface ActorSurroundings {
  readonly read: Reader
  readonly writer: Writer
  readonly sequence: Sequence
  readonly settings: Settings
  /** Told after a commit that carried events or work for the loops, and whether it was work. */
  readonly kick: (work: boolean) => void
  /** Whether an event is worth a row: somebody subscribes to it, or it is kept until delivery is switched on. */
  readonly wanted: (name: EventName) => boolean
  /** Whether anybody learns from what users say of spam. */
  readonly learns: boolean
  /** Which accounts are here, where nodes share them. */
  readonly tenancy?: Tenancy
}

interface Waiting<State> {
  readonly command: Command<State, never, unknown>
  readonly input: unknown
  readonly signal: AbortSignal
  /** By which another node asks what came of it. */
  readonly call: string | undefined
  readonly resolve: (reply: never) => void
  readonly reject: (error: unknown) => void
  tries: number
}

/**
 * Told that sessions may have ended, or with a reason that they have. What it returns is waited for before the reply of
 * whoever ended them: nobody is told that a session is over while it still goes on.
 */
export type Guard = (reason: string | undefined) => void | Promise<void>

/** Whoever writes one of these need not think of the sessions it may end. */
const standingWrites: ReadonlySet<string> = new Set([userUpdate.name, aspDelete.name])

/** How often a command is run again because an earlier unit of the actor failed. */
const triesMax = 5
/** States that were made in this process. One that is made later has a higher number than all before, whichever actor made them. */
let states = 0
const never = new AbortController().signal

export class Actor<State> {
  readonly #partition: () => number
  readonly #load: () => Promise<State>
  readonly #around: ActorSurroundings
  readonly #tenure: Tenure
  readonly #queue = new Queue<Waiting<State>>(limits.actor.queueLengthMax)
  /** Commands whose units were made from a state that failed: they run again, before anything that came later. */
  readonly #again: Waiting<State>[] = []
  #held: Waiting<State> | undefined
  readonly #watchers = new Set<(change: Change) => void>()
  readonly #guards = new Set<Guard>()
  #state: State | undefined
  #epoch = ++states
  #running = false
  #inFlight = 0
  #settled: (() => void)[] = []
  #usedAt = now()

  /**
   * @param partition number of the actor's partition at the writer, asked once the state is loaded
   * @param load reads the state from committed rows
   * @param shard whose lease the node must have
   */
  constructor(partition: () => number, load: () => Promise<State>, around: ActorSurroundings, shard: number) {
    this.#partition = partition
    this.#load = load
    this.#tenure = new Tenure(around.tenancy, shard)
    this.#around = around
  }

  /** The state as commands see it, where it is in memory. For looking at only. */
  get state(): Readonly<State> | undefined {
    return this.#state
  }

  /** Nothing to do, nobody watching, and that since `idleMs`. */
  idle(at: number): boolean {
    const quiet = !this.#running && this.#inFlight === 0 && this.#queue.length === 0
    if (this.#watchers.size > 0 || this.#guards.size > 0) return false
    return quiet && at - this.#usedAt > limits.actor.idleMs
  }

  /**
   * Runs a command in this actor's order; resolves with its reply once everything it wrote is on disk.
   *
   * @throws Fault Overloaded when too many wait, TimedOut when `signal` ended before its turn came, LostLease where another
   * node has it by now and nothing was done
   */
  run<Input, Reply>(
    command: Command<State, Input, Reply>,
    input: Input,
    signal: AbortSignal = never,
    call?: string,
  ): Promise<Awaited<Reply>> {
    this.#usedAt = now()
    return new Promise((resolve, reject) => {
      const waiting = { command, input, signal, call, resolve, reject, tries: 0 } as unknown as Waiting<State>
      if (!this.#queue.push(waiting)) return reject(new Fault('Overloaded'))
      if (!this.#running) void this.#work()
    })
  }

  /** Hears every change after its commit, until the returned function is called. */
  watch(listener: (change: Change) => void): () => void {
    this.#watchers.add(listener)
    return () => {
      this.#watchers.delete(listener)
      this.#usedAt = now()
    }
  }

  /**
   * Hears after the commit that what sessions stand on may have changed, or with a reason that all of them end, until the
   * returned function is called.
   */
  guard(guard: Guard): () => void {
    this.#guards.add(guard)
    return () => {
      this.#guards.delete(guard)
      this.#usedAt = now()
    }
  }

  /** Has every session of the account look again whether it may go on; resolves when all have, wherever they are. */
  async review(): Promise<void> {
    await Promise.allSettled([...this.#guards].flatMap(guard => guard(undefined) ?? []))
  }

  /** Another node has the account: what is known of it is nothing any more, and sessions look for it there. */
  leave(): void {
    this.#drop()
  }

  /** Resolves when nothing waits and nothing is on its way to the disk. */
  async drain(): Promise<void> {
    while (this.#running || this.#inFlight > 0) await new Promise<void>(resolve => this.#settled.push(resolve))
  }

  async #work(): Promise<void> {
    this.#running = true
    try {
      for (;;) {
        const waiting = this.#next()
        if (waiting === undefined) break
        if (waiting.signal.aborted) waiting.reject(new Fault('TimedOut'))
        else await this.#turn(waiting)
      }
    } finally {
      this.#running = false
      if (this.#inFlight === 0) this.#release()
    }
  }

  #next(): Waiting<State> | undefined {
    const again = this.#again.shift()
    if (again !== undefined) return again
    const held = this.#held
    this.#held = undefined
    return held ?? this.#queue.shift()
  }

  async #turn(waiting: Waiting<State>): Promise<void> {
    const { command } = waiting
    const turn = new Collector<State>(this.#around, waiting.signal)
    try {
      if (this.#inFlight > 0 && (command.pipelined !== true || this.#state === undefined)) {
        await this.#quiet()
        if (this.#again.length > 0) {
          this.#hold(waiting)
          return
        }
      }
      if (this.#tenure.enter() && this.#state !== undefined) this.#drop()
      if (this.#state === undefined) this.#state = await this.#load()
      turn.state = this.#state
      const reply = await command.run(turn, waiting.input as never)
      this.#commit(waiting, turn, reply)
    } catch (error) {
      if (turn.operations.length > 0) this.#drop()
      waiting.reject(error)
    }
  }

  /** Keeps a command for after those that run again. */
  #hold(waiting: Waiting<State>): void {
    if (waiting.tries > 0) this.#again.unshift(waiting)
    else this.#held = waiting
  }

  #commit(waiting: Waiting<State>, turn: Collector<State>, reply: unknown): void {
    if (turn.operations.length === 0) {
      this.#tenure.check()
      if (this.#inFlight === 0) {
        this.#answer(waiting, turn, reply)
        return
      }
    }
    if (waiting.call !== undefined) turn.write(answerInsert, keptAnswer(waiting.call, reply, turn.now))
    this.#inFlight += 1
    const epoch = this.#epoch
    const background = waiting.command.background === true
    const { operations, bytes } = turn
    const unit = { partition: this.#partition(), epoch, operations, bytes, background, ...this.#tenure.lease }
    this.#around.writer.submit(unit).then(
      () => {
        this.#answer(waiting, turn, reply)
        this.#landed()
      },
      error => {
        if (epoch === this.#epoch) this.#drop()
        if (error instanceof StaleUnit && waiting.tries < triesMax) {
          waiting.tries += 1
          this.#again.push(waiting)
        } else waiting.reject(error instanceof StaleUnit ? new Fault('Overloaded') : error)
        this.#landed()
      },
    )
  }

  #landed(): void {
    this.#inFlight -= 1
    if (this.#inFlight === 0) this.#release()
    if (this.#again.length > 0 && !this.#running) void this.#work()
  }

  #drop(): void {
    this.#state = undefined
    this.#epoch = ++states
  }

  /** Tells whoever has to hear of it, and then whoever asked. */
  #answer(waiting: Waiting<State>, turn: Collector<State>, reply: unknown): void {
    const heard = this.#tell(turn)
    if (turn.emitted || turn.woken) this.#around.kick(turn.woken)
    if (heard.length === 0) waiting.resolve(reply as never)
    else void Promise.allSettled(heard).then(() => waiting.resolve(reply as never))
  }

  /** Gives what has to be waited for. */
  #tell({ changes, standing, ending }: Collector<State>): Promise<void>[] {
    for (const change of changes) for (const listener of this.#watchers) listener(change)
    if (!standing && ending === undefined) return []
    return [...this.#guards].flatMap(guard => guard(ending) ?? [])
  }

  #quiet(): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve()
    return new Promise(resolve => this.#settled.push(resolve))
  }

  #release(): void {
    const settled = this.#settled
    this.#settled = []
    for (const resolve of settled) resolve()
  }
}

/** Collects what one turn wants. */
class Collector<State> implements Turn<State> {
  readonly #around: ActorSurroundings
  readonly operations: Operation[] = []
  readonly changes: Change[] = []
  /** Rows were written that sessions stand on. */
  standing = false
  /** Why all sessions end. */
  ending: string | undefined
  readonly now = now()
  readonly signal: AbortSignal
  #state: State | undefined
  bytes = 0
  emitted = false
  woken = false

  constructor(around: ActorSurroundings, signal: AbortSignal) {
    this.#around = around
    this.signal = signal
  }

  get state(): State {
    assert(this.#state !== undefined)
    return this.#state
  }

  set state(state: State) {
    this.#state = state
  }

  get read(): Reader {
    return this.#around.read
  }

  get sequence(): Sequence {
    return this.#around.sequence
  }

  get settings(): Settings {
    return this.#around.settings
  }

  write<Row>(write: Write<Row>, row: Row, bytes?: number): void {
    const made = operation(write, row)
    this.operations.push(made)
    this.standing ||= standingWrites.has(write.name)
    this.bytes += bytes ?? bytesOf(made)
  }

  get learns(): boolean {
    return this.#around.learns
  }

  wants(name: EventName): boolean {
    return this.#around.wanted(name)
  }

  emit<Name extends EventName>(name: Name, body: Events[Name]): void {
    if (!this.#around.wanted(name)) return
    const user = 'user' in body && typeof body.user === 'string' ? body.user : null
    const text = JSON.stringify(body)
    this.write(eventInsert, [this.sequence.next('event'), name, user, text, this.now], text.length + 60)
    this.emitted = true
  }

  notify(change: Change): void {
    this.changes.push(change)
  }

  endSessions(reason: string): void {
    this.ending = reason
  }

  wake(): void {
    this.woken = true
  }
}
