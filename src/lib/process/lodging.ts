// One thread that several owners of this process share: each has a line of its own to it, and to each it looks like a thread
// (thread.ts) that is his. For what is made by the dozen, as services of tests are, where a thread for each costs most of a start.
//
// Promises: what is said on one line keeps its order; who closes his line leaves the others theirs; when the thread dies all of
// them hear of it and the next one to come gets a new thread. It stays for a while after the last has left.

import { MessageChannel, type MessagePort, type Transferable } from 'node:worker_threads'
import { after, type Timer } from '../clock.ts'
import { limits } from '../limits.ts'
import { detach } from './background.ts'
import { type Answer, type Close, type Reply, type Request, settled } from './task.ts'
import { Thread, type ThreadForm } from './thread.ts'

/** What an owner may do with a thread, whether it is his alone or not. */
export type OwnedThread = Pick<Thread, 'up' | 'gone' | 'failure' | 'send' | 'close' | 'end' | 'processorMs'>

/** What a shared thread is sent for each who comes. */
export interface Lodge {
  readonly port: MessagePort
  /** What the thread of one alone would have been given. */
  readonly given: unknown
}

class House {
  readonly thread: Thread
  #lodgers = 0
  #idle: Timer | undefined

  constructor(file: URL) {
    this.thread = new Thread({ file })
  }

  enter(lodge: Lodge): void {
    this.#lodgers += 1
    this.#idle?.cancel()
    this.thread.send('lodge', lodge, [lodge.port])
  }

  leave(): void {
    this.#lodgers -= 1
    if (this.#lodgers > 0 || this.thread.ended) return
    this.#idle = after(limits.pool.idleMs, () => void this.thread.close())
  }
}

/** By the file that their threads run. */
const houses = new Map<string, House>()

class Lodger implements OwnedThread {
  readonly up: Promise<unknown>
  readonly gone: Promise<void>
  readonly #port: MessagePort
  readonly #house: House
  #last = 0
  #failure: unknown
  /** It is to close, or did not come up. */
  #leaving = false

  constructor(house: House, { given, onReply }: ThreadForm) {
    const { port1: port, port2 } = new MessageChannel()
    this.#port = port
    this.#house = house
    const started = Promise.withResolvers<unknown>()
    this.up = started.promise
    this.up.catch(() => {})
    this.gone = new Promise<void>(resolve => port.once('close', resolve)).then(() => this.#left(house))
    port.on('message', ({ id, ...answer }: Reply) => {
      if (id === 0) {
        settle(started, answer)
        this.#leaving ||= !('value' in answer)
      }
      onReply?.(id, answer)
    })
    detach(port)
    void this.gone.then(() => started.reject(this.#failure))
    house.enter({ port: port2, given })
  }

  get failure(): unknown {
    return this.#failure
  }

  send(task: string, input: unknown, memory: readonly Transferable[] = []): number {
    const id = ++this.#last
    this.#port.postMessage({ id, task, input } satisfies Request, [...memory])
    return id
  }

  /** What it worked for all who share it. */
  processorMs(): Promise<number | undefined> {
    return this.#house.thread.processorMs()
  }

  close(): Promise<void> {
    this.#leaving = true
    this.#port.postMessage({ close: true } satisfies Close)
    return this.gone
  }

  /** The line closes before the thread is heard to have died. */
  async #left(house: House): Promise<void> {
    if (!this.#leaving) {
      await house.thread.gone
      this.#failure = house.thread.failure ?? new Error('the thread ended')
    }
    house.leave()
  }

  /** Others live there: it may end what it is at. */
  end(): Promise<void> {
    return this.close()
  }
}

function settle(started: PromiseWithResolvers<unknown>, answer: Answer): void {
  try {
    started.resolve(settled(answer))
  } catch (error) {
    started.reject(error)
  }
}

/** A line to the thread of that file which all share who ask here. */
export function lodge(form: ThreadForm): OwnedThread {
  const { href } = form.file
  let house = houses.get(href)
  if (house === undefined || house.thread.ended) {
    house = new House(form.file)
    houses.set(href, house)
  }
  return new Lodger(house, form)
}
