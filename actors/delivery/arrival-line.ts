// What the log says of a message that came in: who brought it, from whom and to whom, what was found out, and where it went; and
// the span of it: from its last byte to what became of it for each recipient.
//
// Subject and text are never among it. What strangers say is cut, and of many recipients the first are named. A span names no
// address of mail: a collector may stand elsewhere.

import { Fault } from '#lib/fault.ts'
import { cut, type Journal, type JournalFields } from '#lib/journal/journal.ts'
import { limits } from '#lib/limits.ts'
import type { Attributes } from '#lib/tracing/span.ts'
import type { Tracer } from '#lib/tracing/tracer.ts'
import { Disconnected } from '#net/disconnected.ts'
import type { Received } from '#store/bodies/bodies.ts'
import type { SpamPart } from '#store/mailboxes/messages.ts'
import type { Appended } from '../mailbox/append.ts'
import type { VerificationResults } from '../screening/verification.ts'
import type { Carried } from './decision.ts'
import type { DeliveryResult, Fate } from './envelope.ts'

interface Brought {
  readonly from: string
  readonly recipients: readonly { readonly address: string; readonly user?: string }[]
  readonly id: string
  readonly speaker: {
    readonly service: string
    readonly protocol: string
    readonly helo: string
    readonly remoteAddress: string
    readonly tls: { readonly protocol: string } | undefined
  }
}

interface Judged {
  readonly verification?: VerificationResults
  readonly score?: number
  readonly found?: readonly SpamPart[]
}

/** Takes down what is known of a message before it is delivered and its bytes are let go. */
export function arrivalOf(received: Received, { from, recipients, id, speaker }: Brought, user?: string) {
  const { service, protocol, helo, remoteAddress: ip, tls } = speaker
  const messageId = received.root.header.get('message-id')
  const named = recipients.slice(0, limits.journal.recipientsMax)
  const more = recipients.length - named.length
  const known: JournalFields = {
    ...{ id, service, protocol, helo: cut(helo) },
    ...(tls !== undefined && { tls: tls.protocol }),
    ...(user !== undefined && { user }),
    ...{ from: cut(from), size: received.size },
    ...(messageId !== undefined && { messageId: cut(messageId.trim()) }),
  }
  return {
    /** Each recipient has an outcome. */
    settled(journal: Journal, results: readonly DeliveryResult[], judged: Judged = {}): void {
      const to = named.map(({ address, user }, at) => {
        const result = results[at]
        const came = result === undefined ? {} : 'refused' in result ? { refused: reason(result.refused) } : result.fate
        return { address: cut(address), ...(user && { user }), ...came }
      })
      const rest = { ...verdicts(judged), to, ...(more > 0 && { more }) }
      const refused = results.every(result => 'refused' in result)
      journal.note('message', ip, { ...known, ...rest }, refused ? 'message refused' : 'message taken')
    },
    /** It was refused as a whole. */
    refused(journal: Journal, error: unknown): void {
      const to = named.map(({ address }) => ({ address: cut(address) }))
      const rest = { to, ...(more > 0 && { more }), refused: reason(error) }
      journal.note('message', ip, { ...known, ...rest }, 'message refused')
    },
  }
}

/** What is known of a message of which but a part came: `size` is of that, or what was announced. */
export function midway(from: string, recipients: Brought['recipients'], size: number): JournalFields {
  const [first] = recipients
  const more = recipients.length - 1
  return { from: cut(from), ...(first && { to: cut(first.address) }), ...(more > 0 && { more }), size }
}

const serverError = 500

/** Runs a delivery. `user` is the account that sends. @throws what it throws */
export async function traced(
  tracer: Tracer | undefined,
  received: Received,
  brought: Omit<Brought, 'from'>,
  user: string | undefined,
  deliver: () => Promise<DeliveryResult[]>,
): Promise<DeliveryResult[]> {
  if (tracer === undefined) return deliver()
  const begun = tracer.begin()
  const known = attributesOf(received, brought, user)
  const end = (error: unknown, refused: number) => {
    const reason = error === undefined ? undefined : error instanceof Fault ? error.code : 'InternalError'
    tracer.end(begun, {
      name: `${user === undefined ? 'receive' : 'submit'} ${brought.speaker.service}`,
      kind: 'server',
      attributes: { ...known, 'teal.recipients.refused': refused, 'error.type': reason },
      failed: error !== undefined && !(error instanceof Fault && error.status < serverError),
    })
  }
  try {
    const results = await deliver()
    const refused = results.filter(result => 'refused' in result)
    const [first] = refused
    end(refused.length === results.length && first && 'refused' in first ? first.refused : undefined, refused.length)
    return results
  } catch (error) {
    end(error, brought.recipients.length)
    throw error
  }
}

/** Taken down before the bytes are let go. */
function attributesOf(
  { size, root }: Received,
  { recipients, id, speaker }: Omit<Brought, 'from'>,
  user?: string,
): Attributes {
  const { service, remoteAddress, tls } = speaker
  return {
    'messaging.system': 'smtp',
    'messaging.operation.name': user === undefined ? 'receive' : 'submit',
    'messaging.operation.type': user === undefined ? 'receive' : 'send',
    'messaging.message.id': root.header.get('message-id')?.trim(),
    'messaging.message.body.size': size,
    'network.protocol.name': service === 'lmtp' ? 'lmtp' : 'smtp',
    'client.address': remoteAddress,
    'tls.protocol.version': tls?.protocol.replace(/^TLSv/, ''),
    'user.id': user,
    'teal.message.id': id,
    'teal.recipients': recipients.length,
  }
}

export type Settled = Exclude<DeliveryResult, { readonly refused: unknown }>

/** What became of a message that is in a folder. */
export function storedAs(stored: Appended & Partial<Carried>, score: number | undefined): Settled {
  const { queued, ...appended } = stored
  const action = appended.duplicate ? 'duplicate' : 'stored'
  const fate: Fate = { action, folder: appended.path, ...scored(score), ...(queued?.length && { queued }) }
  return { stored: appended, fate }
}

export function scored(score: number | undefined): { readonly score?: number } {
  return score === undefined ? {} : { score }
}

function reason(error: unknown): string {
  if (error instanceof Disconnected) return error.name
  return error instanceof Fault ? error.code : 'InternalError'
}

function verdicts({ verification, score, found = [] }: Judged): JournalFields {
  const parts = Object.fromEntries(found.map(part => [part.name, part.score]))
  const { spf, dkim, arc, dmarc } = verification ?? {}
  return {
    ...(spf !== undefined && { spf }),
    ...(dkim !== undefined && { dkim }),
    ...(arc !== undefined && { arc }),
    ...(dmarc !== undefined && { dmarc: dmarc.domain === false ? `fail (${dmarc.policy})` : dmarc.domain }),
    ...(score !== undefined && score > 0 && { authentication: score }),
    ...(found.length > 0 && { found: parts }),
  }
}
