// Mail that another server brings is looked at before it is dropped: is it from whom it says (mail/crypt/verification.ts)?
//
// What is found goes with the message and is shown with it; nothing is refused for it unless the configuration says that
// the sender domain's own policy is heeded. Whatever goes wrong in here, and however long DNS takes, the message is taken,
// no later than limits.verify.totalMs: it then counts as not looked at.

import { within } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Verified, VerifyInput } from '#mail/crypt/verification.ts'
import type { Pools } from '#pool'
import type { Received } from '#store/bodies/bodies.ts'

/** As the API shows it (wire-shapes, verificationResults). */
export interface VerificationResults extends Partial<Omit<Verified, 'results'>> {
  readonly tls: { readonly name: string; readonly version: string } | false
}

export interface VerifierOptions {
  readonly pool: Pools['verify']
  readonly hostname: string
  /** Whether what the sender domain asks for is done: refused, or taken for junk. */
  readonly heed: boolean
  readonly log: Log
}

/** Who brought a message, and how. */
export interface Bringer {
  readonly remoteAddress: string
  readonly helo: string
  readonly tls: { readonly protocol: string; readonly cipher: string } | undefined
}

export interface Judged {
  readonly verification: VerificationResults
  /** What it makes of the message, 0 to 100 (api-semantics 10.5). */
  readonly score: number
  /** For Authentication-Results. */
  readonly results: readonly string[]
}

const quarantineScore = 50
const mappedPrefix = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i

export class Verifier {
  readonly #options: VerifierOptions

  constructor(options: VerifierOptions) {
    this.#options = options
  }

  /**
   * What is to be known of a message before it is dropped; without `asks` only what needs no question.
   *
   * @throws Fault SenderRefused, and nothing else
   */
  async judge(received: Received, sender: string, { remoteAddress, helo, tls }: Bringer, asks = true): Promise<Judged> {
    const { hostname, heed } = this.#options
    const secured = tls === undefined ? (false as const) : { name: tls.cipher, version: tls.protocol }
    if (!asks) return { verification: { tls: secured }, score: 0, results: [] }
    const ip = remoteAddress.replace(mappedPrefix, '')
    const found = await this.#ask({ message: await messageOf(received), ip, helo, sender, hostname })
    const failed = found?.dmarc?.domain === false ? found.dmarc.policy : 'none'
    if (heed && failed === 'reject') throw new Fault('SenderRefused')
    const { results = [], ...shown } = found ?? {}
    const score = heed && failed === 'quarantine' ? quarantineScore : 0
    return { verification: { tls: secured, ...shown }, score, results }
  }

  async #ask(input: VerifyInput): Promise<Verified | undefined> {
    const { pool, log } = this.#options
    const { totalMs } = limits.verify
    try {
      return await within(totalMs, pool.run('verify', input), () => new Fault('TimedOut'))
    } catch (error) {
      if (!(error instanceof Fault)) log.warn({ error }, 'the origin of a message could not be looked at')
      return undefined
    }
  }
}

/** The message, where it and what it asks for are not too much. */
async function messageOf(received: Received): Promise<Uint8Array | null> {
  const { messageBytesMax, signaturesMax } = limits.verify
  const signatures = received.root.header.fields.filter(({ key }) => key === 'dkim-signature').length
  if (received.size > messageBytesMax || signatures > signaturesMax) return null
  const chunks: Buffer[] = []
  for await (const chunk of received.stream()) chunks.push(chunk)
  return Buffer.concat(chunks)
}
