// Certificates by ACME (RFC 8555): each that is ACME's is fetched, and renewed in time before its end.
//
// Those are the names of the settings and what was put in over the API with `acme`. A certificate is renewed at a third of
// its life before its end, or the configured number of days where that is less, with a tenth of that time as jitter. After
// a failure it is tried again after 10 and 30 minutes, 2, 6, 12 and 24 hours and each day from then on (limits.acme), later
// where the server asks for it (Retry-After). Attempt and next time are on disk before the server is asked. Whatever
// happens here, the service goes on with the certificates it has.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Agent } from 'undici'
import type { AcmeHandle } from '#actors/admin/acme.ts'
import type { CertificateHandle } from '#actors/admin/certificate.ts'
import { acmeName } from '#lib/acme-name.ts'
import { after, now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { jitter } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { Outward } from '#net/outward/outward.ts'
import { type AcmeBinding, type AcmeFailure, AcmeRefusal, acmeFailure } from '#net/tls/acme.ts'
import type { Duty } from '#store/cluster/duty.ts'
import type { AcmeRow } from '#store/domains/acme.ts'
import { findCertificateFor } from '#store/domains/certificate.ts'
import type { Reader } from '#store/engine/reader.ts'
import { Loop } from '../loop.ts'
import { AcmeOrders, type KeyType } from './order.ts'

export interface AcmeOptions {
  readonly read: Reader
  readonly handle: AcmeHandle
  readonly certificates: CertificateHandle
  readonly outward: Outward
  readonly log: Log
  readonly metrics: Metrics
  readonly version: string
  /** Names that are fetched whoever asks for them. */
  readonly names: readonly string[]
  readonly settings: AcmeSettings
  /** Where one node at a time fetches for all. */
  readonly duty?: Duty | undefined
}

/** `tls.acme` of the configuration. */
interface AcmeSettings extends AcmeBinding {
  readonly directory: string
  readonly ca: string
  readonly email: string
  readonly termsAgreed: boolean
  readonly renewDays: number
  readonly keyType: KeyType
}

type Item = AcmeRow & { readonly attempts: number }

export class Acme {
  readonly #options: AcmeOptions
  readonly #orders: AcmeOrders
  readonly #names: ReadonlySet<string>
  readonly #loop: Loop<Item>
  /** Ids of certificates that are being fetched. */
  readonly #working = new Set<string>()
  #agent: Agent | undefined
  /** Whether what an earlier run left was looked at. */
  #begun = false
  #due = 0
  /** Until then the server is left alone. */
  #restUntil = 0

  /** Starts at once, in the background. */
  constructor(options: AcmeOptions) {
    const { settings, handle, certificates, log, version } = options
    this.#options = options
    this.#names = new Set(options.names.flatMap(name => acmeName(name) ?? []))
    const server = { ...settings, userAgent: `Teal/${version}`, agent: () => this.#client() }
    this.#orders = new AcmeOrders(server, handle, certificates)
    this.#loop = new Loop<Item>(
      {
        name: 'acme',
        claim: (room, at) => this.#claim(room, at),
        run: (item, signal) => this.#run(item, signal),
        clockBack: ms => {
          this.#restUntil -= ms
          this.#due = 0
        },
        next: () => this.#next(),
      },
      {
        inFlightMax: limits.acme.inFlightMax,
        log,
        drainMs: limits.acme.drainMs,
        metrics: this.#options.metrics,
        duty: options.duty,
      },
    )
    this.#measure()
    certificates.onChange(() => this.#loop.kick())
    this.#loop.kick()
  }

  /** Looks for what is due, where anything can be. */
  kick(): void {
    if (now() >= this.#due) this.#loop.kick()
  }

  /** Lets attempts under way end, or cuts them off: they go on after the next start. */
  async close(): Promise<void> {
    await this.#loop.close()
    await this.#agent?.destroy()
  }

  async #claim(room: number, at: number): Promise<Item[]> {
    if (!this.#begun) await this.#begin(at)
    if (at < this.#restUntil) return []
    const items: Item[] = []
    // What ends while rows are read is among them as it was before.
    const working = new Set(this.#working)
    for (const row of await this.#rows()) {
      if (items.length === room) break
      if (working.has(row.certificate)) continue
      const planned = row.due !== null && row.planned === row.expires && row.due <= latest(row, at)
      const due = planned ? (row.due ?? at) : this.#firstDue(row, at)
      const attempts = planned ? (row.attempts ?? 0) : 0
      if (due <= at) {
        const item = { ...row, attempts: attempts + 1 }
        await this.#keep(item, at + retryMs(item.attempts), null)
        this.#working.add(item.certificate)
        items.push(item)
      } else if (!planned) await this.#keep({ ...row, attempts }, due, null)
    }
    return items
  }

  /** Makes a place for each name of the settings; attempts that were cut off are due. */
  async #begin(at: number): Promise<void> {
    const { read, certificates, log } = this.#options
    for (const servername of this.#names) {
      const found = await findCertificateFor(read, servername)
      if (found?.acme === false)
        log.warn({ name: servername }, 'has a certificate that is not from ACME, which is left alone')
      if (found !== undefined) continue
      try {
        await certificates.put({ servername, acme: true, autogenerated: true })
      } catch (error) {
        if (!(error instanceof Fault) || error.code !== 'TooManyCertificates') throw error
        log.error({ name: servername }, 'has no certificate and gets none: there are too many')
      }
    }
    for (const row of await this.#rows()) {
      const { attempts, url, failure } = row
      if (attempts !== null && url !== null && failure === null) await this.#keep({ ...row, attempts }, at, null)
    }
    this.#begun = true
  }

  async #run(item: Item, signal: AbortSignal): Promise<void> {
    const { log, metrics } = this.#options
    const name = item.servername
    const ended = new AbortController()
    const onStop = () => ended.abort(signal.reason)
    const timer = after(limits.acme.attemptMs, () => ended.abort(new AcmeRefusal('late', 'it took too long')))
    signal.addEventListener('abort', onStop, { once: true })
    try {
      const { cert, expires } = await this.#orders.fetch(item, ended.signal)
      await this.#options.handle.keepOrder(item.certificate, null)
      const due = Math.max(this.#renewal(cert, expires), now() + limits.acme.renewMsMin)
      await this.#keep({ ...item, attempts: 0, expires }, due, null)
      metrics.acmeAttempts.labels('issued').inc()
      log.info({ name, expires: moment(expires), renewal: moment(due) }, 'fetched a certificate')
    } catch (error) {
      if (signal.aborted) log.info({ name }, 'fetching a certificate was cut off and goes on after the next start')
      else if (error instanceof Fault && error.code === 'CertNotFound')
        log.info({ name }, 'a certificate is not wanted')
      else await this.#failed(item, error)
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', onStop)
      this.#working.delete(item.certificate)
    }
  }

  async #failed(item: Item, error: unknown): Promise<void> {
    const { handle, log, metrics } = this.#options
    const word = acmeFailure(error)
    const asked = error instanceof AcmeRefusal ? error.waitMs : 0
    const least = asked > 0 || word !== 'rateLimited' ? asked : limits.acme.rateLimitedMs
    const due = now() + Math.max(retryMs(item.attempts), least)
    metrics.acmeAttempts.labels(word).inc()
    const { servername: name, attempts } = item
    const reason = error instanceof Error ? error.message.slice(0, limits.acme.reasonLengthMax) : ''
    log.warn({ name, failure: word, reason, attempts, next: moment(due) }, 'no certificate could be fetched')
    if (word === 'account') this.#orders.forget()
    if (over.has(word)) await handle.keepOrder(item.certificate, null)
    if (everybody.has(word)) this.#restUntil = now() + Math.max(limits.acme.restMs, asked)
    await this.#keep(item, due, word)
  }

  async #keep(row: Omit<Item, 'due'>, due: number, failure: AcmeFailure | null): Promise<void> {
    const { certificate, expires, attempts } = row
    await this.#options.handle.keepProgress({ certificate, due, expires, attempts, failure })
    this.#due = Math.min(this.#due, due)
  }

  /** Certificates to fetch: names that were taken out of the settings are nobody's, wildcards somebody else's. */
  async #rows(): Promise<AcmeRow[]> {
    const rows = await this.#options.handle.list()
    return rows.filter(
      ({ servername, autogenerated }) =>
        this.#names.has(servername) || (autogenerated === 0 && acmeName(servername) === servername),
    )
  }

  async #next(): Promise<number> {
    const [first] = await this.#rows()
    this.#due = Math.max(first?.due ?? Number.POSITIVE_INFINITY, this.#restUntil)
    return this.#due
  }

  /** When a certificate is due that was never looked at, or that somebody else put in. */
  #firstDue({ servername, expires }: AcmeRow, at: number): number {
    const cert = this.#options.certificates.pair(servername)?.cert
    return cert === undefined || expires === null ? at : this.#renewal(cert, expires)
  }

  #renewal(cert: string, expires: number): number {
    const life = expires - new X509Certificate(cert).validFromDate.getTime()
    const before = Math.min(this.#options.settings.renewDays * limits.time.day, life / 3)
    return Math.floor(expires - before * (1 + jitter() / 10))
  }

  #client(): Agent {
    const { outward, settings } = this.#options
    const trust = settings.ca === '' ? {} : { ca: readFileSync(settings.ca, 'utf8') }
    const { inFlightMax: connectionsMax, answerBytesMax } = limits.acme
    this.#agent ??= outward.agent({ connectionsMax, answerBytesMax, ...trust })
    return this.#agent
  }

  #measure(): void {
    const { metrics } = this.#options
    metrics.observeEach(
      'certificate_expires_timestamp_seconds',
      'End of each certificate that ACME fetches',
      'name',
      async () =>
        (await this.#rows()).flatMap(({ servername, expires }) =>
          expires === null ? [] : [[servername, expires / 1000]],
        ),
    )
    metrics.observeEach('acme_failures', 'Failures in a row of each certificate that ACME fetches', 'name', async () =>
      (await this.#rows()).map(({ servername, attempts, failure }) => [
        servername,
        failure === null ? 0 : (attempts ?? 0),
      ]),
    )
  }
}

/** What is due later than this was planned while the clock was ahead. */
function latest({ attempts, expires }: AcmeRow, at: number): number {
  const { retriesMs, retryAfterMsMax, renewMsMin } = limits.acme
  if (attempts !== null && attempts > 0) return at + Math.max(2 * Math.max(...retriesMs), retryAfterMsMax)
  return Math.max(expires ?? 0, at + renewMsMin)
}

/** After these an order is of no use any more. */
const over: ReadonlySet<AcmeFailure> = new Set(['account', 'certificate', 'challenge', 'rejected'])
/** These are the same for every name. */
const everybody: ReadonlySet<AcmeFailure> = new Set([
  'account',
  'blocked',
  'refused',
  'reset',
  'server',
  'timeout',
  'tls',
  'unreachable',
  'unresolved',
])

function retryMs(attempts: number): number {
  const { retriesMs } = limits.acme
  const base = retriesMs[Math.min(attempts, retriesMs.length) - 1] ?? 0
  return Math.floor(base * (1 + jitter() / 5))
}

function moment(at: number): string {
  return new Date(at).toISOString()
}
