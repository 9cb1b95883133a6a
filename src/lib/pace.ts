// Long work on the main loop goes in slices of some milliseconds, and accounts take turns with theirs.
//
// Promises: in each turn of the loop all slices together take a third of it, and at least `busySliceMs`; where nobody else does
// anything, up to `sliceMs`. Accounts that wait are served one after the other, so one with many sessions gets no more than one
// with a single session, and those that asked for little so far come before those that had a lot. Work that is shorter than a
// slice never waits.

import { monotonic, sleep } from './clock.ts'
import { limits } from './limits.ts'

/** Whoever works long asks, and waits for its turn where its slice is used up. */
export interface Slices {
  /** Cheap enough to be asked for every row. */
  readonly spent: boolean
  /** Waits for the next slice. @throws where nobody waits for the result any more */
  turn(): Promise<void>
}

/** So many at once; others wait, a slice at a time. */
export class Permits {
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  async with<T>(slices: Slices, task: () => Promise<T>): Promise<T> {
    while (this.#free === 0) {
      await sleep(limits.pace.permitMs)
      await slices.turn()
    }
    this.#free -= 1
    try {
      return await task()
    } finally {
      this.#free += 1
    }
  }
}

/** The slices of one session, one command after the other. */
export class Pace implements Slices {
  #turnKey = ''
  #since: number
  /** Its next turn comes before those of others with its key. */
  protected first = false

  /** @param since when the slice began that it is in */
  constructor(since = monotonic()) {
    this.#since = since
  }

  /** Whose work it is: keys take turns. */
  set turnKey(key: string) {
    this.#turnKey = key
  }

  /** The session waited for somebody else: what it does next is a new slice. */
  restart(): void {
    this.#since = isCostly(this.#turnKey) ? burstStart() : othersAct()
  }

  get spent(): boolean {
    return monotonic() - this.#since >= sliceMs
  }

  async turn(): Promise<void> {
    await new Promise<void>(resolve => wait(this.#turnKey, resolve, this.first))
    this.#since = monotonic()
  }
}

/** For work that many may ask for at once: its first slice began with that of the first of them. */
export function burstPace(key: string): Pace {
  if (!isCostly(key)) othersAct()
  const pace = new Pace(burstStart())
  pace.turnKey = key
  return pace
}

/**
 * For a message that arrives: what is costly of all of them takes the turns of one account, and of those that have had a
 * turn already the turns of another one, so that whoever wrote an ordinary one does not wait behind them.
 */
export function arrivalPace(): Pace {
  othersAct()
  return new ArrivalPace(burstStart())
}

const arrivals = 'arrivals'
const longArrivals = 'long arrivals'

/** Of the long ones one is worked on to its end before the next: what is known of all halfway would be copied by each look for garbage. */
class ArrivalPace extends Pace {
  #turns = 0

  override turn(): Promise<void> {
    this.turnKey = this.#turns === 0 ? arrivals : longArrivals
    this.first = this.#turns > 1
    this.#turns += 1
    return super.turn()
  }
}

/** When the first of those came that the loop has not been let go since; 0 before there is one. */
let burst = 0

function burstStart(): number {
  if (burst === 0) {
    burst = monotonic()
    setImmediate(() => {
      burst = 0
    })
  }
  return burst
}

/** How long a slice is for now. */
let sliceMs: number = limits.pace.sliceMs
let othersAt = 0

/** Somebody does something who has not asked for much. @returns the time */
function othersAct(): number {
  othersAt = monotonic()
  return othersAt
}

/** Key -> milliseconds of slices, in this stretch of time and in the one before. */
let used = new Map<string, number>()
let usedBefore = new Map<string, number>()
let usedSince = 0

function isCostly(key: string): boolean {
  if (key === longArrivals) return true
  // Nobody's yet, or many people's.
  if (key === '' || key === arrivals) return false
  return Math.max(used.get(key) ?? 0, usedBefore.get(key) ?? 0) >= limits.pace.costlyMs
}

function countUse(key: string, ms: number, at: number): void {
  if (at - usedSince > limits.pace.costlyWindowMs) {
    usedBefore = used
    used = new Map()
    usedSince = at
  }
  used.set(key, (used.get(key) ?? 0) + ms)
}

/** Those who wait for a slice; the key whose turn is next comes first. */
class Turns {
  readonly #turns = new Map<string, (() => void)[]>()
  waiting = 0

  add(key: string, go: () => void, first: boolean): void {
    const queue = this.#turns.get(key)
    if (queue === undefined) this.#turns.set(key, [go])
    else if (first) queue.unshift(go)
    else queue.push(go)
    this.waiting += 1
  }

  /** Lets one go on. @returns its key */
  next(): string {
    for (const [key, queue] of this.#turns) {
      const go = queue.shift()
      // To the end: every other key has its turn before this one comes again.
      this.#turns.delete(key)
      if (queue.length > 0) this.#turns.set(key, queue)
      this.waiting -= 1
      go?.()
      return key
    }
    return ''
  }
}

const modest = new Turns()
const costly = new Turns()
/** Rounds in which those who had a lot waited for others. */
let passedOver = 0
let planned = 0
let roundStart = 0
let roundEnd = 0
/** Whose slice it is. */
let running: string | undefined
let runningSince = 0

function wait(key: string, go: () => void, first: boolean): void {
  const queue = isCostly(key) ? costly : modest
  queue.add(key, go, first)
  if (planned > 0) return
  roundEnd = monotonic()
  plan()
}

/** What is planned now runs in one turn of the loop; each slice works between two of these calls, the last of which ends the round. */
function plan(): void {
  planned = 1 + Math.min(modest.waiting + costly.waiting, limits.pace.slicesMax)
  for (let count = 0; count < planned; count++) setImmediate(step)
  roundStart = 0
}

function step(): void {
  const at = monotonic()
  if (running !== undefined) countUse(running, at - runningSince, at)
  running = undefined
  planned -= 1
  if (planned === 0) {
    roundEnd = at
    if (modest.waiting + costly.waiting > 0) plan()
    return
  }
  if (roundStart === 0) begin(at)
  if (at - roundStart < sliceMs) letOneGo(at)
}

/** A round: a third of the time goes to slices where others do something. */
function begin(at: number): void {
  const { busySliceMs, calmMs } = limits.pace
  roundStart = at
  if (costly.waiting > 0) passedOver += 1
  const share = at - othersAt > calmMs ? limits.pace.sliceMs : (at - roundEnd) / 2
  sliceMs = Math.min(limits.pace.sliceMs, Math.max(busySliceMs, share))
}

function letOneGo(at: number): void {
  const modestFirst = costly.waiting === 0 || passedOver <= limits.pace.costlyRoundsMax
  const queue = modest.waiting > 0 && modestFirst ? modest : costly
  if (queue.waiting === 0) return
  if (queue === costly) passedOver = 0
  runningSince = at
  running = queue.next()
}
