// Mail that came back, read: which recipients, what was said of each, and of which message (RFC 3464, RFC 3462; RFC 3834 tells what
// is none). Servers that know no such form write a letter; returned-letter.ts reads those. Reports of another kind are about mail that was
// delivered: receipts (RFC 8098), complaints (RFC 5965), what is told of TLS (RFC 8460).
//
// Runs on a thread, since strangers write it. Gives null for what is no report of a failure or a delay: answers of programs, letters of
// people, receipts. Whether it is true is not for this file to say.

import { limits } from '#lib/limits.ts'
import { Header } from '../header/header.ts'
import { decodeCharset } from '../mime/charset.ts'
import { decodeBody } from '../mime/decode.ts'
import { type MimePart, scanMime } from '../mime/mime.ts'
import { parseValued } from '../mime/parameter.ts'
import { type BouncedRecipient, codeIn, sortAnswer, statusIn } from './answer.ts'
import { type ReturnMark, returnMarks } from './return-mark.ts'
import { readLetter } from './returned-letter.ts'

export interface Bounce {
  readonly recipients: readonly BouncedRecipient[]
  /** Of what came back, with its brackets; empty where that is not told. */
  readonly messageId: string
  readonly marks: readonly ReturnMark[]
  /** Host that reports; empty where it does not say. */
  readonly reporter: string
}

/** What the thread does, by name. */
export interface PoolBounceTask {
  bounce: { input: { data: Uint8Array }; value: Bounce | null }
}

const daemons = /^(?:mailer-?daemon|postmaster|mail-?daemon|mdaemon|mailadmin|mailerdaemon|maildelivery)$/i

/** Whether a message may be one, by its header alone. */
export function mayBeBounce(header: Header, from: string): boolean {
  if (from === '' || header.has('x-failed-recipients')) return true
  return isReport(header) || isDaemons(header)
}

/** Whether a program answers for a person, which is no report (RFC 3834 2, 5). */
export function isAnswer(header: Header): boolean {
  if (isReport(header) || header.has('x-failed-recipients') || isDaemons(header)) return false
  const automatic = /^auto-(?:replied|generated|notified)/i.test(header.raw('auto-submitted')?.trim() ?? '')
  return (
    automatic ||
    header.has('x-autoreply') ||
    header.has('x-autorespond') ||
    /\bauto_?reply\b/i.test(header.raw('precedence') ?? '')
  )
}

function isReport(header: Header): boolean {
  return /^\s*multipart\/report\b/i.test(header.raw('content-type') ?? '')
}

/** Whether it says that it reports something else than what became of mail on its way (RFC 6522 3). */
function isOtherReport(header: Header): boolean {
  const type = header.raw('content-type')
  if (type === undefined || !isReport(header)) return false
  const kind = (parseValued(type).params['report-type'] ?? '').toLowerCase()
  return /^(?:disposition-notification|feedback-report|tlsrpt)$/.test(kind)
}

function isOther({ type }: MimePart): boolean {
  return /^message\/(?:(?:global-)?disposition-notification|feedback-report)$/i.test(type.value)
}

