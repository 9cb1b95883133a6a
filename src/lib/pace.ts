// Long work on the main loop goes in slices of some milliseconds, and accounts take turns with theirs.
//
// Promises: in each turn of the loop all slices together take about `limits.pace.roundMs`, whoever many wait; accounts that
// wait are served one after the other, so one with many sessions gets no more than one with a single session. Work that is
// shorter than a slice never waits.

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
    this.#since = monotonic()
  }

  get spent(): boolean {
    return monotonic() - this.#since >= limits.pace.sliceMs
  }

  async turn(): Promise<void> {
    await new Promise<void>(resolve => wait(this.#turnKey, resolve))
    this.#since = monotonic()
  }
}

/** For a message that arrives: what is costly of all of them takes the turns of one account. */
export function arrivalPace(): Pace {
  const pace = new Pace(burstStart())
  pace.turnKey = 'arrivals'
  return pace
}

/** When the first of those messages came that the loop has not been let go since; 0 before there is one. */
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

/** Key -> those who wait for a slice; the key whose turn is next comes first. */
const turns = new Map<string, (() => void)[]>()
let waiting = 0
let planned = 0
let roundStart = 0

function wait(key: string, go: () => void): void {
  const queue = turns.get(key)
  if (queue === undefined) turns.set(key, [go])
  else queue.push(go)
  waiting += 1
  if (planned === 0) plan()
}

/** What is planned now runs in one turn of the loop; each slice works between two of these calls. */
function plan(): void {
  planned = Math.min(waiting, limits.pace.slicesMax)
  for (let count = 0; count < planned; count++) setImmediate(step)
  roundStart = 0
}

function step(): void {
  if (roundStart === 0) roundStart = monotonic()
  planned -= 1
  if (monotonic() - roundStart < limits.pace.roundMs) next()
  if (planned === 0 && waiting > 0) plan()
}

function next(): void {
  const [entry] = turns
  if (entry === undefined) return
  const [key, queue] = entry
  const go = queue.shift()
  // To the end: every other key has its turn before this one comes again.
  turns.delete(key)
  if (queue.length > 0) turns.set(key, queue)
  waiting -= 1
  go?.()
}
