// A message written from structured input: what the upload, submit and autoreply endpoints hand in (wire-shapes,
// `POST /users/:user/mailboxes/:mailbox/messages` and `POST /users/:user/submit`).
//
// Promises: whatever the input, a valid message comes out, with CRLF line ends, Date and Message-ID, ASCII but for local
// parts of addresses that are not; no value can smuggle in a header line; no file and no URL is ever read. Validation of
// the input's form is the endpoint's; what only composing can tell (an unknown encoding) is a Fault.

import { isAscii } from 'node:buffer'
import { Fault, invalid } from '#lib/fault.ts'
import { newUuid } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { mailComposer } from '#lib/process/lazy.ts'
import { domainToAscii, type Mailbox, splitAddress } from '../address/address.ts'
import { liftDataImages } from '../mime/data-url.ts'
import { forwardSubject, replySubject } from '../text/subject.ts'

interface ComposeAddress {
  readonly name?: string | undefined
  readonly address: string
}

export interface ComposeAttachment {
  readonly filename?: string | undefined
  readonly contentType?: string | undefined
  /** Of `content` where that is text; base64 unless given. */
  readonly encoding?: string | undefined
  readonly contentTransferEncoding?: string | undefined
  readonly contentDisposition?: 'inline' | 'attachment' | undefined
  readonly content: string | Buffer
  readonly cid?: string | undefined
}

/** What is known of the message that is answered or forwarded. */
export interface ComposeReference {
  readonly action: 'reply' | 'replyAll' | 'forward'
  readonly messageId: string
  readonly references: readonly string[]
  readonly subject: string
}

export interface ComposeInput {
  readonly from?: ComposeAddress | undefined
  readonly sender?: ComposeAddress | undefined
  readonly replyTo?: ComposeAddress | readonly ComposeAddress[] | undefined
  readonly to?: readonly ComposeAddress[] | undefined
  readonly cc?: readonly ComposeAddress[] | undefined
  readonly bcc?: readonly ComposeAddress[] | undefined
  readonly headers?: readonly { readonly key?: string | undefined; readonly value?: string | undefined }[] | undefined
  readonly subject?: string | undefined
  readonly text?: string | undefined
  readonly html?: string | undefined
  readonly attachments?: readonly ComposeAttachment[] | undefined
  readonly reference?: ComposeReference | undefined
}

export interface ComposeOptions {
  /** Right side of the Message-ID where From has no domain. */
  readonly hostname: string
  /** The Date field, milliseconds since 1970. */
  readonly date: number
  /** With angle brackets; made anew where not given. */
  readonly messageId?: string | undefined
  /** Drafts keep their Bcc field, what is sent does not. */
  readonly keepBcc?: boolean | undefined
}

export interface Composed {
  readonly message: Buffer
  readonly messageId: string
  /** Addresses of To, Cc and Bcc, each once, in order. */
  readonly recipients: readonly string[]
}

/**
 * Writes the message.
 * @throws Fault InputValidationError for an attachment whose encoding is not known, or for too long an HTML; MessageTooLarge
 */
