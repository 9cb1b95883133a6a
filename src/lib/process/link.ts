// A line between two threads: calls that are answered, words that are not, in the order they were said.
//
// Promises: what crosses is data; a fault arrives as the fault it was, with code, text and what it carries, of a mistake of
// ours its message and stack; a call whose caller gave up is ended at the other side; what is said in one round of the loop
// crosses in one piece; with a line that broke every open call fails and everything said goes nowhere.

import { MessageChannel, type MessagePort, receiveMessageOnPort, type Transferable } from 'node:worker_threads'
import { Fault, type FaultCode } from '../fault.ts'
import { limits } from '../limits.ts'

/** A fault or a mistake on its way. */
export type Failure =
  | {
      readonly kind: 'fault'
      readonly code: FaultCode
      readonly text: string
      readonly status: number
      readonly details: Fault['details']
      readonly extra: Fault['extra']
      readonly retryAfter: number | undefined
    }
  | { readonly kind: 'mistake'; readonly text: string; readonly stack: string }

export function packFailure(error: unknown): Failure {
  if (error instanceof Fault) {
    const { code, message: text, status, details, extra, retryAfter } = error
    return { kind: 'fault', code, text, status, details, extra, retryAfter }
  }
  const known = error instanceof Error ? error : new Error(String(error))
  return { kind: 'mistake', text: known.message, stack: known.stack ?? '' }
}

export function unpackFailure(failure: Failure): Error {
  if (failure.kind === 'fault') {
    const { code, text, status, details, extra, retryAfter } = failure
    return new Fault(code, {
      ...{ text, status },
      ...(details !== undefined && { details }),
      ...(extra !== undefined && { extra }),
      ...(retryAfter !== undefined && { retryAfter }),
    })
  }
  const error = new Error(failure.text)
  error.stack = failure.stack
  return error
}

/** Name -> what is called and what comes back. */
export type Calls = Readonly<Record<string, { readonly input: unknown; readonly reply: unknown }>>
/** Name -> what is said. */
export type Words = Readonly<Record<string, unknown>>

/** What one side of a line answers, and hears. */
export interface Side<Answered extends Calls, Heard extends Words> {
  readonly calls: {
    readonly [Name in keyof Answered]: (
      input: Answered[Name]['input'],
      signal: AbortSignal,
    ) => Answered[Name]['reply'] | Promise<Answered[Name]['reply']>
  }
  readonly words: { readonly [Name in keyof Heard]: (said: Heard[Name]) => void }
}

type Frame =
  | { readonly call: number; readonly name: string; readonly input: unknown }
  | { readonly done: number; readonly reply: unknown }
  | { readonly failed: number; readonly failure: Failure }
  | { readonly leave: number }
  | { readonly word: string; readonly said: unknown }

interface Open {
  resolve(reply: unknown): void
  reject(error: unknown): void
}

/** What this thread said on its lines in this round, and has not left yet. */
const unsaid = new Set<() => void>()

/** Lets go at once what was said on any line, before somebody hears by another way what it is about. */
export function leaveAtOnce(): void {
  for (const leave of unsaid) leave()
}

/** What hears on each line of this thread. */
const hearing = new Set<() => void>()

/**
 * Hears what was said on any line and waits, before what came by another way is answered: whoever asks may have been told elsewhere already,
 * and the loop takes what came in no certain order.
 */
export function hearAtOnce(): void {
  for (const hear of hearing) hear()
}

/** One end of a line, which is handed to a thread as it is. */
export type LineEnd = MessagePort

/** Both ends of a line. */
export function newLine(): readonly [here: LineEnd, there: LineEnd] {
  const { port1, port2 } = new MessageChannel()
  return [port1, port2]
}

