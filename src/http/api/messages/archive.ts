// The archive of deleted messages over HTTP (wire-shapes, Archive). A message is known there by a number of its own, and
// goes back to the folder it came from unless another one is named.
//
// What lasts longer than a request, restoring a whole span of time, is left to a task whose id is answered.

import { Type } from 'typebox'
import { restoreArchived } from '#actors/user/restore.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { counted } from '#store/engine/counted.ts'
import { countArchive, findArchived, pageArchive } from '#store/mailboxes/archive.ts'
import { findMailbox } from '#store/mailboxes/mailboxes.ts'
import { pagedCounted } from '../../cursor.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { date, int, mailboxId, optional, pageReply, paging, userId } from '../../schema.ts'
import { requireUser } from './mailboxes.ts'
import type { MessageDeps } from './message-deps.ts'
import { listingFields, orderField, showListed } from './message-listing.ts'
import { listedShape } from './message-view.ts'

/** Beside what every list says of a message. */
const keptShape = Type.Object({
  ...listedShape.properties,
  archived: Type.String({ format: 'date-time', description: 'When it was deleted' }),
  expires: Type.String({ format: 'date-time', description: 'Until when it is kept' }),
})

const archivedId = int({ min: 1, max: Number.MAX_SAFE_INTEGER, description: 'Number of the message in the archive' })

export function archiveEndpoints({ system, bodies, tasks }: MessageDeps): Endpoint[] {
  const { read } = system

  const list = endpoint({
    method: 'GET',
    path: '/users/:user/archived/messages',
    anywhere: true,
    tag: 'Archive',
    summary: 'List deleted messages that are still kept',
    allow: 'messages.read',
    open: true,
    params: { user: userId },
    query: { ...listingFields, order: orderField, ...paging },
    reply: { ...pageReply, results: Type.Array(keptShape) },
    faults: ['UserNotFound'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const falling = input.order === 'desc'
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['number', 'number'],
        fetch: (boundary, direction, count) => {
          const edge = boundary === null ? null : { idate: Number(boundary[0]), uid: Number(boundary[1]) }
          const ahead = direction === 'forward'
          return counted(
            read,
            picture => countArchive(picture, user.num),
            picture => pageArchive(picture, user.num, falling === ahead, edge, count),
          )
        },
        boundary: ({ message }) => [message.idate, message.num],
      })
      const kept = new Map(rows.map(row => [row.message.num, row]))
      const messages = rows.map(({ message }) => ({ ...message, uid: message.num }))
      const mailboxOf = ({ num }: { num: number }) => kept.get(num)?.mailboxId ?? ''
      const listed = await showListed({ read, bodies }, user.num, messages, mailboxOf, input)
      const iso = (at = 0) => new Date(at).toISOString()
      const results = listed.map(one => {
        const { archived, expires } = kept.get(one.id) ?? {}
        return { ...one, archived: iso(archived), expires: iso(expires) }
      })
      return { ...cursors, results }
    },
  })

  const restoreOne = endpoint({
    method: 'POST',
    path: '/users/:user/archived/messages/:message/restore',
    tag: 'Archive',
    summary: 'Bring a deleted message back',
    allow: 'messages.update',
    params: { user: userId, message: archivedId },
    body: { mailbox: optional(mailboxId) },
    reply: { mailbox: Type.String(), id: Type.Integer() },
    faults: ['UserNotFound', 'NoSuchMailbox', 'ArchivedMessageNotFound', 'OverQuotaError'],
    async run({ input, signal }) {
      const user = await requireUser(read, input.user)
      if ((await findArchived(read, user.num, [input.message])).length === 0) {
        throw new Fault('ArchivedMessageNotFound')
      }
      const wanted = { nums: [input.message], mailbox: input.mailbox }
      const [restored] = await system.handle(input.user).run(restoreArchived, wanted, signal)
      if (restored === undefined) throw new Fault('ArchivedMessageNotFound')
      return { mailbox: restored.mailbox, id: restored.uid }
    },
  })

  const restoreRange = endpoint({
    method: 'POST',
    path: '/users/:user/archived/restore',
    tag: 'Archive',
    summary: 'Bring back what was deleted in a period of time, as a task',
    allow: 'messages.update',
    params: { user: userId },
    body: {
      start: date({ description: 'Deleted at this moment or later' }),
      end: date({ description: 'Deleted at this moment or earlier' }),
      mailbox: optional(mailboxId),
    },
    reply: { task: Type.String({ description: 'Id of the task' }) },
    faults: ['UserNotFound', 'NoSuchMailbox', 'TooMany'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const { start, end, mailbox } = input
      if (start > end) throw invalid('end', 'must not be before start')
      if (mailbox !== undefined && (await findMailbox(read, user.num, mailbox)) === undefined) {
        throw new Fault('NoSuchMailbox')
      }
      const given = { start, end, ...(mailbox !== undefined && { mailbox }) }
      const { id } = await tasks.add({ kind: 'archive.restore', user: input.user, input: given })
      return { task: id }
    },
  })

  return [list, restoreOne, restoreRange]
}
