// Messages over HTTP: list, get, source, attachments; the other calls have files of their own (wire-shapes, Messages).
//
// A listing shows what was worked out when the message arrived and never parses mail. The text of one message is decoded
// when asked for, within limits. Bytes are streamed as the client reads.

import { Type } from 'typebox'
import { filesOf, openAttachment, sourceOf, textOf, waysOut } from '#actors/view/message.ts'
import { limits } from '#lib/limits.ts'
import { flag } from '#mail/flags.ts'
import { shownMark } from '#store/domains/mark.ts'
import { counted } from '#store/engine/counted.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { ReadOptions } from '#store/engine/reads.ts'
import { folderCounters } from '#store/mailboxes/listing.ts'
import { pageMessages, type RowAt } from '#store/mailboxes/messages.ts'
import type { Conversation } from '#store/search/conversations.ts'
import { binary } from '../../answer.ts'
import { type Cursor, pagedCounted } from '../../cursor.ts'

import { anyType, type Endpoint, endpoint } from '../../endpoint.ts'
import { bool, optional, pageReply, paging, text, userId } from '../../schema.ts'
import { forwardEndpoints } from '../sending/forward.ts'
import { submitEndpoints } from '../sending/submit.ts'
import { archiveEndpoints } from './archive.ts'
import { repeatedDisposition } from './disposition.ts'
import { mailboxOrResolve } from './mailboxes.ts'
import { mboxEndpoints } from './mbox.ts'
import { changeEndpoints } from './message-changes.ts'
import type { MessageDeps } from './message-deps.ts'
import { listingFields, orderField, pageTurn, showListed, skipField } from './message-listing.ts'
import { mailboxOf, messageOf, place, setFlags } from './message-place.ts'
import { listedShape, shownConversation, shownFile, shownMessage, shownShape, shownWay } from './message-view.ts'
import { searchEndpoints } from './search.ts'
import { uploadEndpoints } from './upload.ts'

export function messageEndpoints(deps: MessageDeps): Endpoint[] {
  return [
    ...readEndpoints(deps),
    ...changeEndpoints(deps),
    ...uploadEndpoints(deps),
    ...searchEndpoints(deps),
    ...archiveEndpoints(deps),
    ...mboxEndpoints(deps),
    ...submitEndpoints(deps),
    ...forwardEndpoints(deps),
  ]
}