function isDaemons(header: Header): boolean {
  const from = header.raw('from') ?? ''
  const local = /([^\s<>"@,;:()]{1,64})@/.exec(from)?.[1] ?? ''
  return daemons.test(local) || /\bmail delivery (?:sub)?system\b/i.test(from)
}

/** @param data the message, or its beginning */
export function readBounce(data: Uint8Array): Bounce | null {
  const message = Buffer.from(data.buffer, data.byteOffset, data.byteLength).subarray(0, limits.bounce.bytesMax)
  const root = scanMime(message)
  if (isAnswer(root.header)) return null
  const parts = [...leaves(root)].slice(0, limits.bounce.partsMax)
  const texts = parts.map(part => ({ part, text: textOf(message, part) }))
  const marks = returnMarks([message.toString('latin1'), ...texts.map(({ text }) => text)].join('\n'))
  const told = texts.flatMap(({ part, text }) => (isStatus(part) ? [fieldsOf(text)] : []))
  if (told.length === 0 && (isOtherReport(root.header) || parts.some(isOther))) return null
  const letter = texts.find(({ part }) => part.type.value === 'text/plain' && !isReturned(part))?.text ?? ''
  const recipients = told.flatMap(({ each }) => each).slice(0, limits.bounce.recipientsMax)
  const messageId = returnedId(root, texts)
  const reporter = told.map(one => one.reporter).find(name => name !== '') ?? ''
  if (told.some(({ each, done }) => each.length > 0 || done)) {
    return recipients.length === 0 ? null : { recipients, messageId, marks, reporter }
  }
  if (!isReport(root.header) && !isDaemons(root.header) && !root.header.has('x-failed-recipients')) return null
  const read = readLetter(letter, root.header.rawAll('x-failed-recipients').join(','))
  if (read.recipients.length === 0 && marks.length === 0) return null
  return { recipients: read.recipients, messageId: messageId || read.messageId, marks, reporter }
}

function* leaves(part: MimePart, returned = false): Generator<MimePart> {
  if (part.children.length === 0) yield part
  else if (part.type.value.startsWith('message/') && returned) return
  else for (const child of part.children) yield* leaves(child, returned || part.type.value.startsWith('message/'))
}

function isStatus({ type }: MimePart): boolean {
  return /^message\/(?:global-)?delivery-status$/i.test(type.value)
}

function isReturned({ type }: MimePart): boolean {
  return /^(?:message\/|text\/rfc822-headers)/i.test(type.value)
}

function textOf(message: Buffer, { headerEnd, bodyEnd, encoding, type }: MimePart): string {
  const body = message.subarray(headerEnd, Math.min(bodyEnd, headerEnd + limits.bounce.textBytesMax))
  const charset = type.params.charset
  return decodeCharset(decodeBody(Buffer.from(body), encoding), charset)
}

/** The groups of fields of a status part (RFC 3464 2.1): of the message, then of each recipient. */
function fieldsOf(text: string): { each: BouncedRecipient[]; reporter: string; done: boolean } {
  const groups = text.split(/\r?\n(?:[ \t]*\r?\n)+/).map(lines => new Header(Buffer.from(`${lines}\r\n\r\n`)))
  const reporter = afterType(groups.map(group => group.raw('reporting-mta')).find(found => found !== undefined) ?? '')
  const each = groups.flatMap(group => recipientOf(group) ?? [])
  const done = groups.some(group => group.has('final-recipient') && group.has('action'))
  return { each, reporter, done }
}

function recipientOf(fields: Header): BouncedRecipient | undefined {
  const address = addressOf(fields.raw('final-recipient'))
  const original = addressOf(fields.raw('original-recipient'))
  if (address === '' && original === '') return undefined
  const action = (fields.raw('action') ?? '').trim().toLowerCase()
  if (/^(?:delivered|relayed|expanded)\b/.test(action)) return undefined
  const text = afterType(fields.raw('diagnostic-code') ?? '')
  const code = codeIn(text)
  // Some write 5.0.0 where the answer they quote says more.
  const stated = statusIn(fields.raw('status') ?? '')
  const quoted = statusIn(text, code)
  const status = /^[45]\.0\.0$/.test(stated) && quoted !== '' ? quoted : stated || quoted
  const final = action === '' ? status.startsWith('5') : action.startsWith('failed')
  return {
    ...{ address: address || original, ...(original !== '' && { original }) },
    ...{ kind: sortAnswer({ status, code, text, final }), final, status },
    text: text.slice(0, limits.outbound.responseLengthMax),
  }
}

/** What stands behind `rfc822;` and its like. */
function afterType(value: string): string {
  return (/^[\w-]{1,40}\s{0,9};(.*)$/s.exec(value.trim())?.[1] ?? value).trim()
}

function addressOf(value = ''): string {
  // RFC 6533 3: what is not ASCII by its number.
  const text = afterType(value)
    .replace(/^<|>$/g, '')
    .replace(/\\x\{([\da-f]{1,5})\}/gi, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
    .trim()
  return text.includes('@') && text.length <= limits.bounce.addressLengthMax ? text : ''
}

/** Message-ID of what came back: of the last part that is a message or its header. */
function returnedId(root: MimePart, texts: readonly { part: MimePart; text: string }[]): string {
  for (const part of [...messagesIn(root)].reverse()) {
    const found = idIn(part.header.raw('message-id') ?? '')
    if (found !== '') return found
  }
  for (const { part, text } of texts) {
    if (!/^text\/rfc822-headers$|^message\//i.test(part.type.value) || isStatus(part)) continue
    const found = idIn(new Header(Buffer.from(text)).raw('message-id') ?? '')
    if (found !== '') return found
  }
  return ''
}

/** Messages that are parts, not what these carry themselves. */
function* messagesIn(part: MimePart): Generator<MimePart> {
  for (const child of part.children) {
    if (/^message\/(?:rfc822|global)$/i.test(part.type.value)) yield child
    else yield* messagesIn(child)
  }
}

function idIn(value: string): string {
  return /<[^<>\s]{1,900}>/.exec(value)?.[0] ?? ''
}
