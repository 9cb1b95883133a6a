// Other programs that look at mail as it comes in, where the configuration names them: rspamd, clamd, and the relay in front,
// whose X-Spam fields are heeded.
//
// What they say becomes named parts of the score (spam.ts); a virus is refused. Promises: a program that is down, slow or
// answers nonsense costs limits.spam.scanMs at most and no mail: its part is then missing, which is counted and logged.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { rangesOf } from '#lib/network.ts'
import type { Header } from '#mail/header/header.ts'
import { scanClamd } from '#net/outward/clamd.ts'
import { checkRspamd, type RspamdQuestion } from '#net/outward/rspamd.ts'
import type { Received } from '#store/bodies/bodies.ts'
import type { SpamPart } from '#store/mailboxes/messages.ts'

export interface ScannerOptions {
  /** URL of rspamd's worker; empty: none. */
  readonly rspamd: string
  /** Where clamd listens; empty: none. */
  readonly clamd: string
  /** Ranges (CIDR) of relays whose X-Spam fields are heeded. */
  readonly relays: readonly string[]
  readonly log: Log
  readonly metrics: Metrics
}

/** What an action of rspamd is worth (api-semantics 10.5). */
const points: Readonly<Record<string, number>> = {
  reject: 75,
  'rewrite subject': 50,
  'soft reject': 50,
  greylist: 50,
  'add header': 25,
}
const flagged = 50
/** What another program says is text, and stays on one line. */
const controls = /[\0-\x1f\x7f]+/g

export class Scanners {
  readonly #options: ScannerOptions
  readonly #isRelay: (address: string) => boolean

  constructor(options: ScannerOptions) {
    this.#options = options
    this.#isRelay = rangesOf(options.relays)
  }

  /** Whether what a host says of spam is trusted. */
  isRelay(address: string): boolean {
    return this.#isRelay(address)
  }

  /** Parts of the score, none where nobody is asked. @throws Fault VirusFound, and nothing else */
  async scan(received: Received, question: RspamdQuestion): Promise<SpamPart[]> {
    const { rspamd, clamd } = this.#options
    const said = this.#isRelay(question.ip) ? relayed(received.root.header) : undefined
    const [verdict, virus] = await Promise.all([
      rspamd === ''
        ? undefined
        : this.#ask('rspamd', async () => {
            return checkRspamd(rspamd, await beginning(received), question)
          }),
      clamd === '' ? null : this.#ask('clamd', () => scanClamd(clamd, received.stream())),
    ])
    if (typeof virus === 'string') {
      this.#options.log.warn({ virus, from: question.from }, 'a message with a virus was refused')
      throw new Fault('VirusFound')
    }
    const parts: SpamPart[] = []
    if (said !== undefined) parts.push(said)
    if (verdict !== undefined) {
      const info = [`${verdict.action} (${verdict.score})`, ...verdict.symbols].join(' ').replace(controls, ' ')
      parts.push({ name: 'rspamd', score: points[verdict.action] ?? 0, info })
    }
    return parts
  }

  async #ask<Value>(scanner: 'rspamd' | 'clamd', task: () => Promise<Value>): Promise<Value | undefined> {
    const { log, metrics } = this.#options
    try {
      const value = await task()
      metrics.scanned.labels(scanner, 'answered').inc()
      return value
    } catch (error) {
      metrics.scanned.labels(scanner, 'failed').inc()
      log.warn({ error, scanner }, 'a message was taken without having been scanned')
      return undefined
    }
  }
}

/** What the relay in front found. */
function relayed(header: Header): SpamPart | undefined {
  const flag = header.raw('x-spam-flag') ?? header.raw('x-spam') ?? ''
  const status = header.raw('x-spam-status') ?? ''
  if (flag === '' && status === '') return undefined
  const spam = /^\s*yes\b/i.test(flag) || /^\s*yes\b/i.test(status)
  const found = /\bscore\s?=\s?(-?\d{1,4}(?:\.\d{1,3})?)/i.exec(status)?.[1]
  return { name: 'relay', score: spam ? flagged : 0, ...(found !== undefined && { info: `score ${found}` }) }
}

async function beginning(received: Received): Promise<Buffer> {
  const { scannedBytesMax } = limits.spam
  const chunks: Buffer[] = []
  for await (const chunk of received.stream(0, Math.min(received.size, scannedBytesMax))) chunks.push(chunk)
  return Buffer.concat(chunks)
}
