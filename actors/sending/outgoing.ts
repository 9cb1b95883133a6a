// Putting a message on its way out: in the same unit as whatever sends it, so that neither is there without the other.
//
// Front ends run `queueMessage` on the sender's handle, or call `queue` from a turn of their own that also stores the
// message in Sent. The message was composed, received by the body store and prepared before the turn. Nothing is sent
// here; jobs/relay/relay.ts does that, kicked after the commit. Limits are for the caller to check (`checkRecipients`).

import { Fault, invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { isClear, maskUrl } from '#lib/secret/url-secret.ts'
import { domainOf, isAddress } from '#mail/address/address.ts'
import { bodyAdd } from '#store/bodies/writes.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import { type Operation, operation, type Write } from '#store/engine/write.ts'
import { outlineInsert, outlineWeight } from '#store/mailboxes/outlines.ts'
import {
  countCancelled,
  findOutbound,
  listTargets,
  type Origin,
  type OutboundOptions,
  outboundCancel,
  outboundHold,
  outboundInsert,
  outboundOptions,
  outboundRetry,
  queueId,
  queueNumber,
  type TargetRow,
  targetState,
} from '#store/sending/outbound.ts'
import { outboundLanes } from '#store/sending/outbound-waiting.ts'
import { findPause } from '#store/sending/pause.ts'
import type { DirectoryCommand } from '../admin/directory.ts'
import type { ActorSystem, UserHandle } from '../kernel/system.ts'
import type { Prepared } from '../mailbox/append.ts'
import type { UserCommand } from '../user/user.ts'

/** Where a copy goes: an address, an smtp(s) relay, or an http(s) URL that takes it as a form. */
export interface OutgoingTarget {
  readonly kind: TargetRow['kind']
  readonly value: string
}

export interface Outgoing {
  /** Id of the account it is sent for, who may look at it and take it back; null for the service itself. */
  readonly user: string | null
  /** Envelope sender; empty for the null sender. */
  readonly from: string
  readonly targets: readonly OutgoingTarget[]
  readonly prepared: Pick<Prepared, 'body' | 'row' | 'weight' | 'size' | 'outline'>
  /** Header lines put on top of the message, each with its CRLF. */
  readonly prefix?: string
  readonly origin: Origin
  /** Not before this moment, milliseconds since 1970; at once where absent. */
  readonly sendTime?: number | null | undefined
  readonly options?: OutboundOptions
}

export interface Queued {
  /** 18 hexadecimal digits. */
  readonly queueId: string
  readonly num: number
}

/** What `queue` needs of a turn. */
export interface QueueTurn {
  readonly sequence: Sequence
  readonly now: number
  write<Row>(write: Write<Row>, row: Row, bytes?: number): void
  /** Has the loops of src/jobs look for work after the commit. */
  wake(): void
}

/** Adds a message to the queue in this turn's unit. */
export function queue(turn: QueueTurn, outgoing: Outgoing): Queued {
  const { prepared, prefix = '', from, user, origin, options = {}, sendTime } = outgoing
  const num = turn.sequence.next('outbound')
  turn.write(bodyAdd, prepared.row, prepared.weight)
  turn.write(outlineInsert, { body: prepared.body, ...prepared.outline }, outlineWeight(prepared.outline))
  turn.write(
    outboundInsert,
    {
      ...{ num, user, sender: from, origin, body: prepared.body, prefix },
      size: prepared.size + Buffer.byteLength(prefix),
      created: turn.now,
      options: sendTime ? { ...options, notBefore: sendTime } : options,
      due: Math.max(turn.now, sendTime ?? 0),
      targets: outgoing.targets.map(target => ({ ...target, destination: destinationOf(target, options.relay) })),
    },
    300 + 120 * outgoing.targets.length,
  )
  turn.wake()
  return { queueId: queueId(num), num }
}

/** The same as operations of a unit that no actor makes. */
export function queueOperations(sequence: Sequence, now: number, outgoing: Outgoing): Operation[] {
  const operations: Operation[] = []
  queue({ sequence, now, write: (write, row) => void operations.push(operation(write, row)), wake: () => {} }, outgoing)
  return operations
}

/** Queues a message for the account and nothing else. */
export const queueMessage: UserCommand<Outgoing, Queued> = {
  name: 'outgoing.queue',
  pipelined: true,
  run: (turn, outgoing) => queue(turn, outgoing),
}

/** Takes back what of a queued message nobody is sending yet. */
export const cancelCommand: UserCommand<{ num: number }, void> = {
  name: 'outgoing.cancel',
  async run(turn, { num }) {
    await requireOwn(turn, num)
    turn.write(outboundCancel, { message: num, at: turn.now })
  },
}

/** Has what waits of a queued message tried now. @throws Fault NoSuchQueueEntry, SendingPaused */
export const retryOutgoing: UserCommand<{ num: number }, void> = {
  name: 'outgoing.retry',
  async run(turn, { num }) {
    await requireOwn(turn, num)
    const pause = await findPause(turn.read, turn.state.id)
    if (pause !== undefined && pause.resumed === null) throw new Fault('SendingPaused')
    turn.write(outboundRetry, { message: num, at: turn.now })
    turn.wake()
  },
}

async function requireOwn(turn: Parameters<typeof cancelCommand.run>[0], num: number): Promise<void> {
  const message = await findOutbound(turn.read, num)
  if (message === undefined || message.user !== turn.state.id) throw new Fault('NoSuchQueueEntry')
}

/** The same of a message of anybody's, or of nobody's. */
export const cancelAnyCommand: DirectoryCommand<{ num: number }, void> = {
  name: 'outgoing.cancel-any',
  run: (turn, { num }) => turn.write(outboundCancel, { message: num, at: turn.now }),
}

/** Has what waits of anybody's message tried now. @throws Fault NoSuchQueueEntry where nothing waits */
export const retryAnyOutgoing: DirectoryCommand<{ num: number }, void> = {
  name: 'outgoing.retry-any',
  async run(turn, { num }) {
    await requireWaiting(turn.read, num)
    turn.write(outboundRetry, { message: num, at: turn.now })
    turn.wake()
  },
}

/** Holds what waits of anybody's message until it is retried. @throws Fault NoSuchQueueEntry where nothing waits */
export const holdAnyOutgoing: DirectoryCommand<{ num: number }, Promise<void>> = {
  name: 'outgoing.hold',
  async run(turn, { num }) {
    await requireWaiting(turn.read, num)
    turn.write(outboundHold, { message: num })
  },
}

/** Sends what waits of anybody's message by a relay (sealed URL), or with null the usual way, and now. @throws the same */
export const routeAnyOutgoing: DirectoryCommand<{ num: number; relay: string | null }, Promise<void>> = {
  name: 'outgoing.route',
  async run(turn, { num, relay }) {
    await requireWaiting(turn.read, num)
    const { relay: _, ...rest } = (await findOutbound(turn.read, num))?.options ?? {}
    turn.write(outboundOptions, { num, options: relay === null ? rest : { ...rest, relay } })
    const lanes = (await listTargets(turn.read, num)).map(target => ({
      ...{ message: num, seq: target.seq, destination: destinationOf(target, relay ?? undefined) },
    }))
    turn.write(outboundLanes, lanes)
    turn.write(outboundRetry, { message: num, at: turn.now })
    turn.wake()
  },
}

async function requireWaiting(read: Reader, num: number): Promise<void> {
  const targets = await listTargets(read, num)
  if (!targets.some(({ state }) => state === targetState.waiting)) throw new Fault('NoSuchQueueEntry')
}

/**
 * Takes a queued message of the account back; targets that are being sent to at this moment stay.
 *
 * @returns how many targets were taken back
 * @throws Fault NoSuchQueueEntry where the account has no such message in the queue, or nothing of it waits any more
 */
export async function cancelOutgoing(handle: UserHandle, id: string, signal?: AbortSignal): Promise<number> {
  const num = queueNumber(id)
  return takenBack(handle.read, num, () => handle.run(cancelCommand, { num }, signal))
}

/** The same of a message of anybody's, or of nobody's. @throws as `cancelOutgoing` */
export async function cancelAnyOutgoing(system: ActorSystem, id: string): Promise<number> {
  const num = queueNumber(id)
  return takenBack(system.read, num, () => system.directory.run(cancelAnyCommand, { num }))
}

/** Counted by what it did, since a target may be taken to be sent to at any moment. */
async function takenBack(read: Reader, num: number, cancel: () => Promise<void>): Promise<number> {
  const before = await countCancelled(read, num)
  await cancel()
  const count = (await countCancelled(read, num)) - before
  if (count === 0) throw new Fault('NoSuchQueueEntry')
  return count
}

/**
 * A target as people write it: an address, or a URL of smtp:, smtps:, http: or https:.
 *
 * @throws Fault InputValidationError
 */
export function readTarget(text: string, field = 'targets'): OutgoingTarget {
  const value = text.trim()
  const scheme = /^([a-z]+):/i.exec(value)?.[1]?.toLowerCase()
  // A sealed password is longer than it was when it was given.
  const length = isClear(value) ? value.length : maskUrl(value).length
  if (scheme !== undefined && length <= limits.webhook.urlLengthMax && URL.canParse(value)) {
    if (new URL(value).hostname === '') throw invalid(field, 'must name a host')
    if (scheme === 'http' || scheme === 'https') return { kind: 'http', value }
    if (scheme === 'smtp' || scheme === 'smtps') return { kind: 'relay', value }
  }
  if (isAddress(value)) return { kind: 'mail', value }
  throw invalid(field, 'must be an address or a URL of smtp, smtps, http or https')
}

/** Addresses as targets, each once. */
export function mailTargets(addresses: readonly string[]): OutgoingTarget[] {
  return [...new Set(addresses)].map(value => ({ kind: 'mail', value }))
}

/**
 * Where a target leads; targets of one destination share connections and wait for each other.
 *
 * @param relay of the account, which takes what goes to addresses: one that is out of reach holds up its own mail alone
 */
function destinationOf({ kind, value }: OutgoingTarget, relay = ''): string {
  if (kind === 'mail' && relay === '') return domainOf(value)
  const url = new URL(kind === 'mail' ? relay : value)
  return `${url.protocol}//${url.host}`
}
