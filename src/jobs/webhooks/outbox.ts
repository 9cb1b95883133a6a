// The outbox of one endpoint: which of its deliveries may start now, in memory, fed from rows.
//
// Deliveries of one subject (the account an event is about, or its kind) go one after the other, always in the order of
// their events: a delivery that failed holds back the later ones of its subject, until it has failed for an hour and steps
// aside. Different subjects start in the order of their events and run side by side within a window that begins at one,
// doubles with success and falls back to one after a failure. An endpoint that fails twice in a row rests for a
// while that doubles; meanwhile one delivery at a time tries it.

import { limits } from '#lib/limits.ts'
import type { DueDelivery } from '#store/events/deliveries.ts'

/** A delivery in memory. */
export interface Pending {
  readonly event: number
  readonly n: number
  readonly webhook: string
  readonly subject: string
  /** Attempts so far; the one in flight counts. */
  attempts: number
  /** When it may start; 0 for one that was never tried. */
  due: number
  /** When it was tried first. */
  since: number | null
}

/** Deliveries of one subject that were claimed together and are sent one after the other. */
export interface Run {
  readonly outbox: Outbox
  readonly subject: string
  /** Which failures of the outbox it started after. */
  readonly epoch: number
  readonly deliveries: readonly Pending[]
}

interface Subject {
  /** In the order of their events; those of a run are taken out. */
  waiting: Pending[]
  running: boolean
}

export type Place = readonly [event: number, n: number]

export class Outbox {
  readonly num: number
  readonly url: string
  readonly origin: string
  /** When it was paused; a paused outbox starts nothing. */
  paused: boolean
  /** Failures in a row, and the moment of the first. */
  failures: number
  failingSince: number | null
  /** Last untried row that was read; whether there may be more behind it. */
  place: Place = [0, 0]
  more = true
  #window = 1
  #running = 0
  #opensAt = 0
  #epoch = 0
  #tried = 0
  readonly #subjects = new Map<string, Subject>()
  /** Everything in memory, waiting or in flight. */
  readonly #known = new Map<string, Pending>()

  constructor(form: { num: number; url: string; paused: boolean; failures: number; failingSince: number | null }) {
    this.num = form.num
    this.url = form.url
    this.origin = originOf(form.url)
    this.paused = form.paused
    this.failures = form.failures
    this.failingSince = form.failingSince
  }

  get running(): number {
    return this.#running
  }

  /** Deliveries in memory that were tried and wait. */
  get tried(): number {
    return this.#tried
  }

  get empty(): boolean {
    return this.#known.size === 0 && !this.more
  }

  /** How many rows it would like to read. */
  get room(): number {
    if (!this.more || this.paused) return 0
    const room = limits.webhook.aheadMax - this.#known.size
    return room < limits.webhook.aheadMax / 2 ? 0 : room
  }