/** One side: it answers `Answered` and hears `Heard`; it calls `Called` and says `Said`. */
export class Link<Answered extends Calls, Heard extends Words, Called extends Calls, Said extends Words> {
  readonly #port: LineEnd
  readonly #side: Side<Answered, Heard>
  readonly #open = new Map<number, Open>()
  readonly #served = new Map<number, AbortController>()
  #number = 0
  #frames: Frame[] = []
  #transferred: Transferable[] = []
  #broken: Error | undefined
  readonly #leave = (): void => {
    unsaid.delete(this.#leave)
    const frames = this.#frames
    if (frames.length === 0) return
    const transferred = this.#transferred
    this.#frames = []
    this.#transferred = []
    if (this.#broken !== undefined) return
    try {
      this.#port.postMessage(frames, transferred)
    } catch (error) {
      if (frames.length > 1) for (const frame of frames) this.#alone(frame)
      else this.#undelivered(frames[0] as Frame, error)
    }
  }

  readonly #hearWaiting = (): void => {
    for (;;) {
      const waiting = receiveMessageOnPort(this.#port) as { message: readonly Frame[] } | undefined
      if (waiting === undefined) return
      for (const frame of waiting.message) this.#hear(frame)
    }
  }

  constructor(port: LineEnd, side: Side<Answered, Heard>) {
    this.#port = port
    this.#side = side
    port.on('message', (frames: readonly Frame[]) => {
      for (const frame of frames) this.#hear(frame)
    })
    hearing.add(this.#hearWaiting)
  }

  /** Calls that wait for their answer. */
  get open(): number {
    return this.#open.size
  }

  /** @throws Fault Overloaded, Stopping where the line is broken, TimedOut where `signal` ended, whatever the other side throws */
  call<Name extends keyof Called & string>(
    name: Name,
    input: Called[Name]['input'],
    { signal, transfer = [] }: { readonly signal?: AbortSignal | undefined; readonly transfer?: Transferable[] } = {},
  ): Promise<Called[Name]['reply']> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    if (signal?.aborted === true) return Promise.reject(new Fault('TimedOut'))
    if (this.#open.size >= limits.link.callsMax) return Promise.reject(new Fault('Overloaded'))
    this.#number += 1
    const call = this.#number
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#post({ leave: call })
        this.#settle(call)?.reject(new Fault('TimedOut'))
      }
      const forget = () => signal?.removeEventListener('abort', leave)
      this.#open.set(call, {
        resolve: reply => {
          forget()
          resolve(reply as Called[Name]['reply'])
        },
        reject: error => {
          forget()
          reject(error)
        },
      })
      signal?.addEventListener('abort', leave, { once: true })
      this.#post({ call, name, input }, transfer)
    })
  }

  /** Says something nobody answers. */
  tell<Name extends keyof Said & string>(name: Name, said: Said[Name]): void {
    if (this.#broken === undefined) this.#post({ word: name, said })
  }

  /** The other side is gone: open calls fail, and what it had asked for ends. */
  break(error: Error): void {
    this.#broken ??= error
    for (const [call] of this.#open) this.#settle(call)?.reject(this.#broken)
    for (const abort of this.#served.values()) abort.abort()
    this.#served.clear()
    hearing.delete(this.#hearWaiting)
    this.#port.close()
  }

  #settle(call: number): Open | undefined {
    const open = this.#open.get(call)
    this.#open.delete(call)
    return open
  }

  /** What is said in one round of the loop leaves together, whoever says it: a piece costs both sides more than what is in it. */
  #post(frame: Frame, transfer: readonly Transferable[] = []): void {
    if (this.#frames.length === 0) {
      unsaid.add(this.#leave)
      setImmediate(this.#leave)
    }
    this.#frames.push(frame)
    if (transfer.length > 0) this.#transferred.push(...transfer)
  }

  /** Where one of several cannot cross the others still do. */
  #alone(frame: Frame): void {
    try {
      this.#port.postMessage([frame])
    } catch (error) {
      this.#undelivered(frame, error)
    }
  }

  #undelivered(frame: Frame, error: unknown): void {
    if ('call' in frame) this.#settle(frame.call)?.reject(error)
    else if ('done' in frame) this.#port.postMessage([{ failed: frame.done, failure: packFailure(error) }])
    else throw error
  }

  #hear(frame: Frame): void {
    if ('call' in frame) void this.#answer(frame)
    else if ('done' in frame) this.#settle(frame.done)?.resolve(frame.reply)
    else if ('failed' in frame) this.#settle(frame.failed)?.reject(unpackFailure(frame.failure))
    else if ('leave' in frame) this.#served.get(frame.leave)?.abort()
    else this.#side.words[frame.word]?.(frame.said as never)
  }

  async #answer({ call, name, input }: Extract<Frame, { call: number }>): Promise<void> {
    const abort = new AbortController()
    this.#served.set(call, abort)
    try {
      const serve = this.#side.calls[name]
      if (serve === undefined) throw new Error(`nobody answers ${name}`)
      const reply = await serve(input as never, abort.signal)
      this.#post({ done: call, reply })
    } catch (error) {
      this.#post({ failed: call, failure: packFailure(error) })
    } finally {
      this.#served.delete(call)
    }
  }
}