function readEndpoints({ system, bodies, reads }: MessageDeps): Endpoint[] {
  const { read } = system
  const sources = { read, bodies }

  /** A cursor that leads to what follows a row; behind the end where there is none. */
  async function placeOf(at: RowAt, options: ReadOptions): Promise<Cursor> {
    const found = await reads.rowAt(at, options)
    const end = at.falling ? { idate: -9e15, uid: 0 } : { idate: 9e15, uid: 9e15 }
    const { idate, uid } = found ?? end
    return { boundary: [idate, uid], page: 2 }
  }

  const list = endpoint({
    method: 'GET',
    path: '/users/:user/mailboxes/:mailbox/messages',
    anywhere: true,
    tag: 'Messages',
    summary: 'List the messages of a mailbox',
    allow: 'messages.read',
    open: true,
    params: { user: userId, mailbox: mailboxOrResolve },
    query: {
      path: optional(text({ max: 4096 })),
      unseen: optional(bool({ description: 'Only messages that were not read' })),
      ...listingFields,
      includeHasDrafts: bool({ default: false, description: 'Say of each whether a draft answers it' }),
      collapseThreads: bool({ default: false, description: 'One message of each thread' }),
      skip: optional(skipField),
      order: orderField,
      ...paging,
    },
    reply: { ...pageReply, specialUse: Type.Union([Type.String(), Type.Null()]), results: Type.Array(listedShape) },
    faults: ['UserNotFound', 'NoSuchMailbox'],
    async run({ input, signal }) {
      const mailbox = await mailboxOf(read, input.user, input.mailbox, input.path)
      const unseen = input.unseen === true
      const collapse = input.collapseThreads
      const inFolder = async (picture: Reader) =>
        (await folderCounters(picture, mailbox.num))?.[unseen ? 'unseen' : 'total'] ?? 0
      const form = { mailbox: mailbox.num, falling: input.order === 'desc', unseen }
      const options = { signal, turnKey: input.user }
      const { skip = 0, next, previous } = input
      const jumps = skip > 0 && next === undefined && previous === undefined
      const before = jumps && !collapse ? await placeOf({ ...form, row: skip }, options) : undefined
      const conversations = new Map<number, Conversation>()
      const { rows, total, ...cursors } = await pagedCounted(
        before === undefined ? input : { ...input, next: before },
        {
          key: ['number', 'number'],
          fetch: async (boundary, direction, count) => {
            const edge = boundary === null ? null : { idate: Number(boundary[0]), uid: Number(boundary[1]) }
            if (collapse) {
              const wish = {
                boundary: edge,
                skip,
                direction,
                count,
                counted: input.threadCounters ? mailbox.user : null,
              }
              const page = await reads.conversations({ ...form, ...wish }, options)
              for (const one of page.conversations) conversations.set(one.thread, one)
              return page
            }
            await pageTurn(mailbox.user)
            return counted(read, inFolder, picture => pageMessages(picture, form, edge, direction, count))
          },
          boundary: message => [message.idate, message.uid],
        },
      )
      const results = await showListed(sources, mailbox.user, rows, () => mailbox.id, { ...input, collapse })
      const threads = new Map(conversations.size === 0 ? [] : rows.map(({ uid, thread }) => [uid, thread]))
      for (const row of results) {
        const one = conversations.get(threads.get(row.id) ?? 0)
        if (one !== undefined) row.conversation = shownConversation(one)
      }
      return { ...cursors, total, specialUse: mailbox.specialUse, results }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user/mailboxes/:mailbox/messages/:message',
    anywhere: true,
    tag: 'Messages',
    summary: 'Get one message',
    allow: 'messages.read',
    params: place,
    query: {
      replaceCidLinks: bool({
        default: false,
        description: 'Accepted: links to inline parts are `attachment:ATT00001` in any case',
      }),
      markAsSeen: bool({ default: false }),
    },
    reply: shownShape,
    faults: ['UserNotFound', 'NoSuchMailbox', 'MessageNotFound', 'BodyUnreadable'],
    async run({ input, signal }) {
      const { mailbox, message } = await messageOf(read, input)
      if (input.markAsSeen && (message.flags & flag.seen) === 0) {
        await setFlags(system.handle(input.user), mailbox.id, [[message.uid, message.uid]], { seen: true }, signal)
        message.flags |= flag.seen
      }
      const files = await filesOf(sources, mailbox.user, message)
      const outbound = await waysOut(sources, input.user, message)
      const { bimi } = message.meta
      const mark = bimi && (await shownMark(read, bimi))
      return {
        ...shownMessage(message, mailbox.id, input.user, await textOf(sources, message), mark),
        ...(files.length > 0 && { files: files.map(shownFile) }),
        ...(outbound !== undefined && { outbound: outbound.map(shownWay) }),
      }
    },
  })

  const source = endpoint({
    method: 'GET',
    path: '/users/:user/mailboxes/:mailbox/messages/:message/message.eml',
    anywhere: true,
    tag: 'Messages',
    summary: 'Get the source of a message, byte for byte',
    allow: 'messages.read',
    params: place,
    replyType: 'message/rfc822',
    faults: ['UserNotFound', 'NoSuchMailbox', 'MessageNotFound', 'BodyUnreadable'],
    async run({ input }) {
      const { message } = await messageOf(read, input)
      const headers = { 'content-type': 'message/rfc822' }
      return binary({ headers, body: await sourceOf(sources, message), length: message.size })
    },
  })

  const attachment = endpoint({
    method: 'GET',
    path: '/users/:user/mailboxes/:mailbox/messages/:message/attachments/:attachment',
    anywhere: true,
    tag: 'Messages',
    summary: 'Get the content of an attachment',
    allow: 'attachments.read',
    params: { ...place, attachment: text({ max: 32 }) },
    query: { sendAsString: bool({ default: false, description: 'Text as UTF-8, whatever it was written in' }) },
    replyType: anyType,
    faults: ['UserNotFound', 'NoSuchMailbox', 'MessageNotFound', 'BodyUnreadable', 'AttachmentNotFound'],
    async run({ input }) {
      const { message } = await messageOf(read, input)
      const { info, disposition, size, stream, text: asText } = await openAttachment(sources, message, input.attachment)
      const headers = {
        'content-type':
          info.contentType !== '' && fits(info.contentType) ? info.contentType : 'application/octet-stream',
        'content-disposition': disposition === undefined ? undefined : repeatedDisposition(disposition, info.filename),
        // What a stranger sent is no page of this origin. Only a PDF needs more than a sandbox lets its viewer do.
        'content-security-policy': info.contentType === 'application/pdf' ? undefined : "default-src 'none'; sandbox",
        'cache-control': 'private, no-cache',
      }
      const decoded = input.sendAsString ? asText() : undefined
      if (decoded === undefined) return binary({ headers, body: stream(), ...(size !== undefined && { length: size }) })
      const type = { 'content-type': `${info.contentType}; charset=utf-8` }
      return binary({ headers: { ...headers, ...type }, body: Buffer.from(await decoded) })
    },
  })

  return [list, get, source, attachment]
}

/** Whether clients and proxies take a field of an answer, whatever a stranger wrote into it. */
function fits(value: string): boolean {
  return value.length <= limits.http.repeatedLengthMax
}
