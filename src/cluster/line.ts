// The line between nodes over what promises nothing (broker.ts): calls that are answered and carried out once only, and
// words that are not answered, between any two nodes.
//
// A call has a number that its sender never gives again. Whoever carries it out keeps the answer until the sender has it for
// certain, or cannot ask any more. Where nothing is heard of a call its sender asks: it is under way, or here is the answer once
// more, or it never came, and is sent again. So a lost message costs a moment, and never a second time of what was done. When
// the other node is gone the line cannot say, and the call fails as Unanswered (once.ts knows more). What a call was asked to end is ended over there, faults
// arrive as the faults they were. Words are counted: whoever missed one hears that he did, and looks for himself.

import { every, monotonic, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { randomNumber } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { type Calls, type Failure, packFailure, type Side, unpackFailure, type Words } from '#lib/process/link.ts'
import type { Broker } from './broker.ts'
import { Arriving, messagesOf, pack, unpack } from './pieces.ts'

/** Whoever was to carry something out is gone, and nobody knows whether it did. */
export class Unanswered extends Fault {
  constructor() {
    super('StorageUnavailable', { text: 'The node that had this account is gone, try again' })
  }
}

/** Process of a node: one that begins anew is another. */
export interface Peer {
  readonly num: number
  readonly incarnation: string
}

type Frame =
  | {
      readonly call: number
      readonly name: string
      readonly input: unknown
      /** Answers to everything below it were heard, and to these. */
      readonly floor: number
      readonly had: readonly number[]
    }
  | { readonly done: number; readonly reply: unknown }
  | { readonly failed: number; readonly failure: Failure }
  | { readonly leave: number }
  | { readonly ask: readonly number[] }
  | { readonly busy: readonly number[]; readonly unknown: readonly number[] }
  | { readonly word: string; readonly said: unknown; readonly number: number }
  | { readonly told: number; readonly had: readonly number[]; readonly heard?: number }

/** A call that waits for its answer. */
interface Open {
  /** As it was sent; for who never got it. */
  readonly packed: Buffer
  heardAt: number
  readonly deadline: number
  readonly resolve: (reply: never) => void
  readonly reject: (error: unknown) => void
}

/** What is known of the calls of another node, and of ours to it. */
interface Line {
  readonly peer: Peer
  readonly subject: string
  readonly open: Map<number, Open>
  /** Calls of theirs that are under way. */
  readonly served: Map<number, AbortController>
  /** Answers to theirs that they may not have yet. */
  readonly answers: Map<number, Buffer>
  /** Every call of theirs below this one was answered, and they have the answer. */
  floor: number
  number: number
  /** Answers that were heard, which the other side does not know yet. */
  had: number[]
  /** Words, and up to which of them they know the number. */
  said: number
  told: number
  /** When that was last said: what says it may be lost as well. */
  toldAt: number
  /** Words of theirs, and how many of them they know to be heard; words that they said they have heard. */
  heard: number
  heardTold: number
  confirmed: number
  frames: Buffer[]
  leaving: boolean
  heardAt: number
}

export interface NodeLineOptions<C extends Calls, W extends Words> {
  readonly broker: Broker
  /** First words of all subjects of these nodes. */
  readonly prefix: string
  readonly self: Peer
  /** What is answered and heard, by whom it was asked. */
  readonly side: (peer: Peer) => Side<C, W>
  /** Words of a node were lost. */
  readonly missed: (peer: Peer) => void
}

export class NodeLine<C extends Calls, W extends Words> {
  readonly #options: NodeLineOptions<C, W>
  readonly #lines = new Map<string, Line>()
  readonly #sides = new Map<string, Side<C, W>>()
  readonly #arriving = new Arriving()
  /** Marks pieces of this process. */
  readonly #mark = randomNumber()
  #pieces = 0
  #unsubscribe: () => void = () => {}
  readonly #tick: Timer
  #closed = false

  constructor(options: NodeLineOptions<C, W>) {
    this.#options = options
    this.#tick = every(limits.cluster.askMs / 2, () => this.#look())
  }

  /** From when this resolves on what others say is heard, and answered. */
  async listen(): Promise<void> {
    const { broker, prefix, self } = this.#options
    this.#unsubscribe = await broker.subscribe(subjectOf(prefix, self), message => this.#hear(message))
  }

  /** Calls that wait for their answer. */
  get open(): number {
    let open = 0
    for (const line of this.#lines.values()) open += line.open.size
    return open
  }

  /** Words that were said to a process and of which it has not said yet that it heard them, and calls that it has not answered. */
  behind(incarnation: string): number {
    const line = this.#lines.get(incarnation)
    return line === undefined ? 0 : line.said - line.confirmed + line.open.size
  }

  /** How long nothing was heard of a process, from when it was first spoken with or asked about. */
  silence(peer: Peer): number {
    return monotonic() - this.#lineTo(peer).heardAt
  }

  /** @throws Fault Overloaded, Stopping, TimedOut where `signal` ended, Unanswered where the node is gone, whatever it throws */
  call<Name extends keyof C & string>(
    to: Peer,
    name: Name,
    input: C[Name]['input'],
    { signal, ms = limits.cluster.callMs }: { readonly signal?: AbortSignal | undefined; readonly ms?: number } = {},
  ): Promise<C[Name]['reply']> {
    if (this.#closed) return Promise.reject(new Fault('Stopping'))
    if (signal?.aborted === true) return Promise.reject(new Fault('TimedOut'))
    const line = this.#lineTo(to)
    if (line.open.size >= limits.link.callsMax) return Promise.reject(new Fault('Overloaded'))
    line.number += 1
    const call = line.number
    const [floor = call] = line.open.keys()
    const packed = pack({ call, name, input, floor, had: line.had } satisfies Frame)
    line.had = []
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#post(line, pack({ leave: call } satisfies Frame))
        settle(line, call)?.reject(new Fault('TimedOut'))
      }
      const forget = () => signal?.removeEventListener('abort', leave)
      line.open.set(call, {
        ...{ packed, heardAt: monotonic(), deadline: monotonic() + ms },
        resolve: reply => {
          forget()
          resolve(reply)
        },
        reject: error => {
          forget()
          reject(error)
        },
      })
      signal?.addEventListener('abort', leave, { once: true })
      this.#post(line, packed)
    })
  }

  /** Says something nobody answers; where it is lost they hear that something was. */
  tell<Name extends keyof W & string>(to: Peer, name: Name, said: W[Name]): void {
    if (this.#closed) return
    const line = this.#lineTo(to)
    line.said += 1
    this.#post(line, pack({ word: name, said, number: line.said } satisfies Frame))
  }

  /**
   * A process of a node is gone: calls to it end, and what it asked for does. It may have slept and come back, so the numbers of
   * calls go on, unless another process has its place.
   */
  gone({ incarnation }: Peer, forGood = false): void {
    const line = this.#lines.get(incarnation)
    if (line === undefined) return
    if (forGood) {
      this.#lines.delete(incarnation)
      this.#sides.delete(incarnation)
    }
    for (const [call] of [...line.open]) settle(line, call)?.reject(new Unanswered())
    for (const abort of line.served.values()) abort.abort()
  }

  /** Processes that were spoken with. */
  get peers(): Peer[] {
    return [...this.#lines.values()].map(({ peer }) => peer)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#tick.cancel()
    for (const line of this.#lines.values()) {
      this.#leave(line)
      for (const open of line.open.values()) open.reject(new Fault('Stopping'))
      for (const abort of line.served.values()) abort.abort()
    }
    this.#lines.clear()
    this.#unsubscribe()
  }

  #lineTo(peer: Peer): Line {
    const known = this.#lines.get(peer.incarnation)
    if (known !== undefined) return known
    const line: Line = {
      ...{
        peer,
        subject: subjectOf(this.#options.prefix, peer),
        open: new Map(),
        served: new Map(),
        answers: new Map(),
        toldAt: 0,
      },
      ...{ floor: 0, number: 0, had: [], frames: [], leaving: false, heardAt: monotonic() },
      ...{ said: 0, told: 0, heard: 0, heardTold: 0, confirmed: 0 },
    }
    this.#lines.set(peer.incarnation, line)
    return line
  }

  /** What is said in one turn of the loop leaves together; every frame says whose it is by the first of its message. */
  #post(line: Line, frame: Buffer): void {
    line.frames.push(frame)
    if (line.leaving) return
    line.leaving = true
    setImmediate(() => this.#leave(line))
  }

  #leave(line: Line): void {
    line.leaving = false
    if (line.frames.length === 0) return
    const { broker, self } = this.#options
    const frames = line.frames
    line.frames = []
    const from = Buffer.from(`${self.num} ${self.incarnation}\n`)
    const max = broker.payloadMax - from.length
    for (const message of messagesOf(frames, max, this.#mark, () => ++this.#pieces)) {
      broker.publish(line.subject, Buffer.concat([from, message]))
    }
  }

  #hear(message: Buffer): void {
    const end = message.indexOf(10)
    const [num, incarnation = ''] = message.toString('latin1', 0, end).split(' ')
    const line = this.#lineTo({ num: Number(num), incarnation })
    line.heardAt = monotonic()
    for (const frame of this.#arriving.frames(message.subarray(end + 1))) this.#take(line, unpack<Frame>(frame))
  }

  #take(line: Line, frame: Frame): void {
    if ('call' in frame) void this.#answer(line, frame)
    else if ('done' in frame) settle(line, frame.done)?.resolve(frame.reply as never)
    else if ('failed' in frame) settle(line, frame.failed)?.reject(unpackFailure(frame.failure))
    else if ('leave' in frame) line.served.get(frame.leave)?.abort()
    else if ('ask' in frame) this.#asked(line, frame.ask)
    else if ('busy' in frame) {
      for (const call of frame.busy) this.#heardOf(line, call)
      for (const call of frame.unknown) {
        const open = this.#heardOf(line, call)
        if (open !== undefined) this.#post(line, open.packed)
      }
    } else if ('told' in frame) {
      for (const call of frame.had) line.answers.delete(call)
      line.confirmed = Math.max(line.confirmed, frame.heard ?? 0)
      this.#count(line, frame.told, frame.told)
    } else {
      this.#count(line, frame.number - 1, frame.number)
      this.#side(line).words[frame.word]?.(frame.said as never)
    }
  }

  /** Up to `before` all words should have been heard, now up to `upTo`. */
  #count(line: Line, before: number, upTo: number): void {
    const missed = before > line.heard
    line.heard = Math.max(line.heard, upTo)
    if (missed) this.#options.missed(line.peer)
  }

  #heardOf(line: Line, call: number): Open | undefined {
    const open = line.open.get(call)
    if (open !== undefined) open.heardAt = monotonic()
    return open
  }

  #side({ peer }: Line): Side<C, W> {
    const side = this.#sides.get(peer.incarnation) ?? this.#options.side(peer)
    this.#sides.set(peer.incarnation, side)
    return side
  }

  async #answer(line: Line, { call, name, input, floor, had }: Extract<Frame, { call: number }>): Promise<void> {
    for (const one of had) line.answers.delete(one)
    this.#raise(line, floor)
    // It came again: because it was slow, or its answer is on its way.
    if (call < line.floor || line.served.has(call)) return
    const known = line.answers.get(call)
    if (known !== undefined) return this.#post(line, known)
    const abort = new AbortController()
    line.served.set(call, abort)
    const answer = await this.#carryOut(line, { call, name, input, abort })
    line.served.delete(call)
    line.answers.set(call, answer)
    if (!this.#closed) this.#post(line, answer)
  }

  async #carryOut(line: Line, { call, name, input, abort }: Asked): Promise<Buffer> {
    try {
      const serve = this.#side(line).calls[name]
      if (serve === undefined) throw new Error(`nobody answers ${name}`)
      const reply = await serve(input as never, abort.signal)
      return pack({ done: call, reply } satisfies Frame)
    } catch (error) {
      return pack({ failed: call, failure: packFailure(error) } satisfies Frame)
    }
  }

  /** They have the answers to everything below. */
  #raise(line: Line, floor: number): void {
    if (floor <= line.floor) return
    line.floor = floor
    for (const call of line.answers.keys()) if (call < floor) line.answers.delete(call)
  }

  #asked(line: Line, calls: readonly number[]): void {
    const busy: number[] = []
    const unknown: number[] = []
    for (const call of calls) {
      const known = line.answers.get(call)
      if (known !== undefined) this.#post(line, known)
      else if (line.served.has(call)) busy.push(call)
      else unknown.push(call)
    }
    if (busy.length + unknown.length > 0) this.#post(line, pack({ busy, unknown } satisfies Frame))
  }

  /** Asks after calls of which nothing was heard, ends those that took too long, forgets who is silent. */
  #look(): void {
    const at = monotonic()
    for (const line of this.#lines.values()) {
      const silent: number[] = []
      for (const [call, open] of line.open) {
        if (at > open.deadline) {
          this.#post(line, pack({ leave: call } satisfies Frame))
          settle(line, call)?.reject(new Fault('TimedOut'))
        } else if (at - open.heardAt > limits.cluster.askMs) silent.push(call)
      }
      if (silent.length > 0) this.#post(line, pack({ ask: silent } satisfies Frame))
      const again = at - line.toldAt > limits.cluster.toldMs
      const news = line.said > line.told || line.heard > line.heardTold || line.had.length > 0
      if (news || again) {
        this.#post(line, pack({ told: line.said, had: line.had, heard: line.heard } satisfies Frame))
        line.told = line.said
        line.heardTold = line.heard
        line.toldAt = at
        line.had = []
      }
      const idle = line.open.size === 0 && line.served.size === 0
      // Whoever asked cannot ask again after so long.
      if (idle && line.answers.size > 0 && at - line.heardAt > 2 * limits.cluster.callMs) line.answers.clear()
    }
  }
}

interface Asked {
  readonly call: number
  readonly name: string
  readonly input: unknown
  readonly abort: AbortController
}

function settle(line: Line, call: number): Open | undefined {
  const open = line.open.get(call)
  if (line.open.delete(call)) line.had.push(call)
  return open
}

function subjectOf(prefix: string, { num, incarnation }: Peer): string {
  return `${prefix}.node.${num}.${incarnation}`
}
