// Sending on a message that is stored, as it is, at the wish of whoever reads it.
//
// What goes out is planned, counted and queued like any other forward of the account (actors/delivery/forward.ts); the
// message stays and is marked as forwarded. Nothing is queued where the account may forward no more today, is held back, or wants its
// forwards encrypted with a key that cannot be used. What is forwarded may be of the account's own making, so it counts as sent at once, too.

import { Fault } from '#lib/fault.ts'
import { forwarded } from '#mail/flags.ts'
import { listAddresses } from '#store/accounts/address.ts'
import type { User } from '#store/accounts/users.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import type { Counters } from '#store/folder/counters.ts'
import type { Settings } from '#store/folder/settings.ts'
import type { Outlined } from '#store/mailboxes/messages.ts'
import { sealForward } from '../delivery/encryption.ts'
import { type ForwardKeys, type ForwardPlan, planForward } from '../delivery/forward.ts'
import { arriveStored } from '../delivery/stored.ts'
import type { Actors } from '../kernel/system.ts'
import { storeFlags } from '../mailbox/message.ts'
import type { Allowance } from '../sending/allowance.ts'
import { queueMessage } from '../sending/outgoing.ts'
import { onward } from './onward.ts'
import type { SubmissionLine } from './submission-line.ts'

export interface ForwardingDeps {
  readonly system: Actors
  readonly bodies: Bodies
  readonly reads: Reads
  readonly sequence: Numbers
  readonly settings: Settings
  readonly forward: {
    readonly throttle: Counters
    readonly keys: ForwardKeys
    readonly allowance: Pick<Allowance, 'forward'>
  }
}

export interface StoredForward {
  readonly user: User
  /** Id of the folder it lies in. */
  readonly mailbox: string
  readonly message: Outlined
  /** Addresses and URLs, each once; passwords in URLs sealed. */
  readonly targets: readonly string[]
  readonly line?: SubmissionLine | undefined
}

/** @returns null where nothing was left to send. @throws Fault RateLimitedError, SendingPaused, EncryptionUnsupported, BodyUnreadable */
export async function forwardStored(
  deps: ForwardingDeps,
  { user, mailbox, message, targets, line }: StoredForward,
  signal: AbortSignal,
): Promise<{ queueId: string; targets: ForwardPlan['targets'] } | null> {
  const { system, bodies, settings } = deps
  const { read } = system
  const from = message.meta.from ?? ''
  const arrived = await arriveStored(read, bodies, { body: message.body, prefix: message.prefix, from })
  const standing = await onward(read, user, message.meta, arrived.header)
  const own = new Set((await listAddresses(read, user.id)).map(({ key }) => key))
  const request = {
    ...{ owner: user.id, user: user.id, address: user.address, targets, own, ...standing },
    ...{ header: arrived.header, prepared: arrived.prepared, prefix: message.prefix },
    allowed: user.options.limits?.forwards || settings.get('const:max:forwards'),
    relay: user.options.mtaRelay || undefined,
    requireTls: message.meta.requireTls,
  }
  await deps.forward.allowance.forward(user, targets.length)
  const plan = await planForward(request, deps.forward.keys, deps.forward.throttle)
  if (plan.reason === 'daily-limit' && plan.targets.length === 0) {
    throw new Fault('RateLimitedError', { text: 'The account may not forward more messages today' })
  }
  const handle = system.handle(user.id)
  const sealed = await sealForward(deps, user, plan.outgoing, () => bodies.stream(message.body))
  if (sealed.unusable) throw new Fault('EncryptionUnsupported', { text: 'The key of the account cannot be used' })
  let queueId: string | undefined
  try {
    for (const outgoing of sealed.outgoing) {
      const queued = await handle.run(queueMessage, outgoing, signal)
      line?.queued(outgoing, queued.queueId)
      queueId ??= queued.queueId
    }
  } finally {
    await sealed.discard()
  }
  if (queueId === undefined) return null
  const uids = [[message.uid, message.uid]] as const
  await handle.run(storeFlags, { mailbox, uids, how: 'add', flags: 0, keywords: [forwarded] }, signal)
  return { queueId, targets: plan.targets }
}
