// What the log says of the traffic: one line for each message in, each attempt out, each login that failed, each refusal and each change.
//
// Every line has an `event` that programs look for; `ip`, where there is one, comes next (deploy/fail2ban). What strangers say
// is cut to a length, and what they cause is bounded: so many lines a minute from one network and from all of them, and a
// line that says how many were left out. No password, no token and no line of a message is ever among the fields.

import { every, monotonic, type Timer } from '../clock.ts'
import { limits } from '../limits.ts'
import type { Log } from '../log.ts'
import { networkOf } from '../network.ts'

/** What a line tells of. */
export type JournalEvent = 'message' | 'refused' | 'login-failed' | 'attempt' | 'audit'

export type JournalFields = Readonly<Record<string, unknown>>

/** What strangers can cause at will. */
const strange: ReadonlySet<JournalEvent> = new Set(['refused', 'login-failed'])

interface Window {
  lines: number
  /** Network -> its lines. */
  readonly networks: Map<string, number>
  leftOut: number
  /** Networks whose lines were left out, as far as they are counted. */
  readonly silenced: Set<string>
}

export interface JournalBounds {
  readonly windowMs: number
  readonly linesMax: number
  readonly strangeLinesMax: number
  readonly networkLinesMax: number
}

export class Journal {
  readonly #log: Log
  readonly #bounds: JournalBounds
  readonly #windows = new Map<JournalEvent, Window>()
  readonly #timer: Timer
  #since = monotonic()

  constructor(log: Log, bounds: JournalBounds = limits.journal) {
    this.#log = log
    this.#bounds = bounds
    this.#timer = every(bounds.windowMs, () => this.#turn())
  }

  /** Whether a line would be written; what is costly to say is worked out only then. */
  get on(): boolean {
    return this.#log.isLevelEnabled('info')
  }

  /**
   * Writes a line, unless there were too many.
   *
   * @param ip of whoever caused it; empty where nobody far away did
   * @param fields what is printed, after `event` and `ip`; texts of strangers are for `cut`
   */
  note(event: JournalEvent, ip: string, fields: JournalFields, text: string): void {
    if (!this.on || !this.#admits(event, ip)) return
    this.#log.info({ event, ...(ip !== '' && { ip }), ...fields }, text)
  }

  /** Says what was left out until now. */
  close(): void {
    this.#timer.cancel()
    this.#turn()
  }

  #admits(event: JournalEvent, ip: string): boolean {
    if (monotonic() - this.#since >= this.#bounds.windowMs) this.#turn()
    const { linesMax, strangeLinesMax, networkLinesMax } = this.#bounds
    let window = this.#windows.get(event)
    if (window === undefined) {
      window = { lines: 0, networks: new Map(), leftOut: 0, silenced: new Set() }
      this.#windows.set(event, window)
    }
    const isStrange = strange.has(event)
    const network = isStrange ? networkOf(ip) : ''
    const lines = window.networks.get(network) ?? 0
    if (window.lines >= (isStrange ? strangeLinesMax : linesMax) || (isStrange && lines >= networkLinesMax)) {
      window.leftOut += 1
      if (window.silenced.size < strangeLinesMax) window.silenced.add(network)
      return false
    }
    window.lines += 1
    if (isStrange) window.networks.set(network, lines + 1)
    return true
  }

  #turn(): void {
    this.#since = monotonic()
    for (const [about, { leftOut, silenced }] of this.#windows) {
      if (leftOut === 0) continue
      const told = { event: 'left-out', about, lines: leftOut, networks: silenced.size }
      this.#log.warn(told, 'lines were left out: there were too many of their kind')
    }
    this.#windows.clear()
  }
}

/** A stranger's words as far as a line has room for them. */
export function cut(text: string): string {
  return text.length <= limits.journal.textLengthMax ? text : `${text.slice(0, limits.journal.textLengthMax)}…`
}
