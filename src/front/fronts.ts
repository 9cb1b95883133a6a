// The front threads of a service: started, watched over, replaced when one dies or hangs, and let go in an orderly way.
//
// Promises: all listen on the same ports, which no other service had when they opened; one that is gone takes its sessions
// with it and nothing else, and another takes its place; counters of all of them are one service's; stopping lets sessions
// finish and never aborts the process.

import { availableParallelism } from 'node:os'
import type { ForwardKeys } from '#actors/delivery/forward.ts'
import type { Config } from '#config'
import { threadFile } from '#lib/build-info.ts'
import { every, sleep, type Timer, within } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { addCounted, type Counted, type Metrics } from '#lib/metrics.ts'
import { detach } from '#lib/process/background.ts'
import { newLine } from '#lib/process/link.ts'
import { memoryIsScarce } from '#lib/process/memory.ts'
import { Thread } from '#lib/process/thread.ts'
import { requireFree, requireSole } from '#net/listener.ts'
import type { KeyPair } from '#net/tls/tls.ts'
import type { SettingKey, Settings } from '#store/folder/settings.ts'
import { FrontHome, type FrontLine, type HomeOf } from './home.ts'
import { frontListeners } from './mail-protocols.ts'
import type { FrontData, Places, Ports, Suffering } from './protocol.ts'
import { type RoomOptions, WaitingRoom } from './waiting-room.ts'

export interface FrontsOptions extends HomeOf, RoomOptions {
  readonly fronts: number
  readonly changes: SharedArrayBuffer
  readonly keys: ForwardKeys
  readonly pair: KeyPair
  /** Connections of all fronts together. */
  readonly connectionsMax: number
  readonly metrics: Metrics
  readonly settings: Pick<Settings, 'follow'>
  /** Whether they speak HTTP, too. */
  readonly http: FrontData['http']
}

/**
 * How many front threads a service has. By itself none on one core, where they only cost, and none where memory is scarce; else one less than cores, up to
 * where the actors are busy with what so many ask (bench/NOTES.md, Fronts on two cores).
 */
export function frontsOf(threads: Config['threads']): number {
  if (threads !== 'auto') return threads
  const cores = availableParallelism()
  return cores === 1 || memoryIsScarce() ? 0 : Math.min(limits.front.autoMax, cores - 1)
}

export class Fronts {
  readonly #options: FrontsOptions
  readonly #all: Front[]
  /** Where each listener listens, for those that come later. */
  #ports: Ports = {}
  /** The certificates there are besides the first, for those that come later. */
  readonly #pairs = new Map<string, KeyPair>()
  /** While no front listens. */
  #room: WaitingRoom | undefined
  /** What those counted that are gone. */
  #past: Promise<Counted> = Promise.resolve([])
  readonly #replacing = new Set<Promise<void>>()
  #closing = false

