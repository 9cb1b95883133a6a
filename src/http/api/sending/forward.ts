// Forwarding a stored message over HTTP: to whom it was forwarded before, or to further addresses (wire-shapes, Messages).
//
// What is done is in actors/compose/forwarding.ts. Passwords in URLs are sealed before they are stored, and shown by nobody.

import { Type } from 'typebox'
import { requireActive } from '#actors/compose/composing.ts'
import { forwardStored } from '#actors/compose/forwarding.ts'
import { keepSecrets, maskUrl } from '#lib/secret/url-secret.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { int, list, optional } from '../../schema.ts'
import type { MessageDeps } from '../messages/message-deps.ts'
import { messageOf, place } from '../messages/message-place.ts'
import { submissionLine } from './submitter.ts'
import { target } from './target.ts'
import { seqText } from './way.ts'

const targetsMax = 100

export function forwardEndpoints(deps: MessageDeps): Endpoint[] {
  const { system } = deps
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
      ...(['RateLimitedError', 'SendingPaused', 'EncryptionUnsupported'] as const),
    ],
    async run({ input, request, signal }) {
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
      const line = submissionLine(deps.journal, user, input, request)
      const stored = { user, mailbox: mailbox.id, message, targets, line }
      const sent = await line.during(() => forwardStored(deps, stored, signal))
      if (sent === null) return {}
      const forwarded = sent.targets.map(({ kind, value }, at) => {
        return { seq: seqText(at + 1), type: kind, value: maskUrl(value) }
      })
      return { queueId: sent.queueId, forwarded }
    },
  })

  return [forward]
}
