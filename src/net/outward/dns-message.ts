// Questions to the domain name system and answers as bytes (RFC 1035 4), with what the library of the runtime does not tell:
// whether the resolver proved the answer (AD, RFC 4035 3.2.3).
//
// Pure. What comes from the wire is hostile: names that point in circles, lengths beyond the end and thousands of records
// make an answer that cannot be read, and nothing worse.

import { limits } from '#lib/limits.ts'

export const recordTypes = { A: 1, CNAME: 5, MX: 15, TXT: 16, AAAA: 28, TLSA: 52 } as const
export type RecordType = keyof typeof recordTypes

export interface DnsRecord {
  /** Whose record it is, in lower case without the last dot. */
  readonly name: string
  readonly type: number
  readonly ttlMs: number
  /** For CNAME and MX with its name written out. */
  readonly data: Buffer
  /** The name in the data, where there is one. */
  readonly target: string
}

export interface DnsMessage {
  readonly id: number
  /** Of an answer; false for a question. */
  readonly answer: boolean
  readonly truncated: boolean
  /** RCODE: 0 is an answer, 1 a question that was not understood, 2 a failure, 3 no such name, 4 what is not offered. */
  readonly code: number
  /** Whether the resolver proved it. */
  readonly authentic: boolean
  /** What was asked; empty where a server that did not understand it says no more than that. */
  readonly name: string
  readonly type: number
  readonly records: readonly DnsRecord[]
}

/** RCODE of a question that was not understood. */
export const formatError = 1
const headerBytes = 12
const internet = 1
const optType = 41
const labelBytesMax = 63
const nameBytesMax = 255
const pointer = 0xc0

/**
 * A question that wants to hear what was proven (RFC 6840 5.7). Undefined: no name.
 *
 * @param extended with room for long answers (RFC 6891)
 */
export function encodeQuestion(id: number, name: string, type: RecordType, extended: boolean): Buffer | undefined {
  const encoded = encodeName(name)
  if (encoded === undefined) return undefined
  const head = Buffer.alloc(headerBytes)
  head.writeUInt16BE(id, 0)
  // RD, AD; one question, and one additional record.
  head.writeUInt16BE(0x0120, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(extended ? 1 : 0, 10)
  const tail = Buffer.alloc(4)
  tail.writeUInt16BE(recordTypes[type], 0)
  tail.writeUInt16BE(internet, 2)
  if (!extended) return Buffer.concat([head, encoded, tail])
  const opt = Buffer.alloc(11)
  opt.writeUInt16BE(optType, 1)
  opt.writeUInt16BE(limits.dns.datagramBytes, 3)
  return Buffer.concat([head, encoded, tail, opt])
}

/** Reads an answer; undefined where it is none. */
export function decodeMessage(bytes: Buffer): DnsMessage | undefined {
  try {
    return decode(bytes)
  } catch {
    return undefined
  }
}

function decode(bytes: Buffer): DnsMessage | undefined {
  const flags = bytes.readUInt16BE(2)
  const head = {
    ...{ id: bytes.readUInt16BE(0), answer: (flags & 0x8000) !== 0, truncated: (flags & 0x0200) !== 0 },
    ...{ code: flags & 0x000f, authentic: (flags & 0x0020) !== 0 },
  }
  const questions = bytes.readUInt16BE(4)
  if (questions === 0 && head.code === formatError) return { ...head, name: '', type: 0, records: [] }
  if (questions !== 1) return undefined
  const question = nameAt(bytes, headerBytes)
  const type = bytes.readUInt16BE(question.end)
  const count = bytes.readUInt16BE(6)
  if (bytes.readUInt16BE(question.end + 2) !== internet || count > limits.dns.recordsMax) return undefined
  const records: DnsRecord[] = []
  let at = question.end + 4
  for (let n = 0; n < count; n++) {
    const owner = nameAt(bytes, at)
    const kind = bytes.readUInt16BE(owner.end)
    const seconds = bytes.readUInt32BE(owner.end + 4)
    const length = bytes.readUInt16BE(owner.end + 8)
    const start = owner.end + 10
    if (start + length > bytes.length) return undefined
    const data = bytes.subarray(start, start + length)
    const named = kind === recordTypes.CNAME ? start : kind === recordTypes.MX ? start + 2 : 0
    const target = named === 0 ? '' : nameAt(bytes, named).name
    // RFC 2181 8: the sign bit makes it zero.
    const ttlMs = seconds > 0x7fffffff ? 0 : seconds * 1000
    if (bytes.readUInt16BE(owner.end + 2) === internet) {
      records.push({ name: owner.name, type: kind, ttlMs, data: Buffer.from(data), target })
    }
    at = start + length
  }
  return { ...head, name: question.name, type, records }
}

function encodeName(name: string): Buffer | undefined {
  const labels = name.replace(/\.$/, '').split('.')
  const parts: Buffer[] = []
  for (const label of labels) {
    const bytes = Buffer.from(label, 'latin1')
    if (bytes.length === 0 || bytes.length > labelBytesMax) return undefined
    parts.push(Buffer.from([bytes.length]), bytes)
  }
  const encoded = Buffer.concat([...parts, Buffer.from([0])])
  return encoded.length > nameBytesMax ? undefined : encoded
}

/** A name and where it ends; pointers lead back only (RFC 1035 4.1.4). @throws RangeError */
function nameAt(bytes: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = []
  let at = start
  let end = 0
  let floor = start
  let size = 0
  for (;;) {
    const length = bytes.readUInt8(at)
    if ((length & pointer) === pointer) {
      const to = bytes.readUInt16BE(at) & 0x3fff
      if (end === 0) end = at + 2
      if (to >= floor) throw new RangeError('a pointer that does not lead back')
      floor = to
      at = to
      continue
    }
    if (length > labelBytesMax) throw new RangeError('a label of an unknown kind')
    if (length === 0) return { name: labels.join('.').toLowerCase(), end: end === 0 ? at + 1 : end }
    size += length + 1
    if (size > nameBytesMax || at + 1 + length > bytes.length) throw new RangeError('a name that is too long')
    labels.push(bytes.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
}