  private constructor(options: FrontsOptions) {
    this.#options = options
    this.#all = Array.from({ length: options.fronts }, (_, number) => new Front(options, number))
    options.metrics.include(() => this.#metrics())
    options.settings.follow((key, value) => Promise.all(this.#all.map(front => front.set(key, value))))
  }

  /** @throws whatever keeps a front from starting */
  static async open(options: FrontsOptions): Promise<Fronts> {
    const fronts = new Fronts(options)
    try {
      await Promise.all(fronts.#all.map(front => front.start()))
    } catch (error) {
      await fronts.close()
      throw error
    }
    for (const front of fronts.#all) front.onGone = () => fronts.#gone(front)
    return fronts
  }

  /** Opens the listeners in all of them; gives where each is. @throws Fault PortInUse, ConfigInvalid */
  async listen(): Promise<Places> {
    for (const name of frontListeners(this.#options.http !== undefined)) {
      const { enabled, host, port } = this.#options.config[name]
      // Threads share a port, and would share it with another service, too.
      if (enabled && port !== 0) await requireFree(host, port)
    }
    let places: Places = {}
    for (const front of this.#all) {
      places = await front.line.call('listen', this.#ports)
      front.listening = true
      // Another service may have looked at the same moment. Whoever listens looks again, before a second thread does.
      if (front === this.#all[0]) for (const { host, port } of Object.values(places)) await requireSole(host, port)
      this.#ports = Object.fromEntries(Object.entries(places).map(([name, { port }]) => [name, port]))
    }
    return places
  }

  /** As of a TlsStore. */
  update(names: string | readonly string[], key: string, cert: string): void {
    const all = typeof names === 'string' ? [names] : names
    for (const name of all) this.#pairs.set(name, { key, cert })
    for (const front of this.#all) front.home?.line.tell('certificate', { names: all, pair: { key, cert } })
  }

  /** As of a TlsStore. */
  remove(name: string): void {
    this.#pairs.delete(name)
    for (const front of this.#all) front.home?.line.tell('certificate', { names: [name], pair: null })
  }

  /** Processor time of each of them, in their order, as `Thread` has it. */
  processorMs(): Promise<(number | undefined)[]> {
    return Promise.all(this.#all.map(front => front.processorMs()))
  }

  /** Threads that take sessions now. */
  get running(): number {
    return this.#all.filter(front => front.listening).length
  }

  /** For tests: ends a thread as a crash would. */
  async kill(number: number): Promise<void> {
    await this.#all[number]?.kill()
  }

  /** For tests. */
  suffer(number: number, what: Suffering): void {
    this.#all[number]?.home?.line.tell('suffer', what)
  }

  /** Stops accepting, lets sessions finish, and ends the threads. */
  async close(): Promise<void> {
    this.#closing = true
    await Promise.all([...this.#all.map(front => front.close()), this.#leaveRoom()])
    await Promise.all(this.#replacing)
  }

  #gone(front: Front): void {
    const { counted } = front
    front.counted = []
    this.#past = this.#past.then(past => addCounted(past, counted))
    if (this.#closing) return
    if (this.running === 0) this.#room ??= new WaitingRoom(this.#options, this.#ports)
    const replacing = this.#replace(front).finally(() => this.#replacing.delete(replacing))
    this.#replacing.add(replacing)
  }

  async #leaveRoom(): Promise<void> {
    const room = this.#room
    this.#room = undefined
    await room?.close()
  }

  async #replace(front: Front): Promise<void> {
    while (!this.#closing) {
      try {
        await front.start()
        for (const [name, pair] of this.#pairs) front.home?.line.tell('certificate', { names: [name], pair })
        await front.line.call('listen', this.#ports)
        front.listening = true
        await this.#leaveRoom()
        return
      } catch (error) {
        await front.kill()
        if (this.#closing) return
        this.#options.log.error({ error }, 'a front thread could not be started again')
        await sleep(limits.front.againMs)
      }
    }
  }

  /** Of all there are, and what those counted that are gone, as far as anybody was told: no sum ever falls. */
  async #metrics(): Promise<Counted[]> {
    const all = await Promise.all(this.#all.map(front => front.metrics()))
    return [...all, await this.#past]
  }
}

/** The place of one front; threads come and go in it. */
class Front {
  home: FrontHome | undefined
  /** It takes sessions. */
  listening = false
  /** What it said last that it counted. */
  counted: Counted = []
  /** Told when the thread ended by itself. */
  onGone: () => void = () => {}
  readonly #options: FrontsOptions
  readonly #number: number
  #thread: Thread | undefined
  #pulse: Timer | undefined
  #gone: Promise<void> = Promise.resolve()
  #closing = false

  constructor(options: FrontsOptions, number: number) {
    this.#options = options
    this.#number = number
  }

  /** The line to it. @throws Fault Stopping where there is no thread now */
  get line(): FrontLine {
    if (this.home === undefined) throw new Fault('Stopping')
    return this.home.line
  }

  /** Processor time of its thread, milliseconds; undefined where it does not answer now. */
  async processorMs(): Promise<number | undefined> {
    const asked = this.#thread?.processorMs() ?? Promise.resolve(undefined)
    return within(limits.front.heardMs, asked, () => new Fault('TimedOut')).catch(() => undefined)
  }

  /** What it counted; of one that does not answer now, what it said last. */
  async metrics(): Promise<Counted> {
    const { home } = this
    if (home === undefined) return this.counted
    const asked = home.line.call('metrics', undefined) as Promise<Counted>
    const counted = await within(limits.front.heardMs, asked, () => new Fault('TimedOut')).catch(() => undefined)
    if (counted !== undefined && this.home === home) this.counted = counted
    return this.counted
  }

  /** A setting has another value; resolves when it has it there, too. One that does not hear is about to be ended. */
  async set(key: SettingKey, value: number | boolean | string | null): Promise<void> {
    const heard = this.home?.line.call('setting', { key, value }) ?? Promise.resolve()
    await within(limits.front.heardMs, heard, () => new Fault('TimedOut')).catch(() => undefined)
  }

  /** Starts a thread; resolves when it may listen. */
  async start(): Promise<void> {
    const { config, fronts, changes, keys, pair, connectionsMax, http } = this.#options
    const part = Math.max(1, Math.floor(connectionsMax / fronts))
    const { heapMib, youngMib, noticesTold } = limits.front
    const given: FrontData = {
      ...{ config, number: this.#number, fronts, changes, keys, pair, http },
      connectionsMax: part,
      noticesTold,
    }
    const [here, there] = newLine()
    const thread = new Thread({ file: threadFile('front'), given, heapMib, youngMib, lasting: true })
    const home = new FrontHome(here, this.#options)
    detach(here)
    this.#thread = thread
    this.home = home
    this.#gone = thread.gone.then(() => {
      home.end()
      if (this.#thread === thread) this.#ended(thread.failure)
    })
    const up = thread.ask('run', { line: there }, [there]).then(() => home.line.call('ready', undefined))
    await within(limits.front.startMs, up, () => new Error('a front does not start'))
    this.#watch(thread, home)
  }

  #ended(error: unknown): void {
    this.#pulse?.cancel()
    this.#thread = undefined
    this.home = undefined
    const served = this.listening
    this.listening = false
    // One that is just being started is looked after by whoever starts it.
    if (this.#closing || !served) return
    this.#options.log.error({ error }, 'a front thread is gone with its sessions; another takes its place')
    this.onGone()
  }

  /**
   * A thread that does not answer for long is ended: its clients come back to another. What counts is how often this thread
   * could have heard it, so that nobody is taken for hanging because the machine slept, or home itself was late.
   */
  #watch(thread: Thread, home: FrontHome): void {
    let missed = 0
    let waiting = false
    this.#pulse = every(limits.front.pulseMs, () => {
      if (this.#thread !== thread) return
      if (waiting) {
        missed += 1
        if (missed !== limits.front.missedMax) return
        this.#options.log.error({ front: this.#number }, 'a front thread hangs')
        void thread.end()
        return
      }
      waiting = true
      missed = 0
      void home.line
        .call('ping', undefined)
        .catch(() => {})
        .finally(() => {
          waiting = false
        })
    })
  }

  async kill(): Promise<void> {
    await this.#thread?.end()
  }

  async close(): Promise<void> {
    this.#closing = true
    const thread = this.#thread
    if (thread !== undefined && this.home !== undefined) {
      // Sessions have their own time to finish in; this is for a thread that does not answer at all.
      const closed = this.home.line.call('close', undefined)
      await within(limits.front.closeMs, closed, () => new Error('the front does not close')).catch(() => {})
      this.#pulse?.cancel()
      await thread.end()
    }
    await this.#gone
  }
}
