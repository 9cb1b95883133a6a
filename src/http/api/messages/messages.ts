// Messages over HTTP: list, get, source, attachments; the other calls have files of their own (wire-shapes, Messages).
//
// A listing shows what was worked out when the message arrived and never parses mail. The text of one message is decoded
// when asked for, within limits. Bytes are streamed as the client reads.

import { Type } from 'typebox'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { flag } from '#mail/flags.ts'
import { Header } from '#mail/header/header.ts'
import { decodeCharset } from '#mail/mime/charset.ts'
import { parseValued } from '#mail/mime/parameter.ts'
import { readText, replaceCidLinks } from '#mail/text/text.ts'
import { findFile } from '#store/accounts/file.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import { type Outlined, pageMessages } from '#store/mailboxes/messages.ts'
import { readDetail } from '#store/mailboxes/outlines.ts'
import { binary } from '../../answer.ts'
import { paged } from '../../cursor.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { bool, optional, pageReply, paging, text, userId } from '../../schema.ts'
import { archiveEndpoints } from './archive.ts'
import { collect } from './compose-fields.ts'
import { forwardEndpoints } from './forward.ts'
import { mailboxOrResolve } from './mailboxes.ts'
import { changeEndpoints } from './message-changes.ts'
import type { MessageDeps } from './message-deps.ts'
import { Listing, listingFields, orderField } from './message-listing.ts'
import { decodedStream, mailboxOf, messageOf, place, setFlags } from './message-place.ts'
import { listedMessage, listedShape, shownMessage, shownShape } from './message-view.ts'
import { waysOut } from './outbound.ts'
import { searchEndpoints } from './search.ts'
import { submitEndpoints } from './submit.ts'
import { uploadEndpoints } from './upload.ts'

export function messageEndpoints(deps: MessageDeps): Endpoint[] {
  return [
    ...readEndpoints(deps),
    ...changeEndpoints(deps),
    ...uploadEndpoints(deps),
    ...searchEndpoints(deps),
    ...archiveEndpoints(deps),
    ...submitEndpoints(deps),
    ...forwardEndpoints(deps),
  ]
}