export async function compose(input: ComposeInput, options: ComposeOptions): Promise<Composed> {
  const domain = domainToAscii(splitAddress(input.from?.address ?? '').domain) || options.hostname
  const given = sortHeaders(input.headers ?? [])
  const messageId = options.messageId ?? identifier(given.special.get('message-id')) ?? `<${newUuid()}@${domain}>`
  const { html, images } = liftDataImages(input.html ?? '', domain)
  // The pictures in it do not count (api-semantics 5.3).
  const { textLengthMax } = limits.compose
  if (html.length > textLengthMax) {
    throw invalid('html', `length must be less than or equal to ${textLengthMax} characters long without its pictures`)
  }
  const references = input.reference && referenceFields(input.reference)
  const composer = new (mailComposer())({
    from: input.from && one(input.from),
    sender: input.sender && one(input.sender),
    replyTo: many(input.replyTo),
    to: many(input.to),
    cc: many(input.cc),
    bcc: many(input.bcc),
    subject: input.subject || (input.reference ? referenceSubject(input.reference) : (input.subject ?? '')),
    text: withCrlf(input.text),
    html: withCrlf(withPlainLinks(html, input.attachments ?? [])),
    attachments: [
      ...images.map(image => ({ ...image, contentDisposition: 'inline' as const })),
      ...(input.attachments ?? []).map(attachment),
    ],
    headers: given.free,
    messageId,
    date: new Date(options.date),
    inReplyTo: references?.inReplyTo ?? given.special.get('in-reply-to'),
    references: references?.references ?? given.special.get('references'),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const compiled = composer.compile()
  compiled.keepBcc = options.keepBcc === true
  const message = await compiled.build()
  if (message.length > limits.body.messageBytesMax) throw new Fault('MessageTooLarge')
  return { message, messageId, recipients: recipientsOf(input) }
}

/** The encoder leaves line ends as they are. */
function withCrlf(text: string | undefined): string | undefined {
  return text ? text.replace(/\r\n?|\n/g, '\r\n') : undefined
}

/** Addresses of To, Cc and Bcc, each once, in order. */
export function recipientsOf(input: Pick<ComposeInput, 'to' | 'cc' | 'bcc'>): string[] {
  const all = [...(input.to ?? []), ...(input.cc ?? []), ...(input.bcc ?? [])].map(({ address }) => address)
  return [...new Set(all.filter(address => address !== ''))]
}

/** In-Reply-To and References of an answer (RFC 5322 3.6.4), the oldest and the latest kept of too many. */
export function referenceFields(reference: Pick<ComposeReference, 'messageId' | 'references'>): {
  inReplyTo: string | undefined
  references: string[]
} {
  const last = identifier(reference.messageId)
  const all = [...reference.references, ...(last ? [last] : [])].flatMap(id => identifier(id) ?? [])
  const unique = [...new Set(all)]
  const kept =
    unique.length <= limits.mime.referencesWrittenMax
      ? unique
      : [unique[0] as string, ...unique.slice(1 - limits.mime.referencesWrittenMax)]
  return { inReplyTo: last, references: kept }
}

function referenceSubject({ action, subject }: ComposeReference): string {
  return action === 'forward' ? forwardSubject(subject) : replySubject(subject)
}

function identifier(text: string | undefined): string | undefined {
  const id = text?.trim().slice(0, limits.mime.messageIdLengthMax)
  return id && /^<[\x21-\x3b\x3d\x3f-\x7e]+>$/.test(id) ? id : undefined
}

/** Fields that are made here; a caller's own copy would contradict them. */
const ownFields = new Set([
  'from',
  'sender',
  'to',
  'cc',
  'bcc',
  'reply-to',
  'subject',
  'date',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-id',
  'content-length',
  'received',
  'authentication-results',
  'return-path',
  'delivered-to',
  'dkim-signature',
])
const specialFields = new Set(['message-id', 'in-reply-to', 'references'])

function sortHeaders(headers: NonNullable<ComposeInput['headers']>): {
  free: { key: string; value: string }[]
  special: Map<string, string>
} {
  const free: { key: string; value: string }[] = []
  const special = new Map<string, string>()
  for (const { key = '', value = '' } of headers) {
    const name = key.trim()
    const lower = name.toLowerCase()
    if (!/^[!-9;-~]{1,76}$/.test(name) || ownFields.has(lower) || lower.startsWith('resent-')) continue
    const line = value.replace(/[\x00-\x1f\x7f]+/g, ' ').trim()
    if (specialFields.has(lower)) special.set(lower, line)
    else free.push({ key: name, value: line })
  }
  return { free, special }
}

function attachment(given: ComposeAttachment, index: number) {
  const { filename, contentType, contentDisposition, cid } = given
  const content = contentOf(given, index)
  return {
    filename: filename?.replace(/[\x00-\x1f\x7f]/g, '') || (false as const),
    contentType: mediaType(contentType),
    contentTransferEncoding: encodingOf(given, content),
    contentDisposition,
    cid: plainId(cid),
    content,
  }
}

/** A Content-ID, which is ASCII (RFC 2045 7): other letters as their bytes, each behind a `=`. */
function plainId(cid: string | undefined): string | undefined {
  const bare = cid?.replace(/[\x00-\x20\x7f<>]/g, '')
  const written = (letter: string) => [...Buffer.from(letter)].map(byte => `=${byte.toString(16)}`).join('')
  return bare?.replace(/[^\x21-\x7e]+/g, written) || undefined
}

/** HTML that leads to its pictures by the ids they have in the message. */
function withPlainLinks(html: string, attachments: readonly ComposeAttachment[]): string {
  const plain = new Map<string, string>()
  for (const { cid = '' } of attachments) {
    const id = plainId(cid)
    if (id === undefined || !/[^\x00-\x7f]/.test(cid)) continue
    for (const form of [cid, encodeURI(cid.toWellFormed()), encodeURIComponent(cid.toWellFormed())]) plain.set(form, id)
  }
  if (plain.size === 0) return html
  return html.replace(/\bcid:([^'"\s<>()]{1,998})/gi, (whole, id: string) => {
    const found = plain.get(id)
    return found === undefined ? whole : `cid:${found}`
  })
}

/** A message stays as it is (RFC 2046 5.2.1), where every way takes it so. */
function encodingOf({ contentType, contentTransferEncoding }: ComposeAttachment, content: Buffer): string {
  if (/^message\/rfc822\b/i.test(contentType ?? '') && isAscii(content)) {
    const text = content.toString('latin1')
    if (!/\0|[^\r\n]{999}|\r(?!\n)|(?<!\r)\n/.test(text)) return '7bit'
  }
  const wanted = contentTransferEncoding?.toLowerCase() ?? ''
  return transferEncodings.has(wanted) ? wanted : 'base64'
}

const transferEncodings = new Set(['base64', 'quoted-printable'])

/**
 * A content type only where it is one, so that none can break the field. A file that is a multipart (a page of the web with its pictures)
 * is bytes: as a multipart its parts had to stand as they are (RFC 2045 6.4), and readers would take it apart.
 */
function mediaType(text: string | undefined): string | undefined {
  const type = text?.trim() ?? ''
  if (!/^[\w.+-]+\/[\w.+-]+(?:[ \t]*;[\x20-\x7e]*)?$/.test(type)) return undefined
  return /^multipart\//i.test(type) ? 'application/octet-stream' : type
}

const textEncodings: Readonly<Record<string, BufferEncoding>> = {
  base64: 'base64',
  base64url: 'base64url',
  hex: 'hex',
  utf8: 'utf8',
  'utf-8': 'utf8',
  binary: 'latin1',
  latin1: 'latin1',
  ascii: 'latin1',
}

function contentOf({ content, encoding }: ComposeAttachment, index: number): Buffer {
  if (typeof content !== 'string') return content
  const name = (encoding ?? 'base64').toLowerCase()
  if (!Object.hasOwn(textEncodings, name)) throw invalid(`attachments,${index},encoding`, 'is not a known encoding')
  return Buffer.from(content, textEncodings[name])
}

function one({ name, address }: ComposeAddress): Mailbox {
  return {
    name: (name ?? '').replace(/[\x00-\x1f\x7f]+/g, ' ').trim(),
    address: address.replace(/[\x00-\x20\x7f<>]/g, ''),
  }
}

function many(list: ComposeAddress | readonly ComposeAddress[] | undefined): Mailbox[] | undefined {
  if (list === undefined) return undefined
  const all = (Array.isArray(list) ? list : [list]) as readonly ComposeAddress[]
  return all.length === 0 ? undefined : all.map(one)
}
