// Reads mail that may have come back (mail/report/bounce.ts), on a thread, finds the message of ours that it is about, and records what
// it says: with the message, for subscribers, and where it is proven and final, for addresses that are gone.
//
// Proven is what names the mark of that message and destination, or came to the keyed sender of that forward: only hosts that got the
// message can. Whoever else knows a Message-ID may have it recorded as unproven, and nothing else follows from it.

import type { EventName } from '#actors/kernel/events.ts'
import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { bounceTask, type ReturnedMail } from '#actors/sending/returned-arrival.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { BouncedRecipient } from '#mail/report/answer.ts'
import type { Bounce } from '#mail/report/bounce.ts'
import { isReturnMark } from '#mail/report/return-mark.ts'
import type { Pools } from '#pool'
import type { Task } from '#store/accounts/task.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import { type EventRow, eventInsert } from '#store/events/event.ts'
import type { Settings } from '#store/folder/settings.ts'
import { readDetail } from '#store/mailboxes/outlines.ts'
import { bouncePut } from '#store/sending/bounce.ts'
import {
  findOutbound,
  findSent,
  listTargets,
  type Outbound,
  queueId,
  queueNumber,
  type Target,
} from '#store/sending/outbound.ts'
import { suppressionKey } from '#store/sending/suppression.ts'
import type { TaskRun, Tasks } from '../tasks/tasks.ts'
import { gone, type Said, shownTarget, troubleOperations, troublesOf } from './outcome.ts'
import { anyDestination, placeOf } from './return-path.ts'

export interface BounceReadingDeps {
  readonly read: Reader
  readonly writer: JobWriter
  readonly sequence: Sequence
  readonly settings: Settings
  readonly bodies: Bodies
  readonly pools: Pick<Pools, 'keys'>
  readonly log: Log
  readonly metrics: Metrics
  /** Keys the marks. */
  readonly secret: string
  readonly wanted: (name: EventName) => boolean
  readonly kick: () => void
}

export function handleBounces(tasks: Tasks, deps: BounceReadingDeps): void {
  tasks.handle(bounceTask, (task, run) => readReturned(deps, task, run))
}

async function readReturned(deps: BounceReadingDeps, { input }: Task, { signal }: TaskRun) {
  const { metrics } = deps
  const returned = input as unknown as ReturnedMail
  const bounce = returned.read ?? (await readStored(deps, returned.body, signal))
  if (bounce === null) return { recipients: 0 }
  const found = await aboutWhich(deps, returned, bounce)
  if (found === undefined) {
    metrics.bounces.labels('foreign').inc()
    return { recipients: 0 }
  }
  const recipients = await record(deps, bounce, found)
  return { queueId: queueId(found.message.num), recipients }
}

async function readStored(deps: BounceReadingDeps, num: number, signal: AbortSignal): Promise<Bounce | null> {
  // Deleted meanwhile.
  if ((await readDetail(deps.read, num)) === undefined) return null
  const body = await deps.bodies.open(num)
  const data = Buffer.from(await body.read(0, Math.min(body.size, limits.bounce.bytesMax)))
  return readOn(deps, data, signal)
}

async function readOn({ pools, log }: BounceReadingDeps, data: Buffer, signal: AbortSignal): Promise<Bounce | null> {
  try {
    return await pools.keys.run('bounce', { data }, { signal })
  } catch (error) {
    // Too much to do now passes; that the thread had to be ended does not.
    if (error instanceof Fault && error.code === 'Overloaded') throw error
    log.info({ why: String(error) }, 'mail that came back could not be read')
    return null
  }
}

interface About {
  readonly message: Outbound
  readonly targets: readonly Target[]
  /** Those for which it is proven. */
  readonly proven: readonly Target[]
}

async function aboutWhich({ read, secret }: BounceReadingDeps, returned: ReturnedMail, bounce: Bounce) {
  const { users } = returned
  if (returned.message !== 0) {
    const message = await findOutbound(read, returned.message)
    if (message === undefined) return undefined
    const targets = await listTargets(read, message.num)
    return { message, targets, proven: targets } satisfies About
  }
  for (const mark of bounce.marks) {
    const message = await findOutbound(read, queueNumber(mark.queueId))
    // What an account did not send did not come back to it.
    if (message === undefined || message.user === null || !users.includes(message.user)) continue
    const targets = await listTargets(read, message.num)
    const whole = targets.length === 1 && isReturnMark(secret, mark, anyDestination)
    const proven = targets.filter(target => whole || isReturnMark(secret, mark, placeOf(target)))
    if (proven.length > 0) return { message, targets, proven } satisfies About
  }
  if (bounce.messageId === '') return undefined
  for (const user of users) {
    const message = await findSent(read, user, bounce.messageId, limits.bounce.amongMax)
    if (message !== undefined)
      return { message, targets: await listTargets(read, message.num), proven: [] } satisfies About
  }
  return undefined
}

