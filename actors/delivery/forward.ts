// Forwarding: what of a message goes on to whom, and under which sender (api-semantics 8).
//
// The sender of what goes to addresses is rewritten (SRS), so that the next host believes it and a bounce finds back. What we
// do not know to be its author's is not signed as his; and where our own sender would prove it (SPF of the same
// organization, RFC 9989 4.4), it goes on as of who forwards it, as lists do. A message that went round before, or has been through too many hosts, is not forwarded; it is stored all the same. The
// daily limit is kept to the message: of too many targets the first that fit are served.

import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { mailboxes, normalizeAddress, splitAddress } from '#mail/address/address.ts'
import { parseAddresses } from '#mail/address/address-list.ts'
import { rewriteSender, type SrsKey } from '#mail/address/srs.ts'
import { namesAuthorsClearly } from '#mail/header/authored.ts'
import type { Header } from '#mail/header/header.ts'
import { madeMessageId } from '#mail/header/message-id.ts'
import { mailDate } from '#mail/made/dsn.ts'
import { isLooping, loopHeader } from '#mail/made/loop.ts'
import { isAligned } from '#mail/origin/verification.ts'
import type { Counters } from '#store/folder/counters.ts'
import type { OutboundOptions } from '#store/sending/outbound.ts'
import type { Prepared } from '../mailbox/append.ts'
import type { Outgoing, OutgoingTarget } from '../sending/outgoing.ts'
import { readTarget } from '../sending/outgoing.ts'

/** Counters that may be lost (store/folder/cache.ts). */

export interface ForwardKeys {
  readonly srs: SrsKey
  /** Keys the header that finds loops. */
  readonly loopSecret: string
  readonly hostname: string
}

export interface ForwardRequest {
  /** Id of the account or of the forwarded address it is done for. */
  readonly owner: string
  /** Id of the account; null for a forwarded address. */
  readonly user: string | null
  /** The address that got the message. */
  readonly address: string
  readonly from: string
  readonly header: Header
  readonly prepared: Prepared
  /** Header lines that came on top of the body. */
  readonly prefix: string
  readonly targets: readonly string[]
  /** Messages a day. */
  readonly allowed: number
  /** Keys of addresses that belong to the owner. */
  readonly own: ReadonlySet<string>
  /** Relay of the account, which takes mail under any sender. */
  readonly relay?: string | undefined
  readonly trust: Trust
  /** It came with REQUIRETLS, and goes on with it (RFC 8689 6). */
  readonly requireTls?: boolean | undefined
  /** It goes on by itself, as its owner wants all such mail to. */
  readonly standing?: boolean | undefined
  /** Its owner has it here, too. */
  readonly kept?: boolean | undefined
  /** It goes out as of who forwards it, whoever stands in From. */
  readonly asOwn?: boolean
  /** The sender is who forwards it, and his domain sends from here. */
  readonly ownSender?: boolean
}

/**
 * What is known of From. `ours`: its author sent it from here (sent-form.ts). `theirs`: somebody vouches for it who is asked
 * elsewhere, by a signature or as the server in front of this one. `nobody`: a stranger says so.
 */
export type Trust = 'ours' | 'theirs' | 'nobody'

export interface ForwardPlan {
  readonly outgoing: readonly Outgoing[]
  readonly targets: readonly OutgoingTarget[]
  /** Why nothing, or not everything, is forwarded. */
  readonly reason?: 'loop' | 'itself' | 'daily-limit'
}

/** Works out what is to be queued, and counts it. */
export async function planForward(
  request: ForwardRequest,
  keys: ForwardKeys,
  throttle: Counters,
): Promise<ForwardPlan> {
  const { header, owner, from } = request
  const all = request.targets.flatMap(text => known(text))
  const targets = all.filter(({ kind, value }) => kind !== 'mail' || !request.own.has(normalizeAddress(value).key))
  if (targets.length === 0) return { outgoing: [], targets: [], ...(all.length > 0 && { reason: 'itself' as const }) }
  if (isLooping(header, keys.loopSecret, owner)) return { outgoing: [], targets: [], reason: 'loop' }
  const left = await throttle.draw('forwards', owner, limits.time.day, request.allowed, targets.length)
  const taken = targets.slice(0, left)
  if (taken.length === 0) return { outgoing: [], targets: [], reason: 'daily-limit' }
  const foreign = request.relay === undefined && from !== '' && request.ownSender !== true
  const rewritten = foreign ? rewriteSender(from, keys.srs, now()) : from
  const mail = taken.filter(({ kind }) => kind === 'mail')
  const other = taken.filter(({ kind }) => kind !== 'mail')
  const outgoing = [
    ...(mail.length > 0 ? [outgoingOf(request, keys, rewritten, mail)] : []),
    ...(other.length > 0 ? [outgoingOf(request, keys, from, other)] : []),
  ]
  return { outgoing, targets: taken, ...(taken.length < targets.length && { reason: 'daily-limit' as const }) }
}

/** Stored targets were checked once; one that is none any more is passed over. */
function known(text: string): OutgoingTarget[] {
  try {
    return [readTarget(text)]
  } catch {
    return []
  }
}

function outgoingOf(request: ForwardRequest, keys: ForwardKeys, from: string, targets: OutgoingTarget[]): Outgoing {
  const { header, user, owner, address, prepared, relay } = request
  const own = targets.some(({ kind }) => kind === 'mail') && goesAsOwn(request, keys)
  const options: OutboundOptions = {
    forwardedFor: address,
    messageId: prepared.messageId,
    ...(from !== request.from && { originalSender: request.from }),
    ...(relay !== undefined && { relay }),
    trust: request.trust,
    ...(request.requireTls === true && { requireTls: true }),
    ...(request.standing === true && { standing: true }),
    ...(request.kept === true && { kept: true }),
    ...(own && { author: { name: `${authorOf(header)} via ${address}`, address } }),
  }
  const added = [
    loopHeader(keys.loopSecret, owner),
    ...(header.has('date') ? [] : [`Date: ${mailDate(now())}\r\n`]),
    ...(header.has('message-id') ? [] : [`Message-ID: ${prepared.messageId || madeMessageId(keys.hostname, '')}\r\n`]),
    `X-Forwarded-For: ${printable(address)}\r\n`,
    ...(from === request.from ? [] : [`X-Original-Sender: ${printable(request.from)}\r\n`]),
  ]
  return { user, from, targets, prepared, prefix: added.join('') + request.prefix, origin: 'forward', options }
}

/** Whether another host would take it for its author's because it came from us. */
function goesAsOwn({ header, trust, relay, asOwn }: ForwardRequest, { srs }: ForwardKeys): boolean {
  if (asOwn === true) return true
  if (trust !== 'nobody' || relay !== undefined) return false
  if (!namesAuthorsClearly(header)) return true
  const authors = mailboxes(parseAddresses(header.rawAll('from').join(', ')))
  const domains = new Set(authors.map(({ address }) => splitAddress(address).domain).filter(domain => domain !== ''))
  return [...domains].slice(0, limits.compose.authorsMax).some(domain => isAligned(domain, srs.domain))
}

/** Who wrote it, as people know him. */
function authorOf(header: Header): string {
  const [author] = mailboxes(parseAddresses(header.raw('from') ?? ''))
  const name = author?.name ?? ''
  return name === '' || name.includes('@') ? splitAddress(author?.address ?? '').local || 'Somebody' : name
}

function printable(address: string): string {
  return address.replace(/[\x00-\x20\x7f]/g, '')
}