function readEndpoints({ system, bodies, reads }: MessageDeps): Endpoint[] {
  const { read } = system
  const listing = new Listing(read, bodies)

  const list = endpoint({
    method: 'GET',
    path: '/users/:user/mailboxes/:mailbox/messages',
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
      order: orderField,
      ...paging,
    },
    reply: { ...pageReply, specialUse: Type.Union([Type.String(), Type.Null()]), results: Type.Array(listedShape) },
    faults: ['UserNotFound', 'NoSuchMailbox'],
    async run({ input, signal }) {
      const mailbox = await mailboxOf(read, input.user, input.mailbox, input.path)
      const unseen = input.unseen === true
      const collapse = input.collapseThreads
      const form = { mailbox: mailbox.num, falling: input.order === 'desc', unseen, collapse }
      const { rows, ...cursors } = await paged(input, {
        key: ['number', 'number'],
        fetch: (boundary, direction, count) => {
          const edge = boundary === null ? null : { idate: Number(boundary[0]), uid: Number(boundary[1]) }
          return pageMessages(read, form, edge, direction, count)
        },
        boundary: message => [message.idate, message.uid],
      })
      const total = collapse
        ? await reads.countThreads({ mailbox: mailbox.num, unseen }, { signal, lane: input.user })
        : unseen
          ? mailbox.unseen
          : mailbox.total
      const results = await listing.rows(mailbox.user, rows, () => mailbox.id, { ...input, collapse })
      return { total, ...cursors, specialUse: mailbox.specialUse, results }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user/mailboxes/:mailbox/messages/:message',
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
      const detail = await readDetail(read, message.body)
      if (detail === undefined) throw new Fault('MessageNotFound')
      const body = bodies.open(message.body)
      for (const { start, end } of detail.texts) await bodies.proof.prove(message.body, body, start, end)
      const content = await readText(detail.texts, (start, end) => body.read(start, end))
      const { files = [], outbound } = message.meta
      const shown = {
        ...shownMessage(message, mailbox.id, input.user, content),
        ...(await filesOf(mailbox.user, files)),
        ...(outbound !== undefined && { outbound: await waysOut(read, input.user, outbound) }),
      }
      if (shown.html === undefined) return shown
      const attachments = shown.attachments.map(info => ({ info }))
      return { ...shown, html: shown.html.map(html => replaceCidLinks(html, attachments)) }
    },
  })

  const source = endpoint({
    method: 'GET',
    path: '/users/:user/mailboxes/:mailbox/messages/:message/message.eml',
    tag: 'Messages',
    summary: 'Get the source of a message, byte for byte',
    allow: 'messages.read',
    params: place,
    replyType: 'message/rfc822',
    faults: ['UserNotFound', 'NoSuchMailbox', 'MessageNotFound', 'BodyUnreadable'],
    async run({ input }) {
      const { message } = await messageOf(read, input)
      await bodies.proof.prove(message.body, bodies.open(message.body))
      const headers = { 'content-type': 'message/rfc822' }
      return binary({ headers, body: wholeMessage(message), length: message.size })
    },
  })

  const attachment = endpoint({
    method: 'GET',
    path: '/users/:user/mailboxes/:mailbox/messages/:message/attachments/:attachment',
    tag: 'Messages',
    summary: 'Get the content of an attachment',
    allow: 'attachments.read',
    params: { ...place, attachment: text({ max: 32 }) },
    query: { sendAsString: bool({ default: false, description: 'Text as UTF-8, whatever it was written in' }) },
    replyType: 'application/octet-stream',
    faults: ['UserNotFound', 'NoSuchMailbox', 'MessageNotFound', 'BodyUnreadable', 'AttachmentNotFound'],
    async run({ input }) {
      const { message } = await messageOf(read, input)
      const summary = listedMessage(message, '', { metaData: false })
      const info = summary.attachmentsList.find(one => one.id === input.attachment)
      const detail = await readDetail(read, message.body)
      const at = detail?.attachments.find(one => one.id === input.attachment)
      if (info === undefined || at === undefined) throw new Fault('AttachmentNotFound')
      const body = bodies.open(message.body)
      await bodies.proof.prove(message.body, body, at.start, at.end)
      const { disposition, charset } = await partHeader(body, at)
      const headers = {
        'content-type': info.contentType || 'application/octet-stream',
        'content-disposition': disposition,
        // What a stranger sent is no page of this origin. Only a PDF needs more than a sandbox lets its viewer do.
        'content-security-policy': info.contentType === 'application/pdf' ? undefined : "default-src 'none'; sandbox",
      }
      const stored = body.attachment(at.start, at.end)
      const content = stored?.stream() ?? decodedStream(body.stream(at.start, at.end), info.transferEncoding)
      const { textBytesMax } = limits.mime
      if (input.sendAsString && info.contentType.startsWith('text/') && info.size <= textBytesMax) {
        const text_ = decodeCharset(await collect(content, textBytesMax), charset)
        const type = { 'content-type': `${info.contentType}; charset=utf-8` }
        return binary({ headers: { ...headers, ...type }, body: Buffer.from(text_) })
      }
      return binary({ headers, body: content, ...(stored !== null && { length: stored.size }) })
    },
  })

  async function filesOf(user: number, ids: readonly string[]) {
    if (ids.length === 0) return {}
    const found = (await Promise.all(ids.map(id => findFile(read, user, id)))).filter(file => file !== undefined)
    const files = found.map(({ id, filename, type, size, cid }) => {
      return { id, filename, contentType: type, size, ...(cid === null ? {} : { cid }) }
    })
    return files.length === 0 ? {} : { files }
  }

  async function* wholeMessage(message: Outlined): AsyncGenerator<Buffer> {
    if (message.prefix !== '') yield Buffer.from(message.prefix)
    yield* bodies.open(message.body).stream()
  }

  return [list, get, source, attachment]
}

/** The Content-Disposition a part came with, unfolded, and its character set; undefined where it had none. */
async function partHeader(
  body: ReturnType<Bodies['open']>,
  at: { readonly headerStart: number; readonly start: number },
): Promise<{ disposition: string | undefined; charset: string | undefined }> {
  const end = Math.min(at.start, at.headerStart + limits.mime.headerBytesMax)
  const header = new Header(await body.read(at.headerStart, end))
  const { charset } = parseValued(header.raw('content-type') ?? '').params
  return { disposition: header.raw('content-disposition'), charset }
}