  /** Takes rows in; those it knows are left as they are. `fresh` rows move its place. */
  add(rows: readonly DueDelivery[], fresh: boolean): void {
    for (const row of rows) {
      if (fresh) this.place = [row.event, row.n]
      const key = `${row.event}:${row.n}`
      if (this.#known.has(key)) continue
      const subject = row.user ?? row.name.split('.', 1)[0] ?? ''
      const { event, n, webhook, attempts, due, since } = row
      const pending: Pending = { event, n, webhook, subject, attempts, due, since }
      this.#known.set(key, pending)
      this.#put(pending)
    }
  }

  /** There are new rows, the first of them with this event. */
  arrived(event: number): void {
    this.more = true
    if (event <= this.place[0]) this.rescan()
  }

  /** Reads untried rows from the start again: some have come, or come back, that lie before its place. */
  rescan(): void {
    this.more = true
    this.place = [0, 0]
    for (const [subject, { waiting, running }] of this.#subjects) {
      const kept = waiting.filter(pending => pending.attempts > 0)
      for (const pending of waiting) if (pending.attempts === 0) this.#known.delete(keyOf(pending))
      this.#set(subject, kept, running)
    }
  }

  /** Lets it start at once whatever happened before. */
  reopen(): void {
    this.paused = false
    this.failures = 0
    this.failingSince = null
    this.#opensAt = 0
    for (const { waiting } of this.#subjects.values()) for (const pending of waiting) pending.due = 0
  }

  /** What waits does so as long as it would have, now that the clock was put back by `ms`. */
  clockBack(ms: number): void {
    this.#opensAt -= ms
    if (this.failingSince !== null) this.failingSince -= ms
    for (const pending of this.#known.values()) {
      pending.due = Math.max(0, pending.due - ms)
      if (pending.since !== null) pending.since -= ms
    }
  }

  /** Starts nothing any more, and forgets what it has not tried. */
  pause(): void {
    this.paused = true
    this.rescan()
  }

  /**
   * Takes what may start at `at`, at most `runsMax` runs. What is taken is counted as an attempt; the caller writes that
   * down, and calls `finish` for every run.
   */
  take(at: number, runsMax: number): Run[] {
    const room = Math.min(runsMax, this.#width() - this.#running)
    if (this.paused || at < this.#opensAt || room <= 0) return []
    const ready: [Subject, string, number][] = []
    for (const [subject, entry] of this.#subjects) {
      const index = entry.running ? -1 : this.#start(entry.waiting, at)
      if (index >= 0) ready.push([entry, subject, index])
    }
    if (ready.length > room) ready.sort((a, b) => compare(a[0].waiting[a[2]], b[0].waiting[b[2]]))
    return ready.slice(0, room).map(([entry, subject, index]) => this.#claim(entry, subject, index, at))
  }

  /** Takes a run back: what of it waits for another try, and what was never tried. The rest is done. */
  finish(run: Run, failed: readonly Pending[], released: readonly Pending[]): void {
    this.#running -= 1
    for (const pending of run.deliveries) this.#known.delete(keyOf(pending))
    const entry = this.#subjects.get(run.subject)
    if (entry !== undefined) entry.running = false
    for (const pending of [...failed, ...released]) {
      this.#known.set(keyOf(pending), pending)
      this.#put(pending)
    }
    if (entry?.waiting.length === 0) this.#subjects.delete(run.subject)
  }

  /** One call went well. */
  succeeded(): void {
    this.#window = Math.min(this.#window * 2, limits.webhook.windowMax)
    this.failures = 0
    this.failingSince = null
    this.#opensAt = 0
  }

  /** One call did not. Those that were under way together count as one failure. */
  failed(run: Run, at: number): void {
    this.#window = 1
    if (run.epoch < this.#epoch) return
    this.#epoch += 1
    this.failures += 1
    this.failingSince ??= at
    const rest = limits.webhook.restMs * 2 ** Math.min(this.failures - 2, 20)
    if (this.failures >= 2) this.#opensAt = at + Math.min(rest, limits.webhook.restMsMax)
  }

  /** When something may start, given that nothing may now; null where a finished run or new rows must come first. */
  next(): number | null {
    if (this.paused || this.#running >= this.#width()) return null
    let soonest: number | null = null
    for (const { waiting, running } of this.#subjects.values()) {
      if (running) continue
      for (const pending of waiting) {
        const due = Math.max(pending.due, this.#opensAt)
        if (soonest === null || due < soonest) soonest = due
        if (pending.due === 0 || !isAside(pending, pending.due)) break
      }
    }
    return soonest
  }

  /** When the oldest delivery in memory that is late has been due; null where none is. */
  oldestDue(at: number): number | null {
    let oldest: number | null = null
    for (const { waiting } of this.#subjects.values()) {
      for (const { attempts, due } of waiting) {
        if (attempts > 0 && due > 0 && due <= at && (oldest === null || due < oldest)) oldest = due
      }
    }
    return oldest
  }

  #width(): number {
    return this.failures > 0 ? 1 : this.#window
  }

  /** Index of the delivery of a subject that may start at `at`, -1 where none may. */
  #start(waiting: readonly Pending[], at: number): number {
    const fresh = this.#tried < limits.webhook.triedMax
    for (const [index, pending] of waiting.entries()) {
      if (pending.due <= at) return pending.attempts > 0 || fresh ? index : -1
      if (!isAside(pending, at)) return -1
    }
    return -1
  }

  #claim(entry: Subject, subject: string, index: number, at: number): Run {
    const lengthMax = this.#width() === 1 ? 1 : limits.webhook.runLengthMax
    let end = index + 1
    while (end - index < lengthMax && (entry.waiting[end]?.due ?? Infinity) <= at) end += 1
    const deliveries = entry.waiting.splice(index, end - index)
    for (const pending of deliveries) {
      if (pending.attempts > 0) this.#tried -= 1
      pending.attempts += 1
      pending.since ??= at
    }
    entry.running = true
    this.#running += 1
    return { outbox: this, subject, epoch: this.#epoch, deliveries }
  }

  #put(pending: Pending): void {
    if (pending.attempts > 0) this.#tried += 1
    const entry = this.#subjects.get(pending.subject)
    if (entry === undefined) {
      this.#subjects.set(pending.subject, { waiting: [pending], running: false })
      return
    }
    const { waiting } = entry
    let index = waiting.length
    while (index > 0 && compare(waiting[index - 1], pending) > 0) index -= 1
    waiting.splice(index, 0, pending)
  }

  #set(subject: string, waiting: Pending[], running: boolean): void {
    if (waiting.length === 0 && !running) this.#subjects.delete(subject)
    else this.#subjects.set(subject, { waiting, running })
  }
}

/** A delivery that has failed for so long that later ones of its subject may pass. */
function isAside(pending: Pending, at: number): boolean {
  return pending.since !== null && at - pending.since > limits.webhook.blockMs
}

function compare(a: Place | Pending | undefined, b: Place | Pending | undefined): number {
  const [left, right] = [a as Pending, b as Pending]
  return left.event - right.event || left.n - right.n
}

function keyOf({ event, n }: Pending): string {
  return `${event}:${n}`
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : ''
}
