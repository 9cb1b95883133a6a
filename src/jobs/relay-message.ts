// The bytes of a queued message as they leave: a trace line, the signature of its domain, the lines on top, the body.
//
// A small message is put together in memory, a large one is streamed. A forwarded message loses its Bcc field, which its
// sender did not want to be seen. The signature is the domain's of From, or of ours where we are the sender.

import { Readable } from 'node:stream'
import { limits } from '#lib/limits.ts'
import { mailboxes, splitAddress } from '#mail/address.ts'
import { parseAddresses } from '#mail/address-list.ts'
import { type SigningKey, signatures } from '#mail/dkim.ts'
import { mailDate } from '#mail/dsn.ts'
import { Header } from '#mail/header.ts'
import { cutFields } from '#mail/rewrite.ts'
import type { Bodies } from '#store/blobs.ts'
import { type Outbound, queueId } from '#store/outbound.ts'
import { readDetail, type StoredDetail } from '#store/outlines.ts'
import type { Reader } from '#store/reader.ts'

const hidden = new Set(['bcc', 'resent-bcc'])

export type FindSigningKey = (domain: string) => Promise<SigningKey | undefined>

export interface OutgoingMessage {
  readonly size: number
  readonly header: Header
  /** All of it, with CRLF line ends. */
  bytes(): Buffer | NodeJS.ReadableStream
  stream(): AsyncIterable<Buffer>
  /** Its first bytes. */
  start(length: number): Promise<Buffer>
}

/** The trace line that says it went through here (RFC 5321 4.4). */
export function traceLine(message: Outbound, hostname: string, now: number): string {
  return `Received: by ${hostname} (Teal) id ${queueId(message.num)};\r\n ${mailDate(now)}\r\n`
}

/** @throws Fault MessageNotFound where the body is gone */
export async function openOutgoing(
  read: Reader,
  bodies: Bodies,
  message: Outbound,
  body: number,
  how: { readonly hostname: string; readonly now: number; readonly findKey: FindSigningKey },
): Promise<OutgoingMessage> {
  const opened = bodies.open(body, false)
  const detail = (await readDetail(read, body)) as StoredDetail | undefined
  const headerSize = detail?.headerSize ?? 0
  const block = await opened.read(0, headerSize)
  const kept = message.origin === 'forward' ? cutFields(block, hidden) : block
  const top = Buffer.concat([Buffer.from(message.prefix), kept])
  const header = new Header(top)
  const rest = () => opened.stream(headerSize)
  const unsigned = top.length + opened.size - headerSize
  const whole = async function* (first: Buffer) {
    yield first
    yield* rest()
  }
  const domain = signingDomain(message, header)
  const key = domain === '' ? undefined : await how.findKey(domain)
  const signature = key === undefined ? '' : await signatures(whole(top), [key])
  const trace = traceLine(message, how.hostname, how.now)
  const first = Buffer.concat([Buffer.from(signature === '' ? trace : trace + signature), top])
  const size = unsigned + first.length - top.length
  const inMemory = size <= limits.body.wholeBytesMax ? Buffer.concat([first, await opened.read(headerSize)]) : null
  return {
    size,
    header,
    bytes: () => inMemory ?? Readable.from(whole(first), { objectMode: false }),
    stream: () => whole(first),
    start: async length => {
      if (inMemory !== null) return inMemory.subarray(0, length)
      return Buffer.concat([first, await opened.read(headerSize, headerSize + length)]).subarray(0, length)
    },
  }
}

function signingDomain(message: Outbound, header: Header): string {
  if (message.origin === 'forward') return splitAddress(message.sender).domain
  const [from] = mailboxes(parseAddresses(header.rawAll('from').join(', ')))
  return splitAddress(from?.address ?? message.sender).domain
}
