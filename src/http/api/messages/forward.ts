// Forwarding a stored message over HTTP: to whom it was forwarded before, or to further addresses (wire-shapes, Messages).
//
// What goes out is planned, counted and queued like any other forward of the account (actors/delivery/forward.ts); the message
// stays and is marked as forwarded. Nothing is queued where the account may forward no more today, or wants its forwards
// encrypted with a key that cannot be used.

import { Type } from 'typebox'
import { sealForward } from '#actors/delivery/encryption.ts'
import { planForward } from '#actors/delivery/forward.ts'
import { onward } from '#actors/delivery/onward.ts'
import { arriveStored } from '#actors/delivery/stored.ts'
import { storeFlags } from '#actors/mailbox/message.ts'
import { queueMessage } from '#actors/sending/outgoing.ts'
import { Fault } from '#lib/fault.ts'
import { keepSecrets, maskUrl } from '#lib/secret/url-secret.ts'
import { forwarded } from '#mail/flags.ts'
import { listAddresses } from '#store/accounts/address.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { int, list, optional } from '../../schema.ts'
import type { MessageDeps } from './message-deps.ts'
import { messageOf, place, requireActive } from './message-place.ts'
import { seqText } from './outbound.ts'
import { target } from './target.ts'

const targetsMax = 100

export function forwardEndpoints(deps: MessageDeps): Endpoint[] {
  const { system, bodies, settings } = deps
  const { read } = system

  const forward = endpoint({
    method: 'POST',
    path: '/users/:user/mailboxes/:mailbox/messages/:message/forward',
    tag: 'Messages',
    summary: 'Forward a stored message as it is',
    allow: 'messages.create',
    params: place,
    body: {
      target: optional(int({ min: 1, max: 1000, description: 'One of the targets it was forwarded to, from 1' })),
      addresses: optional(list(target, { max: targetsMax, description: 'Further targets: addresses or URLs' })),
    },
    reply: {
      queueId: Type.Optional(Type.String()),
      forwarded: Type.Optional(
        Type.Array(Type.Object({ seq: Type.String(), type: Type.String(), value: Type.String() })),
      ),
    },
    faults: [
      ...(['UserNotFound', 'UserDisabled', 'NoSuchMailbox', 'MessageNotFound', 'BodyUnreadable'] as const),
      ...(['RateLimitedError', 'EncryptionUnsupported'] as const),
    ],
    async run({ input, signal }) {
      const user = await requireActive(read, input.user)
      const { mailbox, message } = await messageOf(read, input)
      const before = (message.meta.forwardTargets ?? []).map(({ value }) => value)
      const again =
        input.target === undefined
          ? input.addresses === undefined
            ? before
            : []
          : before.slice(input.target - 1, input.target)
      const further = keepSecrets(await system.secrets.sealAll(input.addresses ?? []), before, 'addresses')
      const targets = [...new Set([...again, ...further])]
      if (targets.length === 0) return {}
      const from = message.meta.from ?? ''
      const arrived = await arriveStored(read, bodies, { body: message.body, prefix: message.prefix, from })
      const standing = await onward(read, user, message.meta, arrived.header)
      const own = new Set((await listAddresses(read, user.id)).map(({ key }) => key))
      const request = {
        ...{ owner: user.id, user: user.id, address: user.address, targets, own, ...standing },
        ...{ header: arrived.header, prepared: arrived.prepared, prefix: message.prefix },
        allowed: user.options.limits?.forwards || settings.get('const:max:forwards'),
        relay: user.options.mtaRelay || undefined,
      }
      const plan = await planForward(request, deps.forward.keys, deps.forward.throttle)
      if (plan.reason === 'daily-limit' && plan.targets.length === 0) {
        throw new Fault('RateLimitedError', { text: 'The account may not forward more messages today' })
      }
      const handle = system.handle(user.id)
      let queueId: string | undefined
      const sealed = await sealForward(deps, user, plan.outgoing, () => bodies.open(message.body).stream())
      if (sealed.unusable) throw new Fault('EncryptionUnsupported', { text: 'The key of the account cannot be used' })
      try {
        for (const outgoing of sealed.outgoing) {
          const queued = await handle.run(queueMessage, outgoing, signal)
          queueId ??= queued.queueId
        }
      } finally {
        await sealed.discard()
      }
      if (queueId === undefined) return {}
      const uids = [[message.uid, message.uid]] as const
      const mark = { mailbox: mailbox.id, uids, how: 'add', flags: 0, keywords: [forwarded] } as const
      await handle.run(storeFlags, mark, signal)
      const shown = plan.targets.map(({ kind, value }, at) => ({
        seq: seqText(at + 1),
        type: kind,
        value: maskUrl(value),
      }))
      return { queueId, forwarded: shown }
    },
  })

  return [forward]
}
