// The bytes of a queued message as they leave: a trace line, the signature of its domain, the lines on top, the body.
//
// A small message is put together in memory, a large one is streamed; line ends are final before anything is signed. A
// forwarded message loses its Bcc field, which its sender did not want to be seen. The signature is the domain's of From,
// where From is known to be true: of what is written here, and of a forward of that.

import { isAscii } from 'node:buffer'
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
import { sevenBit } from '#mail/mime/seven-bit.ts'
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
  readonly header: Header
  /** All of it, with CRLF line ends. */
  bytes(): Buffer | NodeJS.ReadableStream
  stream(): AsyncIterable<Buffer>
  /** Its first bytes. */
  start(length: number): Promise<Buffer>
  /** The same in ASCII alone, signed as that; as it is where it is too large to be written anew. */
  sevenBit(): Promise<OutgoingMessage>
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
  const whole = () => wireLines(joined(top, opened.stream(headerSize)))
  const small = opened.size + top.length <= limits.body.wholeBytesMax
  return sealed(message, new Header(top), small ? await collected(whole()) : whole, how)
}

/** A message with what is written on top of it when it leaves. */
async function sealed(
  message: Outbound,
  header: Header,
  content: Buffer | (() => AsyncIterable<Buffer>),
  how: Opening,
): Promise<OutgoingMessage> {
  const inMemory = Buffer.isBuffer(content) ? content : null
  const whole = Buffer.isBuffer(content) ? () => joined(content) : content
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
  const outgoing: OutgoingMessage = {
    size: trace.length + unsigned.bytes,
    eightBit: unsigned.eightBit,
    header,
    bytes: () => complete ?? Readable.from(stream(), { objectMode: false }),
    stream,
    start: length => firstBytes(stream(), length),
    sevenBit: async () => {
      if (inMemory === null) return { ...outgoing, eightBit: false }
      return { ...(await sealed(message, header, sevenBit(inMemory), how)), eightBit: false }
    },
  }
  return outgoing
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
