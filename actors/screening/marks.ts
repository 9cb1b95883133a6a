// The mark a domain shows beside its mail (BIMI): fetched where the domain says, looked at on a thread, kept in the store.
//
// Promises: HTTPS to public addresses alone, no redirects, limits.bimi in size and time; a message waits limits.bimi.waitMs
// at most, and what comes later is there for the next one. A mark that cannot be had, or whose evidence proves nothing, is left
// out, which is counted and can be read in the log. Never throws.

import { createHash } from 'node:crypto'
import { after, monotonic, now, within } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { Assertion } from '#mail/bimi/assertion.ts'
import type { Outward } from '#net/outward/outward.ts'
import type { Pools } from '#pool'
import { findMark, type HeldMark, heldMark, type MarkRow, markPut, markSweep } from '#store/domains/mark.ts'
import type { DirectoryCommand } from '../admin/directory.ts'
import type { Actors } from '../kernel/system.ts'

/** Keeps a mark that was fetched. */
export const noteMark: DirectoryCommand<MarkRow, void> = {
  name: 'mark.note',
  run(turn, row) {
    turn.write(markPut, row, row.image.length + row.url.length + 200)
    turn.write(markSweep, { rowsMax: limits.bimi.rowsMax })
  },
}

export interface MarksOptions {
  readonly system: Pick<Actors, 'read' | 'directory'>
  readonly outward: Pick<Outward, 'agent'>
  readonly pool: Pools['verify']
  /** Certificates in PEM to trust for HTTPS instead of the public ones; empty: those. */
  readonly ca: string
  /** Authorities in PEM whose marks are believed instead of the known ones; empty: those. */
  readonly authorities: string
  readonly log: Log
  readonly metrics: Metrics
}

interface Known {
  readonly until: number
  readonly mark: HeldMark | undefined
}

export class Marks {
  readonly #options: MarksOptions
  readonly #known = new Map<string, Known>()
  readonly #asking = new Map<string, Promise<HeldMark | undefined>>()

  constructor(options: MarksOptions) {
    this.#options = options
    options.metrics.remembers('marks', () => this.#known.size)
  }

  /** The mark that a domain asserts, where there is one by now. */
  async of(assertion: Assertion | undefined): Promise<HeldMark | undefined> {
    if (assertion === undefined) return undefined
    const { domain, selector, location, authority } = assertion
    const key = hashOf(domain, selector, location, authority)
    const known = this.#known.get(key)
    if (known !== undefined && known.until > monotonic()) return known.mark
    let asking = this.#asking.get(key)
    if (asking === undefined) {
      // Whoever names a thousand marks gets some at a time.
      if (this.#asking.size >= limits.bimi.fetchesMax) return undefined
      asking = this.#find(key, assertion).finally(() => this.#asking.delete(key))
      this.#asking.set(key, asking)
    }
    return within(limits.bimi.waitMs, asking, () => new Error('late')).catch(() => undefined)
  }

  async #find(key: string, assertion: Assertion): Promise<HeldMark | undefined> {
    const { log, metrics, system } = this.#options
    try {
      const kept = await findMark(system.read, key, now() - limits.bimi.keptMs)
      if (kept !== undefined) return this.#keep(key, kept, limits.bimi.failureMs)
      const row = await this.#fetched(key, assertion)
      await system.directory.run(noteMark, row)
      metrics.marks.labels(row.certified ? 'certified' : 'asserted').inc()
      return this.#keep(key, heldMark(row), limits.bimi.keptMs)
    } catch (error) {
      metrics.marks.labels('refused').inc()
      const { domain, location } = assertion
      log.debug({ domain, location, reason: (error as Error).message }, 'the mark of a domain is not shown')
      return this.#keep(key, undefined, limits.bimi.failureMs)
    }
  }

  #keep(key: string, mark: HeldMark | undefined, ms: number): HeldMark | undefined {
    this.#known.delete(key)
    this.#known.set(key, { until: monotonic() + ms, mark })
    const [oldest] = this.#known.keys()
    if (this.#known.size > limits.bimi.knownMax && oldest !== undefined) this.#known.delete(oldest)
    return mark
  }

  /** @throws Error with the reason why there is none */
  async #fetched(key: string, { domain, selector, location, authority }: Assertion): Promise<MarkRow> {
    const { pool, authorities } = this.#options
    const [svg, bundle] = await Promise.all([
      this.#fetch(location, limits.bimi.indicatorBytesMax),
      authority === '' ? Buffer.alloc(0) : this.#fetch(authority, limits.bimi.bundleBytesMax),
    ])
    const question = { svg, bundle: bundle.toString('latin1'), domain, selector, now: now(), authorities }
    const { fault, certified, type = '' } = await pool.run('mark', question)
    if (fault !== '') throw new Error(fault)
    const image = `data:image/svg+xml;base64,${svg.toString('base64')}`
    const id = hashOf(key, String(certified), type, image)
    return { id, assertion: key, certified, type, url: location, image, fetched: now() }
  }

  async #fetch(location: string, bytesMax: number): Promise<Buffer> {
    const { outward, ca } = this.#options
    const url = new URL(location)
    if (url.protocol !== 'https:' || url.username !== '' || url.password !== '')
      throw new Error('it is not behind HTTPS')
    const agent = outward.agent({ connectionsMax: 1, answerBytesMax: bytesMax, ...(ca !== '' && { ca }) })
    const ended = new AbortController()
    const timer = after(limits.bimi.fetchMs, () => ended.abort())
    try {
      const { statusCode, body } = await agent.request({
        ...{ origin: url.origin, path: `${url.pathname}${url.search}`, method: 'GET', signal: ended.signal },
      })
      if (statusCode !== 200) {
        body.on('error', () => {}).destroy()
        throw new Error(`it was answered with ${statusCode}`)
      }
      return Buffer.from(await body.arrayBuffer())
    } finally {
      timer.cancel()
      await agent.destroy().catch(() => {})
    }
  }
}

function hashOf(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}
