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
    this.#since = monotonic()
  }

  get spent(): boolean {
    return monotonic() - this.#since >= limits.pace.sliceMs
  }

  async turn(): Promise<void> {
    await new Promise<void>(resolve => wait(this.#turnKey, resolve, this.first))
    this.#since = monotonic()
  }
}

/** For work that many may ask for at once: its first slice began with that of the first of them. */
export function burstPace(key: string): Pace {
  const pace = new Pace(burstStart())
  pace.turnKey = key
  return pace
}

/**
 * For a message that arrives: what is costly of all of them takes the turns of one account, and of those that have had a
 * turn already the turns of another one, so that whoever wrote an ordinary one does not wait behind them.
 */
export function arrivalPace(): Pace {
  return new ArrivalPace(burstStart())
}

/** Of the long ones one is worked on to its end before the next: what is known of all halfway would be copied by each look for garbage. */
class ArrivalPace extends Pace {
  #turns = 0

  override turn(): Promise<void> {
    this.turnKey = this.#turns === 0 ? 'arrivals' : 'long arrivals'
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

/** Key -> those who wait for a slice; the key whose turn is next comes first. */
const turns = new Map<string, (() => void)[]>()
let waiting = 0
let planned = 0
let roundStart = 0

function wait(key: string, go: () => void, first: boolean): void {
  const queue = turns.get(key)
  if (queue === undefined) turns.set(key, [go])
  else if (first) queue.unshift(go)
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
