// Everything about a message that is worked out once, when it arrives, and stored: later listings, FETCH and the HTTP
// API read it and never parse mail again.
//
// Promises: an outline is plain JSON; nothing in it grows past limits.mime; the IMAP texts may be sent as they are (see
// structure.ts). Bodies are not read: texts and attachments are named by offsets, and the two hashes of an attachment
// are empty until whoever stores the bytes fills them in.

import { limits } from '#lib/limits.ts'
import { mimeTypes } from '#lib/process/lazy.ts'
import type { Address } from '../address/address.ts'
import { addressesOf, decodeAddresses } from '../address/address-list.ts'
import { parseDate } from '../header/date.ts'
import type { Header } from '../header/header.ts'
import type { MimePart } from './mime.ts'
import { type PartIndex, partIndex } from './section.ts'
import { envelope, structures } from './structure.ts'

export interface Outline {
  /** Bytes of the whole message, and of its header block with the empty line. */
  readonly size: number
  readonly headerSize: number
  /** IMAP, brackets included, ready to send. */
  readonly envelope: string
  readonly body: string
  readonly bodyStructure: string
  readonly summary: Summary
  /** In the order of the parts; those of a message within it stand after that. */
  readonly attachments: readonly Attachment[]
  /** The parts that are the message's own text, in order. */
  readonly texts: readonly TextPart[]
  readonly index: PartIndex
}

export interface Summary {
  /** Decoded; empty where the field is absent. */
  readonly from: readonly Address[]
  readonly sender: readonly Address[]
  readonly replyTo: readonly Address[]
  readonly to: readonly Address[]
  readonly cc: readonly Address[]
  readonly bcc: readonly Address[]
  readonly subject: string
  /** With its angle brackets; empty where absent. */
  readonly messageId: string
  readonly inReplyTo: string
  /** Identifiers in the References field, oldest first; In-Reply-To where there is none. */
  readonly references: readonly string[]
  /** Milliseconds since 1970, null where absent or no date. */
  readonly date: number | null
  readonly contentType: { readonly value: string; readonly params: Readonly<Record<string, string>> }
  readonly list: ListFields | null
  readonly encrypted: boolean
}

interface ListFields {
  readonly id: { readonly name: string; readonly address: string } | null
  /** Addresses are whole URIs: `mailto:...`, `https://...`. */
  readonly unsubscribe: readonly { readonly name: string; readonly address: string }[]
}

export interface Attachment {
  /** What the HTTP API shows, exactly (wire-details 7). */
  readonly info: AttachmentInfo
  /** IMAP part number, `1.2`. */
  readonly part: string
  /** Offsets of the part's header and of its encoded body. */
  readonly headerStart: number
  readonly start: number
  readonly end: number
}

export interface AttachmentInfo {
  /** `ATT00001` and so on. */
  readonly id: string
  readonly filename: string
  readonly contentType: string
  /** False where the part has no such field. */
  readonly disposition: string | false
  readonly transferEncoding: string
  /** It stands in a multipart/related: a picture of the text, not a file of its own. */
  readonly related: boolean
  /** Bytes as encoded, and the same in KiB rounded up. */
  readonly size: number
  readonly sizeKb: number
  /** Hexadecimal SHA-256 of the encoded bytes; filled in by whoever stores them. */
  hash: string
  /** Base64 SHA-256 of the decoded bytes; likewise. */
  fileContentHash: string
  /** Content-ID without brackets, only where there is one. */
  readonly cid?: string
}

export interface TextPart {
  readonly kind: 'plain' | 'html'
  readonly part: string
  readonly start: number
  readonly end: number
  readonly encoding: string
  readonly charset: string
  /** RFC 3676: `format=flowed` and `delsp=yes`. */
  readonly flowed: boolean
  readonly delsp: boolean
  /** Parts with the same number say the same thing in different forms (multipart/alternative). */
  readonly group: number
}

/** The outline of a message by its tree. */
export function outline(root: MimePart): Outline {
  return allAtOnce(outlining(root))
}

/** The same in steps: after each whoever works it out may rest, since senders decide how much there is of it. */
export function* outlining(root: MimePart): Generator<undefined, Outline> {
  const { attachments, texts } = yield* contentIn(root, true)
  return {
    size: root.bodyEnd,
    headerSize: root.headerEnd,
    envelope: yield* envelope(root.header),
    ...(yield* structures(root)),
    summary: summarize(root),
    attachments,
    texts,
    index: partIndex(root),
  }
}

