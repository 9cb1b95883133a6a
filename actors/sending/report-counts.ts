// What is to be told to other domains, gathered for a moment before it is counted in the store, wherever it was seen.
//
// Bounded: strangers choose what is counted. What does not fit any more is left out; what was gathered in the last moment before a
// crash is lost, as reports are statistics. Adding never waits and never fails.

import { after, now, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { type ReportCount, type ReportKind, reportAdd } from '#store/sending/report.ts'
import type { DirectoryCommand } from '../admin/directory.ts'
import type { Actors } from '../kernel/system.ts'

/** Adds to what is told to domains. */
export const noteReports: DirectoryCommand<{ rows: readonly ReportCount[] }, void> = {
  name: 'report.note',
  run(turn, { rows }) {
    const bytes = rows.reduce((sum, { detail, domain }) => sum + detail.length + domain.length + 50, 0)
    turn.write(reportAdd, { rows, rowsMax: limits.report.rowsMax }, bytes)
  },
}

/** The first moment of the day of a moment, in UTC. */
export function dayOf(at: number): number {
  return at - (at % limits.time.day)
}

export class ReportCounts {
  readonly #directory: Actors['directory']
  readonly #log: Log
  #rows = new Map<string, { row: ReportCount; count: number }>()
  /** Domains of today. */
  readonly #domains = new Set<string>()
  #day = 0
  #timer: Timer | undefined
  #written: Promise<void> = Promise.resolve()

  constructor({ directory }: Pick<Actors, 'directory'>, log: Log) {
    this.#directory = directory
    this.#log = log
  }

  /** Counts one more of what `detail` says, which is data. */
  add(kind: ReportKind, domain: string, detail: object): void {
    const day = dayOf(now())
    const text = JSON.stringify(detail)
    if (!this.#admits(`${kind} ${domain}`, day) || text.length > limits.report.detailLengthMax) return
    const key = `${kind} ${day} ${domain} ${text}`
    const known = this.#rows.get(key)
    if (known !== undefined) known.count += 1
    else if (this.#rows.size < limits.report.gatheredMax) {
      this.#rows.set(key, { row: { kind, day, domain, detail: text, count: 1 }, count: 1 })
    }
    this.#timer ??= after(limits.report.gatherMs, () => void this.flush())
  }

  /** Has what was gathered counted. */
  flush(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    const rows = [...this.#rows.values()].map(({ row, count }) => ({ ...row, count }))
    this.#rows = new Map()
    if (rows.length === 0) return this.#written
    this.#written = this.#written.then(async () => {
      try {
        await this.#directory.run(noteReports, { rows })
      } catch (error) {
        this.#log.warn({ error, rows: rows.length }, 'what is to be told to other domains could not be counted')
      }
    })
    return this.#written
  }

  #admits(key: string, day: number): boolean {
    if (this.#day !== day) {
      this.#day = day
      this.#domains.clear()
    }
    if (this.#domains.has(key)) return true
    if (this.#domains.size >= limits.report.domainsMax) return false
    this.#domains.add(key)
    return true
  }
}
