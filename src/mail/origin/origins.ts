// Who brings mail, and from whom it is: everything that is asked of DNS about a message, with what was found for others before.
//
// One of these is where mail arrives (actors/screening/verification.ts), another on the thread for what a stranger made costly
// (workers/verify.ts). Never throws; what it costs and remembers is bounded by limits.verify.

import { limits } from '#lib/limits.ts'
import type { SpamText } from '../spam/features.ts'
import { type ListZones, Standings } from '../spam/standing.ts'
import { DnsAnswers, type Resolve } from './dns-answers.ts'
import type { Looked } from './signed.ts'
import { type Envelope, knownOrigins, type Verified, verifyOrigin } from './verification.ts'

export interface OriginsOptions {
  readonly resolve: Resolve
  /** Addresses of the resolver that answers, with or without a port. */
  readonly servers: readonly string[]
  readonly lists: ListZones
}

/** A message as it is looked at. */
export interface Brought extends Looked {
  /** What can be read in it. */
  texts(): Promise<SpamText['texts']>
}

export class Origins {
  readonly #answers: DnsAnswers
  readonly #standings: Standings
  readonly #known = knownOrigins()

  constructor({ resolve, servers, lists }: OriginsOptions) {
    this.#answers = new DnsAnswers(resolve)
    this.#standings = new Standings((name, type) => this.#answers.ask(name, type), lists, servers)
  }

  /** How much is remembered, by what it is. */
  get sizes(): Readonly<Record<'dns' | 'spf' | 'dmarc' | 'bimi' | 'standing', number>> {
    const { hosts, policies, marks } = this.#known
    const of = { spf: hosts.size, dmarc: policies.size, bimi: marks.size }
    return { dns: this.#answers.size, ...of, standing: this.#standings.size }
  }

  async of(message: Brought, envelope: Envelope): Promise<Verified> {
    const { ip, helo, hostname } = envelope
    const [found, standing] = await Promise.all([
      verifyOrigin(message, envelope, (name, type) => this.#answers.ask(name, type), this.#known),
      this.#standings.of({ ip, helo, hostname, texts: () => message.texts() }),
    ])
    return { ...found, standing }
  }
}

/** Whether looking at a message costs little, by its header: what a stranger made costly is looked at elsewhere. */
export function isPlain(header: Buffer): boolean {
  const { plainHeaderBytesMax, plainSignaturesMax, plainFieldsMax } = limits.verify
  if (header.length > plainHeaderBytesMax) return false
  const text = header.toString('latin1')
  let fields = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) fields += 1
  if (fields > plainFieldsMax) return false
  const signatures = text.match(/^(?:dkim-signature|arc-(?:seal|message-signature))[ \t\r\n]*:/gim)
  return (signatures?.length ?? 0) <= plainSignaturesMax
}