function allAtOnce<Result>(steps: Generator<undefined, Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** Texts and attachments of a message by its tree. @param deep with what messages within it carry */
export function contentOf(root: MimePart, deep = true): Pick<Outline, 'attachments' | 'texts'> {
  return allAtOnce(contentIn(root, deep))
}

function* contentIn(root: MimePart, deep: boolean): Generator<undefined, Pick<Outline, 'attachments' | 'texts'>> {
  const walk: Walk = { attachments: [], texts: [], groups: 0, deep }
  yield* collect(walk, root, [], { whole: true, related: false, group: 0 })
  return { attachments: walk.attachments, texts: walk.texts }
}

/** Whether a listing shows a paper clip: an attachment that is no picture of the text. */
export function hasAttachments(outline: Pick<Outline, 'attachments'>): boolean {
  return outline.attachments.some(({ info }) => !info.related)
}

/** What the header of a message says. */
export function summarize(root: MimePart): Summary {
  const { header, type } = root
  const inReplyTo = messageIds(header.raw('in-reply-to'))[0] ?? ''
  const references = messageIds(header.rawAll('references').join(' '))
  if (references.length === 0 && inReplyTo !== '') references.push(inReplyTo)
  return {
    from: addresses(header, 'from'),
    sender: addresses(header, 'sender'),
    replyTo: addresses(header, 'reply-to'),
    to: addresses(header, 'to'),
    cc: addresses(header, 'cc'),
    bcc: addresses(header, 'bcc'),
    subject: header.get('subject') ?? '',
    messageId: messageId(header.raw('message-id')),
    inReplyTo,
    references,
    date: parseDate(header.raw('date') ?? ''),
    contentType: { value: type.value, params: type.params },
    list: listFields(header),
    encrypted: isEncrypted(root),
  }
}

/** Whether the message is encrypted as a whole: PGP/MIME or S/MIME, signed only does not count. */
export function isEncrypted({ type }: Pick<MimePart, 'type'>): boolean {
  if (type.value === 'multipart/encrypted') return true
  if (type.value !== 'application/pkcs7-mime' && type.value !== 'application/x-pkcs7-mime') return false
  return /^(?:auth)?enveloped-data$/i.test(type.params['smime-type'] ?? 'enveloped-data')
}

interface Walk {
  readonly attachments: Attachment[]
  readonly texts: TextPart[]
  groups: number
  readonly deep: boolean
}

interface Place {
  /** The part is a message of its own, so its only part is called 1. */
  readonly whole: boolean
  readonly related: boolean
  /** Of the outermost multipart/alternative, or 0. */
  readonly group: number
}

function* collect(walk: Walk, part: MimePart, path: readonly number[], place: Place): Generator<undefined, void> {
  const { value } = part.type
  if (value.startsWith('multipart/') && part.children.length > 0) {
    const alternative = value === 'multipart/alternative'
    const inside: Place = {
      whole: false,
      related: place.related || value === 'multipart/related',
      group: alternative && place.group === 0 ? ++walk.groups : place.group,
    }
    for (const [at, child] of part.children.entries()) {
      yield* collect(walk, child, [...path, at + 1], inside)
      yield
    }
    return
  }
  const number = (place.whole ? [...path, 1] : path).join('.')
  if (isText(part, walk, place.whole)) {
    walk.texts.push(textPart(part, number, place.group || ++walk.groups))
    return
  }
  walk.attachments.push(attachment(part, number, place.related, walk.attachments.length + 1))
  // What an attached message says is its own; what it carries can be had from here, too.
  const [message] = part.children
  if (message === undefined || !walk.deep) return
  const inner: Walk = { attachments: walk.attachments, texts: [], groups: 0, deep: true }
  yield* collect(inner, message, number.split('.').map(Number), { whole: true, related: place.related, group: 0 })
}

/** What is text to read besides plain text and HTML: reports, and the header of a message they are about (RFC 6522). */
const reports = new Set([
  'text/rfc822-headers',
  'message/delivery-status',
  'message/disposition-notification',
  'message/global-headers',
  'message/global-delivery-status',
  'message/global-disposition-notification',
])

/** What is a file of its own kind, though it is text. */
const fileTexts = /^text\/(?:calendar|(?:x-)?vcard|directory|csv|xml)$/

/** An encoding that nobody can take off: its text is none (RFC 2045 6.4). */
const sealed = /^x-(?!uu|[78]-?bit|binary|none|unknown|plain|identity)/

/**
 * Plain text, HTML and reports that are no file. A named text is shown only where it is the first, text of any other kind
 * where it is all there is (RFC 2046 4.1.4).
 */
function isText(part: MimePart, walk: Walk, whole: boolean): boolean {
  const { value } = part.type
  if (part.disposition?.value === 'attachment' || sealed.test(part.encoding)) return false
  if (reports.has(value)) return true
  if (whole && value.startsWith('text/') && !fileTexts.test(value) && fileName(part) === '') return true
  if (value !== 'text/plain' && value !== 'text/html') return false
  return walk.texts.length === 0 || fileName(part) === ''
}

function textPart(part: MimePart, number: string, group: number): TextPart {
  const { params } = part.type
  return {
    kind: part.type.value === 'text/html' ? 'html' : 'plain',
    part: number,
    start: part.headerEnd,
    end: part.bodyEnd,
    encoding: part.encoding,
    charset: params.charset ?? '',
    flowed: params.format?.toLowerCase() === 'flowed',
    delsp: params.delsp?.toLowerCase() === 'yes',
    group,
  }
}

function attachment(part: MimePart, number: string, related: boolean, count: number): Attachment {
  const size = part.bodyEnd - part.headerEnd
  const info: AttachmentInfo = {
    id: `ATT${String(count).padStart(5, '0')}`,
    filename: fileName(part) || ['attachment-', count, '.', extensionOf(part)].join(''),
    contentType: part.type.value,
    disposition: part.disposition?.value || false,
    transferEncoding: part.encoding,
    related,
    size,
    sizeKb: Math.ceil(size / 1024),
    hash: '',
    fileContentHash: '',
    ...(part.id ? { cid: part.id } : {}),
  }
  return { info, part: number, headerStart: part.headerStart, start: part.headerEnd, end: part.bodyEnd }
}

/** The name a sender gave, as one path component without control characters; empty where there is none. */
function fileName(part: MimePart): string {
  const given = part.disposition?.params.filename || part.type.params.name || ''
  const name = given
    .replace(/[\x00-\x1f\x7f]/g, '')
    .replace(/^.*\//, '')
    // A backslash is a character like others, but for names that were written as a path of Windows.
    .replace(/^(?:[a-z]:|.*\.\.|\.?)\\(?:.*\\)?/i, '')
  return /^\.*$/.test(name) ? '' : shortened(name).trim()
}

/** A name that is too long without its middle, since its end says what kind of file it is. */
function shortened(name: string): string {
  const { filenameLengthMax } = limits.mime
  if (name.length <= filenameLengthMax) return name
  const [extension] = /\.[^.\s]{1,20}$/.exec(name) ?? ['']
  return name.slice(0, filenameLengthMax - extension.length).replace(/[\ud800-\udbff]$/, '') + extension
}

function extensionOf(part: MimePart): string {
  if (part.type.value === 'message/rfc822') return 'eml'
  return mimeTypes().extension(part.type.value) || 'bin'
}

function addresses(header: Header, key: string): Address[] {
  return decodeAddresses(addressesOf(header, key))
}

function messageId(value: string | undefined): string {
  if (value === undefined) return ''
  return value.match(identifiers)?.[0] ?? value.slice(0, limits.mime.messageIdLengthMax)
}

const identifiers = new RegExp(`<[^<>\\s]{1,${limits.mime.messageIdLengthMax}}>`, 'g')

/** The identifiers in a field; of too many the first and the latest. */
function messageIds(value: string | undefined): string[] {
  const all = value?.match(identifiers) ?? bareIds(value ?? '')
  if (all.length <= limits.mime.referencesMax) return [...all]
  return [all[0] as string, ...all.slice(1 - limits.mime.referencesMax)]
}

/** Identifiers without their brackets, where a field is nothing else. */
function bareIds(value: string): string[] {
  const words = value
    .slice(0, limits.mime.messageIdLengthMax)
    .split(/[\s,]+/)
    .filter(word => word !== '')
  return words.every(word => /^[^@<>"()]+@[^@<>"()]+$/.test(word)) ? words.map(word => `<${word}>`) : []
}

/** List-ID (RFC 2919) and List-Unsubscribe (RFC 2369). */
function listFields(header: Header): ListFields | null {
  const id = header.get('list-id')?.slice(0, limits.mime.messageIdLengthMax)
  const unsubscribe = header.raw('list-unsubscribe')
  if (id === undefined && unsubscribe === undefined) return null
  const match = id === undefined ? null : /<([^<>]*)>/.exec(id)
  const name = id === undefined || !match ? '' : id.slice(0, match.index).replace(/^["\s]+|["\s]+$/g, '')
  const uris = unsubscribe?.match(/<[^<>]{1,2000}>/g) ?? []
  return {
    id: id === undefined ? null : { name, address: (match?.[1] ?? id).trim() },
    unsubscribe: uris.slice(0, 20).map(uri => ({ name: '', address: uri.slice(1, -1).replace(/\s+/g, '') })),
  }
}