/** Records what is said of each recipient that can be told; gives how many. */
async function record(deps: BounceReadingDeps, bounce: Bounce, about: About): Promise<number> {
  const { writer, metrics, kick } = deps
  const at = now()
  const said = recipientsOf(bounce, about)
  if (said.length === 0) return 0
  const operations = said.flatMap(one => [
    operation(bouncePut, {
      ...{ message: about.message.num, seq: one.target?.seq ?? 0, kind: one.recipient.kind, at },
      ...{ address: one.recipient.address, final: one.recipient.final, status: one.recipient.status },
      ...{ response: one.recipient.text, reporter: bounce.reporter.slice(0, limits.bounce.addressLengthMax) },
      proven: one.proven,
    }),
    ...eventOf(deps, about.message, one, at),
    ...suppressed(deps, about, one, at),
  ])
  const failed: Said[] = said.flatMap(({ target, recipient, proven }) => {
    if (target === undefined || !proven || !recipient.final) return []
    return [{ target, state: 'failed' as const, code: null, text: recipient.text, asked: true }]
  })
  const troubles = await troublesOf(deps, about.message, failed, at)
  const marked = await troubleOperations(deps, about.message, {
    ...{ said: [], troubles, at },
    // It lies in the owner's mailbox as it came.
    told: new Set(troubles.map(one => one.said.target)),
  })
  await writer.submit({ operations: [...operations, ...marked], bytes: 500 * said.length })
  kick()
  for (const one of said) metrics.bounces.labels(one.proven ? one.recipient.kind : 'unproven').inc()
  return said.length
}

interface SaidOf {
  readonly recipient: BouncedRecipient
  /** Undefined where it is about an address to which one of the targets led. */
  readonly target: Target | undefined
  readonly proven: boolean
  /** Whether the address that is spoken of is the target's own. */
  readonly same: boolean
}

function recipientsOf({ recipients }: Bounce, { targets, proven }: About): SaidOf[] {
  const named = new Map(targets.filter(({ kind }) => kind === 'mail').map(one => [suppressionKey(one.value), one]))
  const [only] = proven
  return recipients.flatMap(recipient => {
    const own = named.get(suppressionKey(recipient.address))
    const target =
      own ?? named.get(suppressionKey(recipient.original ?? '')) ?? (proven.length === 1 ? only : undefined)
    if (target === undefined) return []
    return [{ recipient, target, proven: proven.includes(target), same: own !== undefined }]
  })
}

function eventOf(
  { sequence, wanted }: BounceReadingDeps,
  { num, user }: Outbound,
  one: SaidOf,
  at: number,
): Operation[] {
  if (!wanted('message.bounced')) return []
  const { recipient, target, proven } = one
  const { kind, status, text: response, final } = recipient
  const body = {
    ...(user !== null && { user }),
    ...{ queueId: queueId(num), recipient: target === undefined ? recipient.address : shownTarget(target) },
    ...{ kind, status, response, final, reported: true, proven },
  }
  const row: EventRow = [sequence.next('event'), 'message.bounced', user, JSON.stringify(body), at]
  return [operation(eventInsert, row)]
}

/**
 * An address that is gone for whoever wrote to it himself; where a forward goes is its owner's matter. Who got the message at the same
 * place has its mark before him, and must not keep its author from writing to somebody else there.
 */
function suppressed(deps: BounceReadingDeps, { message, targets }: About, one: SaidOf, at: number): Operation[] {
  const { user, origin } = message
  const { recipient, proven, same, target } = one
  if (!proven || !same || target === undefined || user === null || origin !== 'submission') return []
  if (!recipient.final || recipient.kind !== 'unknown') return []
  if (targets.some(other => other !== target && placeOf(other) === placeOf(target))) return []
  const { status, text: response } = recipient
  return [gone(deps, { user, address: target.value, status, response, source: 'bounce' }, at)]
}
