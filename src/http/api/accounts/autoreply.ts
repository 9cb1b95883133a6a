// The autoreply of a user over HTTP (api-semantics 7.1; wire-shapes, Autoreplies; wire-details 8).
//
// An account has one or none; reading answers a disabled empty one where there is none. When it speaks is decided where
// mail arrives, never here.

import { Type } from 'typebox'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { deleteAutoreply, updateAutoreply } from '#actors/user/rules.ts'
import { limits } from '#lib/limits.ts'
import { findAutoreply } from '#store/rules/autoreply.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { bool, date, id, moment, optional, orFalse, text, userId } from '../../schema.ts'
import { requireUser } from '../messages/mailboxes.ts'

export interface AutoreplyDeps {
  readonly system: ActorSystem
}

const { nameLengthMax, subjectLengthMax, textLengthMax } = limits.autoreply
const params = { user: userId }

export function autoreplyEndpoints({ system }: AutoreplyDeps): Endpoint[] {
  const { read } = system
  const update = endpoint({
    method: 'PUT',
    path: '/users/:user/autoreply',
    tag: 'Autoreplies',
    summary: 'Change the autoreply of a user; what is not given stays',
    description:
      'A message is answered when a person wrote it to an address of the user, once to each sender in some hours. ' +
      'Lists, bulk mail, reports and other automatic mail are not answered (RFC 3834, RFC 5230).',
    allow: 'autoreplies.update',
    params,
    body: {
      status: optional(bool({ description: 'Whether mail is answered' })),
      name: optional(text({ max: nameLengthMax, trim: true, empty: true, description: 'Shown as the sender' })),
      subject: optional(text({ max: subjectLengthMax, trim: true, empty: true })),
      text: optional(text({ max: textLengthMax, trim: true, empty: true })),
      html: optional(text({ max: textLengthMax, trim: true, empty: true })),
      start: optional(orFalse(date(), { description: 'Not before; false for no bound' })),
      end: optional(orFalse(date(), { description: 'Not after; false for no bound' })),
    },
    reply: { id: id({ description: 'Id of the autoreply' }) },
    faults: ['UserNotFound'],
    async run({ input, signal }) {
      const { status, name, subject, text: plain, html } = input
      const bound = (at: number | false | undefined) => (at === false ? null : at)
      const change = { status, name, subject, text: plain, html, start: bound(input.start), end: bound(input.end) }
      return system.handle(input.user).run(updateAutoreply, change, signal)
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user/autoreply',
    tag: 'Autoreplies',
    summary: 'The autoreply of a user',
    allow: 'autoreplies.read',
    params,
    reply: {
      status: Type.Boolean(),
      name: Type.String(),
      subject: Type.String(),
      text: Type.String(),
      html: Type.String(),
      start: Type.Optional(moment),
      end: Type.Optional(moment),
      created: Type.Optional(moment),
    },
    faults: ['UserNotFound'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const found = await findAutoreply(read, user.num)
      if (found === undefined) return { status: false, name: '', subject: '', text: '', html: '' }
      const { status, name, subject, text: plain, html, start, end, created } = found
      return {
        ...{ status, name, subject, text: plain, html },
        ...(start !== null && { start: iso(start) }),
        ...(end !== null && { end: iso(end) }),
        created: iso(created),
      }
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/users/:user/autoreply',
    tag: 'Autoreplies',
    summary: 'Take the autoreply of a user away',
    allow: 'autoreplies.delete',
    params,
    faults: ['UserNotFound'],
    async run({ input, signal }) {
      await system.handle(input.user).run(deleteAutoreply, undefined, signal)
      return {}
    },
  })
  return [update, get, remove]
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
