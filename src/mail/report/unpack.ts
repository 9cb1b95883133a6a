// What a report comes packed in: gzip (RFC 1952), twice by some, or a zip with one file of it.
//
// Hostile: what is unpacked has an end, whatever the packing says of its size, and of a zip one entry is read and no other:
// the first that is called like a report.

import { gunzipSync, inflateRawSync } from 'node:zlib'
import { limits } from '#lib/limits.ts'

const localHeader = 0x04034b50
const centralHeader = 0x02014b50
const endOfCentral = 0x06054b50
const endBytes = 22
const commentBytesMax = 65_535
const centralBytes = 46
const localBytes = 30
const encrypted = 1
const stored = 0
const deflated = 8

/** The report itself, as it is where it is not packed. @throws RangeError for what is too much, or is broken */
export function unpack(data: Buffer): Buffer {
  const maxOutputLength = limits.arrivedReport.bytesMax
  if (data.length > limits.arrivedReport.packedBytesMax) throw new RangeError('too large')
  const zipped = data.length > endBytes && data.readUInt32LE(0) === localHeader
  const opened = zipped ? unzip(data, maxOutputLength) : isGzip(data) ? gunzipSync(data, { maxOutputLength }) : data
  if (opened !== data && isGzip(opened)) return gunzipSync(opened, { maxOutputLength })
  if (opened.length > maxOutputLength) throw new RangeError('too large')
  return opened
}

function isGzip(data: Buffer): boolean {
  return data[0] === 0x1f && data[1] === 0x8b
}

/** APPNOTE 4.3: the directory at the end says where the file is, and how long it is packed. */
function unzip(data: Buffer, maxOutputLength: number): Buffer {
  const end = endOf(data)
  const at = entryOf(data, data.readUInt32LE(end + 16))
  const flags = data.readUInt16LE(at + 8)
  const method = data.readUInt16LE(at + 10)
  const size = data.readUInt32LE(at + 20)
  const local = data.readUInt32LE(at + 42)
  if ((flags & encrypted) !== 0) throw new RangeError('encrypted')
  if (local + localBytes > data.length || data.readUInt32LE(local) !== localHeader) throw new RangeError('no file')
  const start = local + localBytes + data.readUInt16LE(local + 26) + data.readUInt16LE(local + 28)
  if (start + size > data.length) throw new RangeError('cut off')
  const packed = data.subarray(start, start + size)
  if (method === deflated) return inflateRawSync(packed, { maxOutputLength })
  if (method !== stored || packed.length > maxOutputLength) throw new RangeError('packed in an unknown way')
  return packed
}

/** Where the directory speaks of the file. */
function entryOf(data: Buffer, first: number): number {
  const isEntry = (at: number) => at + centralBytes <= data.length && data.readUInt32LE(at) === centralHeader
  if (!isEntry(first)) throw new RangeError('no directory')
  let at = first
  for (let count = 0; count < limits.arrivedReport.entriesMax && isEntry(at); count++) {
    const name = data.readUInt16LE(at + 28)
    if (reportName.test(data.toString('latin1', at + centralBytes, at + centralBytes + name))) return at
    at += centralBytes + name + data.readUInt16LE(at + 30) + data.readUInt16LE(at + 32)
  }
  return first
}

/** Not what macOS adds to each. */
const reportName = /^(?!__MACOSX\/).*\.(?:xml|json)(?:\.gz)?$/i

function endOf(data: Buffer): number {
  for (let at = data.length - endBytes; at >= Math.max(0, data.length - endBytes - commentBytesMax); at--) {
    if (data.readUInt32LE(at) === endOfCentral) return at
  }
  throw new RangeError('no end')
}
