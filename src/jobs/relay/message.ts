// The bytes of a queued message as they leave: a trace line, the signature of its domain, the lines on top, the body.
//
// A small message is put together in memory, a large one is streamed; line ends are final before anything is signed. A
// forwarded message loses its Bcc field, which its sender did not want to be seen. The signature is the domain's of From,
// where From is known to be true: of what is written here, and of a forward of that. What nobody else has signed has a header in ASCII and
// no line that is too long, whatever it came with (RFC 6376 5.3); what somebody has is not touched.

import { isAscii, isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { limits } from '#lib/limits.ts'
import { mailboxes, splitAddress } from '#mail/address/address.ts'
import { parseAddresses } from '#mail/address/address-list.ts'
import { arcSet, findings } from '#mail/crypt/arc-seal.ts'
import { type SigningKey, signatures } from '#mail/crypt/dkim.ts'
import { writtenAnew } from '#mail/header/authored.ts'
import { Header } from '#mail/header/header.ts'
import { cutFields, fromField, mailboxField, rewriteHeader } from '#mail/header/rewrite.ts'
import { topOf } from '#mail/header/trace.ts'
import { wireHeader, wireLines } from '#mail/header/wire-form.ts'
import { mailDate } from '#mail/made/dsn.ts'
import { asciiHeader } from '#mail/wire/ascii-form.ts'
import { isSigned, type ReadableMessage, sevenBit, shortLined } from '#mail/wire/seven-bit.ts'
import { shortHeader } from '#mail/wire/short-lines.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import { readDetail, type StoredDetail } from '#store/mailboxes/outlines.ts'
import { type Outbound, queueId } from '#store/sending/outbound.ts'

const hidden = new Set(['bcc', 'resent-bcc', 'return-path'])
/** Who else speaks for a message whose author is another one. */
const speakers = ['sender', 'resent-from', 'resent-sender']

/** All of a domain that sign; none where its mail leaves unsigned. */
export type FindSigningKeys = (domain: string) => Promise<readonly SigningKey[]>

export interface OutgoingMessage {
  readonly size: number
  /** Whether it has bytes beyond ASCII (RFC 6152). */
  readonly eightBit: boolean
  /** Its header is told to those alone who know of such (RFC 6531); `wanted` where there is another form of it. */
  readonly utf8: 'wanted' | 'needed' | undefined
  readonly header: Header
  /** All of it, with CRLF line ends. */
  bytes(): Buffer | NodeJS.ReadableStream
  stream(): AsyncIterable<Buffer>
  /** Its first bytes. */
  start(length: number): Promise<Buffer>
  /** The same with a header in ASCII, as far as it can be, signed as that. */
  asciiTop(): Promise<OutgoingMessage>
  /** The same in ASCII alone, as far as it can be. */
  sevenBit(): Promise<OutgoingMessage>
}

/** What is written on top of, and signed. */
interface Content {
  /** The header with its empty line. */
  readonly top: Buffer
  readonly body: Buffer | (() => AsyncIterable<Buffer>)
  /** Somebody else has signed it. */
  readonly theirs: boolean
  /** The header was brought into ASCII as far as it can be. */
  readonly downgraded?: boolean
}

interface Opening {
  readonly hostname: string
  readonly now: number
  readonly findKeys: FindSigningKeys
  /** Of rewritten senders; it seals what is sent on where the address that sends it on has no key. */
  readonly srsDomain: string
  readonly mark: string
}

/**
 * The trace line that says it went through here (RFC 5321 4.4).
 *
 * @param mark by which it is known when it comes back (mail/report/return-mark.ts); empty for none
 */
export function traceLine(message: Outbound, hostname: string, now: number, mark = ''): string {
  const id = queueId(message.num) + (mark === '' ? '' : `.${mark}`)
  return `Received: by ${hostname} (Teal) id ${id};\r\n ${mailDate(now)}\r\n`
}

/** @throws Fault MessageNotFound where the body is gone */
export async function openOutgoing(
  read: Reader,
  bodies: Bodies,
  message: Outbound,
  body: number,
  how: Opening,
): Promise<OutgoingMessage> {
  const opened = await bodies.open(body, false)
  const detail = (await readDetail(read, body)) as StoredDetail | undefined
  const headerSize = detail?.headerSize ?? 0
  const lines = detail === undefined ? message.prefix : topOf(message.prefix, headerSize)
  const top = headerOf(message, lines, await opened.read(0, headerSize))
  const header = new Header(top)
  const theirs = isSigned(header)
  const small = opened.size + top.length <= limits.body.wholeBytesMax
  const stream = () => wireLines(opened.stream(headerSize))
  const kept = { top: theirs ? top : shortHeader(asciiHeader(top)), theirs }
  const content = { ...kept, body: small ? await collected(stream()) : stream }
  return sealed(message, header, theirs ? content : await inForm(content, shortLined), how)
}

/** The same in a form that it is written in anew where it has to be: a small one in memory, a large one as often as it is read. */
async function inForm(content: Content, form: (given: ReadableMessage) => Promise<ReadableMessage>): Promise<Content> {
  const { top, body } = content
  const given: ReadableMessage = { top, body: Buffer.isBuffer(body) ? () => [body] : body }
  const written = await form(given)
  if (written === given) return content
  const stream = written.body as () => AsyncIterable<Buffer>
  return { ...content, top: written.top, body: Buffer.isBuffer(body) ? await collected(stream()) : stream }
}

/** A message with what is written on top of it when it leaves. */
async function sealed(message: Outbound, header: Header, content: Content, how: Opening): Promise<OutgoingMessage> {
  const { top, body } = content
  const inMemory = Buffer.isBuffer(body) ? Buffer.concat([top, body]) : null
  const whole = Buffer.isBuffer(body) ? () => joined(top, [body]) : () => joined(top, body())
  const unsigned = { bytes: 0, eightBit: false }
  const counted = () => counting(whole(), unsigned)
  const domain = signingDomain(message, header)
  const keys = domain === '' ? [] : await how.findKeys(domain)
  const signature = keys.length === 0 ? '' : await signatures(inMemory ?? counted(), keys)
  const seal = await sealOf(message, header, how, () => joined(Buffer.from(signature), whole()))
  // The size is said before the message, so it is read once more where nobody signed it.
  if (unsigned.bytes === 0) for await (const _ of counted());
  const trace = Buffer.from(traceLine(message, how.hostname, how.now, how.mark) + seal + signature)
  const complete = inMemory === null ? null : Buffer.concat([trace, inMemory])
  const stream = () => (complete === null ? joined(trace, whole()) : joined(complete))
  const asciiTop = (): Content =>
    content.theirs ? content : { ...content, top: shortHeader(asciiHeader(top, true)), downgraded: true }
  const outgoing: OutgoingMessage = {
    size: trace.length + unsigned.bytes,
    eightBit: unsigned.eightBit,
    utf8: utf8Of(message, content),
    header,
    bytes: () => complete ?? Readable.from(stream(), { objectMode: false }),
    stream,
    start: length => firstBytes(stream(), length),
    asciiTop: () => sealed(message, header, asciiTop(), how),
    sevenBit: async () => {
      const plain = await inForm(asciiTop(), sevenBit)
      return { ...(await sealed(message, header, plain, how)), eightBit: false }
    },
  }
  return outgoing
}

/**
 * Whether a host has to know of a header beyond ASCII before it gets it (RFC 6531 3.2). What came without SMTPUTF8 and is signed goes on as it
 * came, since old programs write such headers and hosts take them.
 */
function utf8Of({ prefix }: Outbound, { top, theirs, downgraded = false }: Content): OutgoingMessage['utf8'] {
  if (isAscii(top) || !isUtf8(top)) return undefined
  if (theirs) return /^Received:[^;]*\swith UTF8/m.test(prefix) ? 'needed' : undefined
  return downgraded ? 'needed' : 'wanted'
}

/** The seal of a message that is sent on, where this service looked at it when it came. */
async function sealOf(
  { origin, prefix, options: { forwardedFor = '' } }: Outbound,
  header: Header,
  { hostname, findKeys, srsDomain }: { hostname: string; findKeys: FindSigningKeys; srsDomain: string },
  whole: () => AsyncIterable<Buffer>,
): Promise<string> {
  if (origin !== 'forward') return ''
  const found = findings(new Header(Buffer.from(prefix)), header, hostname)
  if (found === undefined) return ''
  const own = splitAddress(forwardedFor).domain
  const keys = own === '' ? [] : await findKeys(own)
  const sealing = keys.length > 0 ? keys : await findKeys(srsDomain)
  return sealing.length === 0 ? '' : arcSet(whole(), found, sealing)
}

/** The header as it leaves, with the lines on top: of a forward without Bcc, and under another author where it must be. */
function headerOf({ origin, options: { author } }: Outbound, lines: string, block: Buffer): Buffer {
  const wire = Buffer.concat([Buffer.from(lines), wireHeader(block)])
  if (origin !== 'forward') return wire
  if (author === undefined) return cutFields(wire, hidden)
  const anew = writtenAnew(wire)
  const header = new Header(anew)
  const replace = new Map([['from', fromField(author)]])
  const [answers] = mailboxes(parseAddresses(header.rawAll('from').join(', ')))
  if (!header.has('reply-to') && answers !== undefined) replace.set('reply-to', mailboxField('Reply-To', answers))
  return rewriteHeader(anew, new Set([...hidden, ...speakers]), replace)
}

async function* joined(first: Buffer, rest: AsyncIterable<Buffer> | Buffer[] = []): AsyncGenerator<Buffer> {
  yield first
  yield* rest
}

/** The same, counted from the first byte on. */
async function* counting(
  pieces: AsyncIterable<Buffer>,
  count: { bytes: number; eightBit: boolean },
): AsyncGenerator<Buffer> {
  count.bytes = 0
  for await (const piece of pieces) {
    count.bytes += piece.length
    count.eightBit ||= !isAscii(piece)
    yield piece
  }
}

async function collected(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

async function firstBytes(pieces: AsyncIterable<Buffer>, length: number): Promise<Buffer> {
  const all: Buffer[] = []
  let left = length
  for await (const piece of pieces) {
    all.push(piece.subarray(0, left))
    left -= piece.length
    if (left <= 0) break
  }
  return Buffer.concat(all)
}

function signingDomain(message: Outbound, header: Header): string {
  const { trust, author } = message.options
  if (message.origin === 'forward' && trust !== 'ours' && author === undefined) return ''
  const values = header.rawAll('from')
  const [from] = mailboxes(parseAddresses(values[0] ?? ''))
  return values.length === 1 ? splitAddress(from?.address ?? '').domain : ''
}
