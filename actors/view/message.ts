// One message as it is read, for any front: its text, its attachments, its bytes, and what became of what was sent.
//
// The text is decoded when asked for, within limits; what is handed out was proved to be what was stored. Bytes are streamed
// as the reader takes them. Nothing is changed by looking.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { Header } from '#mail/header/header.ts'
import { decodeCharset } from '#mail/mime/charset.ts'
import { collect, decodedStream } from '#mail/mime/decode.ts'
import { parseValued } from '#mail/mime/parameter.ts'
import { type MessageText, readText, replaceCidLinks } from '#mail/text/text.ts'
import { type FileRow, findFile } from '#store/accounts/file.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Body } from '#store/bodies/read.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Outlined } from '#store/mailboxes/messages.ts'
import { type AttachmentPlace, readDetail, type StoredSummary } from '#store/mailboxes/outlines.ts'
import { findOutbound, listTargets, queueNumber, type Target } from '#store/sending/outbound.ts'

interface Sources {
  readonly read: Reader
  readonly bodies: Bodies
}

/** The text of a message, a form of every part of it; links to pictures in it are `attachment:ATT00001`. @throws Fault MessageNotFound, BodyUnreadable */
export async function textOf({ read, bodies }: Sources, message: Outlined): Promise<MessageText> {
  const detail = await readDetail(read, message.body)
  if (detail === undefined) throw new Fault('MessageNotFound')
  const body = await bodies.open(message.body)
  for (const { start, end } of detail.texts) await bodies.proof.prove(message.body, body, start, end)
  const { text, html } = await readText(detail.texts, (start, end) => body.read(start, end))
  const { attachments } = JSON.parse(message.summary) as StoredSummary
  const linked = attachments.map(info => ({ info }))
  return { text, html: html.map(one => replaceCidLinks(one, linked)) }
}

/** The whole message, byte for byte. @throws Fault BodyUnreadable before the first byte */
export async function sourceOf({ bodies }: Sources, message: Outlined): Promise<AsyncIterable<Buffer>> {
  const body = await bodies.open(message.body)
  await bodies.proof.prove(message.body, body)
  return whole(message.prefix, body)
}

async function* whole(prefix: string, body: Body): AsyncGenerator<Buffer> {
  if (prefix !== '') yield Buffer.from(prefix)
  yield* body.stream()
}

export interface OpenAttachment {
  readonly info: StoredSummary['attachments'][number]
  /** The Content-Disposition it came with, unfolded; undefined where it had none. */
  readonly disposition: string | undefined
  /** Bytes of the content; undefined where that is found out by decoding it. */
  readonly size: number | undefined
  /** The content without its transfer encoding. */
  stream(): AsyncIterable<Buffer>
  /** The content as text, whatever character set it was written in; undefined where it is none, or too long. */
  text(): Promise<string> | undefined
}

/** @param id `ATT00001` and so on. @throws Fault AttachmentNotFound, BodyUnreadable */
export async function openAttachment(
  { read, bodies }: Sources,
  message: Outlined,
  id: string,
): Promise<OpenAttachment> {
  const { attachments } = JSON.parse(message.summary) as StoredSummary
  const info = attachments.find(one => one.id === id)
  const detail = await readDetail(read, message.body)
  const at = detail?.attachments.find(one => one.id === id)
  if (info === undefined || at === undefined) throw new Fault('AttachmentNotFound')
  const body = await bodies.open(message.body)
  await bodies.proof.prove(message.body, body, at.start, at.end)
  const header = await partHeader(body, at)
  const stored = body.attachment(at.start, at.end)
  const stream = () => stored?.stream() ?? decodedStream(body.stream(at.start, at.end), info.transferEncoding)
  const { textBytesMax } = limits.mime
  const isText = info.contentType.startsWith('text/') && info.size <= textBytesMax
  const { charset } = parseValued(header.raw('content-type') ?? '').params
  return {
    ...{ info, disposition: header.raw('content-disposition'), size: stored?.size, stream },
    text: () => (isText ? collect(stream(), textBytesMax).then(bytes => decodeCharset(bytes, charset)) : undefined),
  }
}

async function partHeader(body: Body, { headerStart, start }: AttachmentPlace): Promise<Header> {
  return new Header(await body.read(headerStart, Math.min(start, headerStart + limits.mime.headerBytesMax)))
}

/** Stored files it was made from, as far as they are still there. @param user number of the account */
export async function filesOf({ read }: Sources, user: number, message: Outlined): Promise<FileRow[]> {
  const found = await Promise.all((message.meta.files ?? []).map(id => findFile(read, user, id)))
  return found.filter(file => file !== undefined)
}

/** A way that a message went out, and what of it still waits. */
export interface WayOut {
  readonly queueId: string
  /** When it was queued, milliseconds since 1970. */
  readonly queued: number
  readonly waiting: readonly Target[]
}

/** Its ways out; undefined where it never went any. @param user id of the account, which sees its own alone */
export async function waysOut({ read }: Sources, user: string, message: Outlined): Promise<WayOut[] | undefined> {
  const { outbound } = message.meta
  if (outbound === undefined) return undefined
  const ways: WayOut[] = []
  for (const queueId of outbound) {
    const sent = await findOutbound(read, queueNumber(queueId))
    const targets = sent === undefined || sent.user !== user ? [] : await listTargets(read, sent.num)
    ways.push({ queueId, queued: sent?.created ?? 0, waiting: targets.filter(({ state }) => state < 2) })
  }
  return ways
}
