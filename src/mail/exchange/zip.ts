// An archive (.zip, APPNOTE.TXT 6.3) made as its reader takes it, of files whose sizes nobody knows before they are written.
//
// Held are one piece of the file under way and what the list at the end says of each: a name and some numbers. Files and archives
// of more than 4 GB are written in the larger form (zip64). What fails meanwhile ends the archive without its list, so that nobody
// takes a part for the whole.

import { pipeline } from 'node:stream'
import { constants, crc32, createDeflateRaw } from 'node:zlib'
import { fitFileName } from './file-name.ts'

export interface ZipFile {
  /** Its path, with `/`; the caller sees to it that it is good and its own (`fileName`). */
  readonly name: string
  /** Milliseconds since 1970. */
  readonly time: number
  readonly bytes: AsyncIterable<Uint8Array>
}

interface Listed {
  readonly name: Buffer
  readonly stamp: number
  readonly crc: number
  readonly size: number
  readonly packed: number
  readonly at: number
}

/** What does not fit the small form; the list then says so in its place. */
const sizeLimit = 0xffff_ffff
const countLimit = 0xffff
const versionSmall = 20
const versionLarge = 45
/** Sizes follow the bytes, names are UTF-8. */
const flags = 0x08_08
const deflated = 8

export interface ZipOptions {
  /** From this size on the larger form is used, where a test does not want 4 GB for it. */
  readonly largeFrom?: number
}

export async function* zip(files: AsyncIterable<ZipFile>, { largeFrom = sizeLimit }: ZipOptions = {}) {
  const list: Listed[] = []
  let at = 0
  for await (const { name: text, time, bytes } of files) {
    const name = Buffer.from(text)
    const stamp = dosTime(time)
    const begin = at
    const head = localHead(name, stamp)
    yield head
    const counted = { crc: 0, size: 0 }
    let packed = 0
    for await (const piece of deflate(bytes, counted)) {
      packed += piece.length
      yield piece
    }
    const tail = descriptor(counted, packed, largeFrom)
    yield tail
    at += head.length + packed + tail.length
    list.push({ name, stamp, ...counted, packed, at: begin })
  }
  const listAt = at
  for (const one of list) {
    const entry = listEntry(one, largeFrom)
    at += entry.length
    yield entry
  }
  yield listEnd(list.length, listAt, at - listAt, largeFrom)
}

/** Level 1: mail packs a little, and nobody waits for more. */
function deflate(bytes: AsyncIterable<Uint8Array>, counted: { crc: number; size: number }): AsyncIterable<Buffer> {
  async function* counting() {
    for await (const piece of bytes) {
      counted.crc = crc32(piece, counted.crc)
      counted.size += piece.length
      yield piece
    }
  }
  // Its error is that of the stream, which whoever reads it meets.
  return pipeline(counting(), createDeflateRaw({ level: constants.Z_BEST_SPEED }), () => {})
}

