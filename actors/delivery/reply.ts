// Answering by itself, for an account or for an address that only forwards: whether this message is answered now, and the
// answer ready to be queued (api-semantics 7; what may be answered is in mail/made/autoreply.ts). An address that was found gone,
// or that nobody is to write to (store/sending/suppression.ts), is not answered either.
//
// A sender is marked before anything is written, so that two messages at once get one answer; `undo` takes that back where
// the answer was not queued after all. Nothing in here fails a delivery.

import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { normalizeAddress } from '#mail/address/address.ts'
import type { Header } from '#mail/header/header.ts'
import { addressees, type NoReply, noReply, type ReplyForm, replyInput } from '#mail/made/autoreply.ts'
import { compose } from '#mail/made/compose.ts'
import { resolveAddress } from '#store/accounts/address.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import type { Counters } from '#store/folder/counters.ts'
import type { Settings } from '#store/folder/settings.ts'
import { findSuppressed } from '#store/sending/suppression.ts'
import type { Actors } from '../kernel/system.ts'
import type { Outgoing } from '../sending/outgoing.ts'
import type { ForwardKeys } from './forward.ts'
import { prepare } from './prepare.ts'

export interface ReplyDeps {
  readonly system: Pick<Actors, 'read'>
  readonly sequence: Numbers
  readonly settings: Settings
  readonly bodies: Bodies
  readonly throttle: Counters
  readonly keys: ForwardKeys
  readonly log: Log
}

export interface ReplyRequest {
  /** Id of the account or of the forwarded address: answers of a day are counted for it. */
  readonly owner: string
  /** Id of the account; null for a forwarded address. */
  readonly user: string | null
  /** Of the autoreply: whom it has answered lately is kept for it. */
  readonly id: string
  readonly form: ReplyForm
  readonly start: number | null
  readonly end: number | null
  /** The address that got the message. */
  readonly address: string
  /** Keys of addresses that belong to the owner. */
  readonly own: ReadonlySet<string>
  readonly header: Header
  /** Envelope sender. */
  readonly from: string
  /** Its domain says that it is not its: an answer would go to whoever has the address (RFC 3834 8). */
  readonly forged?: boolean | undefined
  /** It came with REQUIRETLS, and so goes the answer, which quotes it (RFC 8689 6). */
  readonly requireTls?: boolean | undefined
}

export interface Reply {
  /** Why there is no answer. */
  readonly reason?: NoReply
  readonly outgoing?: Outgoing
  /** Puts back what was counted, where the answer is not queued. */
  undo(): void
  /** When the unit that queues it has settled. */
  discard(): Promise<void>
}

/** Why nobody is answered, as a reply. */
export function unanswered(reason: NoReply): Reply {
  return { reason, undo: () => {}, discard: async () => {} }
}

/** Works out the answer. Never throws. */
export async function planReply(deps: ReplyDeps, request: ReplyRequest): Promise<Reply> {
  const { throttle, settings, log, system } = deps
  const { owner, id, from, user } = request
  const reason = await reasonOf(system.read, request)
  if (reason !== undefined) return unanswered(reason)
  if ((await findSuppressed(system.read, user ?? '', from, now())) !== undefined) return unanswered('address-gone')
  const interval = settings.get('const:autoreply:interval')
  const { used } = await throttle.counted('autoreplies', owner)
  if (used >= limits.autoreply.dayMax) return unanswered('too-many')
  const mark = `${id} ${normalizeAddress(from).key}`
  if (interval > 0 && !(await throttle.mark('autoreply', mark, interval))) return unanswered('answered-lately')
  const undo = () => throttle.remove('autoreply', mark)
  try {
    const { received, outgoing } = await write(deps, request)
    await throttle.count('autoreplies', owner, limits.time.day)
    return { outgoing, undo, discard: () => received.discard() }
  } catch (error) {
    undo()
    log.warn({ error, owner }, 'an autoreply could not be written')
    return unanswered('off')
  }
}

/** Why it is not answered, by what the message says. */
async function reasonOf(read: Reader, request: ReplyRequest): Promise<NoReply | undefined> {
  const { from, header, own, owner } = request
  const question = { ...request, sender: from, now: now() }
  const reason = noReply(question)
  if (reason !== undefined && reason !== 'not-addressed') return reason
  // Addresses may also be the owner's by an alias of their domain, or by a wildcard.
  const named = reason === undefined ? [] : addressees(header).slice(0, limits.autoreply.namedMax)
  const more = new Set(own)
  for (const address of [from, ...named]) {
    const found = await resolveAddress(read, address, true)
    if (found !== undefined && (found.user ?? found.id) === owner) more.add(normalizeAddress(address).key)
  }
  return noReply({ ...question, own: more })
}

async function write(
  { bodies, sequence, keys }: ReplyDeps,
  { form, header, from, address, user, requireTls }: ReplyRequest,
): Promise<{ received: Received; outgoing: Outgoing }> {
  const input = replyInput(form, header, from, address)
  const { message, messageId } = await compose(input, { hostname: keys.hostname, date: now() })
  const received = await bodies.receive(message)
  const prepared = await prepare(received, sequence)
  const targets = [{ kind: 'mail' as const, value: from }]
  const options = { messageId, ...(requireTls === true && ({ requireTls } as const)) }
  return { received, outgoing: { user, from: '', targets, prepared, origin: 'autoreply', options } }
}