/** Two seconds are told apart, from 1980 on (4.4.6). */
function dosTime(time: number): number {
  const date = new Date(Math.max(time, Date.UTC(1980, 0, 1)))
  const day = ((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate()
  const clock = (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1)
  return ((day << 16) | clock) >>> 0
}

function localHead(name: Buffer, stamp: number): Buffer {
  const head = Buffer.alloc(30)
  head.writeUInt32LE(0x04_03_4b_50, 0)
  head.writeUInt16LE(versionSmall, 4)
  head.writeUInt16LE(flags, 6)
  head.writeUInt16LE(deflated, 8)
  head.writeUInt32LE(stamp, 10)
  head.writeUInt16LE(name.length, 26)
  return Buffer.concat([head, name])
}

/** What was not known at the head of the file. */
function descriptor({ crc, size }: { crc: number; size: number }, packed: number, largeFrom: number): Buffer {
  const isLarge = size >= largeFrom || packed >= largeFrom
  const tail = Buffer.alloc(isLarge ? 24 : 16)
  tail.writeUInt32LE(0x08_07_4b_50, 0)
  tail.writeUInt32LE(crc, 4)
  if (isLarge) {
    tail.writeBigUInt64LE(BigInt(packed), 8)
    tail.writeBigUInt64LE(BigInt(size), 16)
  } else {
    tail.writeUInt32LE(packed, 8)
    tail.writeUInt32LE(size, 12)
  }
  return tail
}

function listEntry({ name, stamp, crc, size, packed, at }: Listed, largeFrom: number): Buffer {
  const isLarge = size >= largeFrom || packed >= largeFrom || at >= largeFrom
  const entry = Buffer.alloc(46)
  entry.writeUInt32LE(0x02_01_4b_50, 0)
  // Made on Unix, whose mode stands in the attributes below.
  entry.writeUInt16LE((3 << 8) | (isLarge ? versionLarge : versionSmall), 4)
  entry.writeUInt16LE(isLarge ? versionLarge : versionSmall, 6)
  entry.writeUInt16LE(flags, 8)
  entry.writeUInt16LE(deflated, 10)
  entry.writeUInt32LE(stamp, 12)
  entry.writeUInt32LE(crc, 16)
  entry.writeUInt32LE(isLarge ? sizeLimit : packed, 20)
  entry.writeUInt32LE(isLarge ? sizeLimit : size, 24)
  entry.writeUInt16LE(name.length, 28)
  entry.writeUInt16LE(isLarge ? 28 : 0, 30)
  entry.writeUInt32LE((0o100_600 << 16) >>> 0, 38)
  entry.writeUInt32LE(isLarge ? sizeLimit : at, 42)
  if (!isLarge) return Buffer.concat([entry, name])
  const more = Buffer.alloc(28)
  more.writeUInt16LE(1, 0)
  more.writeUInt16LE(24, 2)
  more.writeBigUInt64LE(BigInt(size), 4)
  more.writeBigUInt64LE(BigInt(packed), 12)
  more.writeBigUInt64LE(BigInt(at), 20)
  return Buffer.concat([entry, name, more])
}

function listEnd(count: number, at: number, size: number, largeFrom: number): Buffer {
  const isLarge = count >= countLimit || at >= largeFrom || size >= largeFrom
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06_05_4b_50, 0)
  end.writeUInt16LE(isLarge ? countLimit : count, 8)
  end.writeUInt16LE(isLarge ? countLimit : count, 10)
  end.writeUInt32LE(isLarge ? sizeLimit : size, 12)
  end.writeUInt32LE(isLarge ? sizeLimit : at, 16)
  if (!isLarge) return end
  const large = Buffer.alloc(56 + 20)
  large.writeUInt32LE(0x06_06_4b_50, 0)
  large.writeBigUInt64LE(44n, 4)
  large.writeUInt16LE((3 << 8) | versionLarge, 12)
  large.writeUInt16LE(versionLarge, 14)
  large.writeBigUInt64LE(BigInt(count), 24)
  large.writeBigUInt64LE(BigInt(count), 32)
  large.writeBigUInt64LE(BigInt(size), 40)
  large.writeBigUInt64LE(BigInt(at), 48)
  // Where that stands.
  large.writeUInt32LE(0x07_06_4b_50, 56)
  large.writeBigUInt64LE(BigInt(at + size), 64)
  large.writeUInt32LE(1, 72)
  return Buffer.concat([large, end])
}

/** Bytes of a part of a path that every file system takes. */
const partBytesMax = 200

/** Names of files, each once, as every file system takes them (also those that know no case), however strangers chose them. */
export class FileNames {
  readonly #taken = new Set<string>()
  /** The number that was tried last for a name: thousands may be called the same. */
  readonly #last = new Map<string, number>()

  /** @param parts folders and the name; @param ending of the name, `.mbox` */
  take(parts: readonly string[], ending = ''): string {
    const last = parts.length - 1
    // A folder `a.mbox` would stand where the file of the folder `a` stands.
    const path = parts.map((part, at) => (at < last ? clean(part).replace(/\.mbox$/i, '_mbox') : clean(part))).join('/')
    const key = `${path}${ending}`.toLowerCase()
    for (let number = (this.#last.get(key) ?? 0) + 1; ; number += 1) {
      const name = number === 1 ? `${path}${ending}` : numbered(path, ending, number)
      const folded = name.toLowerCase()
      if (this.#taken.has(folded)) continue
      this.#taken.add(folded)
      this.#last.set(key, number)
      return name
    }
  }
}

/** `a (2).txt`: before the ending, so that it is still opened by what opens such files. */
function numbered(path: string, ending: string, number: number): string {
  if (ending !== '') return `${path} (${number})${ending}`
  const [, before = path, after = ''] = /^(.*?)(\.[^./]{1,12})?$/s.exec(path) ?? []
  return `${before} (${number})${after}`
}

function clean(part: string): string {
  return fitFileName(part, partBytesMax)
}
