// What crosses between nodes as messages: small frames of one turn together in one, a large frame in several that are put
// together again.
//
// A message begins with its kind: frames, each behind its length, or a piece behind whose it is and where it belongs. A frame
// of which a piece is lost never arrives; whoever waits for what it brings asks.

import { deserialize, serialize } from 'node:v8'
import { Packr } from 'msgpackr'
import { monotonic } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'

const packr = new Packr({ structuredClone: true })

/** What the engine's own form begins with, and no frame of MessagePack, which is a map, does. */
const engineKind = 0xff

/** Data as it crosses, which is what crosses between threads. What MessagePack would change goes as the engine writes it, at four times the cost. */
export function pack(data: unknown): Buffer {
  return isPlain(data, 0) ? packr.pack(data) : serialize(data)
}

export function unpack<Data>(bytes: Buffer): Data {
  return (bytes[0] === engineKind ? deserialize(bytes) : packr.unpack(bytes)) as Data
}

/** Whether MessagePack gives it back as it is: its texts are UTF-8, which has no halves of pairs, and one name is changed where it is read. */
function isPlain(data: unknown, depth: number): boolean {
  if (typeof data === 'string') return data.isWellFormed()
  if (typeof data !== 'object' || data === null || ArrayBuffer.isView(data)) return true
  if (depth > plainDepthMax) return false
  if (Array.isArray(data) || data instanceof Set) return areAllPlain(data, depth)
  if (data instanceof Map) return areAllPlain(data.keys(), depth) && areAllPlain(data.values(), depth)
  for (const name of Object.keys(data)) {
    if (name === '__proto__' || !name.isWellFormed() || !isPlain((data as Row)[name], depth + 1)) return false
  }
  return true
}

function areAllPlain(list: Iterable<unknown>, depth: number): boolean {
  for (const one of list) if (!isPlain(one, depth + 1)) return false
  return true
}

type Row = Readonly<Record<string, unknown>>

/** Deeper than anything that crosses; a ring ends there, too. */
const plainDepthMax = 100

const framesKind = 0
const pieceKind = 1
/** Kind, sender, frame, place, places. */
const pieceHead = 1 + 8 + 4 + 4 + 4

/** Messages of so many bytes at most for frames in their order. @param sender a number of whoever sends, of 52 bits */
export function* messagesOf(
  frames: readonly Buffer[],
  max: number,
  sender: number,
  number: () => number,
): Generator<Buffer> {
  let waiting: Buffer[] = []
  let bytes = 1
  const gathered = () => {
    const message = Buffer.concat([Buffer.of(framesKind), ...waiting])
    waiting = []
    bytes = 1
    return message
  }
  for (const frame of frames) {
    if (bytes + 4 + frame.length > max && waiting.length > 0) yield gathered()
    if (1 + 4 + frame.length > max) {
      yield* piecesOf(frame, max, sender, number())
      continue
    }
    const length = Buffer.allocUnsafe(4)
    length.writeUInt32LE(frame.length)
    waiting.push(length, frame)
    bytes += 4 + frame.length
  }
  if (waiting.length > 0) yield gathered()
}

function* piecesOf(frame: Buffer, max: number, sender: number, number: number): Generator<Buffer> {
  const size = max - pieceHead
  const places = Math.ceil(frame.length / size)
  for (let place = 0; place < places; place++) {
    const head = Buffer.allocUnsafe(pieceHead)
    head.writeUInt8(pieceKind)
    head.writeDoubleLE(sender, 1)
    head.writeUInt32LE(number, 9)
    head.writeUInt32LE(place, 13)
    head.writeUInt32LE(places, 17)
    yield Buffer.concat([head, frame.subarray(place * size, (place + 1) * size)])
  }
}

interface Parts {
  readonly pieces: (Buffer | undefined)[]
  missing: number
  bytes: number
  at: number
}

/** Puts together what comes in. */
export class Arriving {
  readonly #parts = new Map<string, Parts>()
  #bytes = 0

  /** Frames that are whole with this message. */
  frames(message: Buffer): Buffer[] {
    if (message[0] === pieceKind) return this.#piece(message)
    const frames: Buffer[] = []
    for (let at = 1; at + 4 <= message.length; ) {
      const length = message.readUInt32LE(at)
      frames.push(message.subarray(at + 4, at + 4 + length))
      at += 4 + length
    }
    return frames
  }

  #piece(message: Buffer): Buffer[] {
    const key = `${message.readDoubleLE(1)} ${message.readUInt32LE(9)}`
    const [place, places] = [message.readUInt32LE(13), message.readUInt32LE(17)]
    const parts = this.#parts.get(key) ?? { pieces: Array(places).fill(undefined), missing: places, bytes: 0, at: 0 }
    this.#parts.set(key, parts)
    if (parts.pieces[place] !== undefined) return []
    const piece = message.subarray(pieceHead)
    parts.pieces[place] = piece
    parts.missing -= 1
    parts.bytes += piece.length
    parts.at = monotonic()
    this.#bytes += piece.length
    if (parts.missing === 0) {
      this.#drop(key, parts)
      return [Buffer.concat(parts.pieces as Buffer[])]
    }
    if (this.#bytes > limits.cluster.piecesBytesMax) this.#makeRoom()
    return []
  }

  /** What nobody has added to for longest goes first: pieces of it were lost. */
  #makeRoom(): void {
    const oldest = [...this.#parts].sort(([, one], [, other]) => one.at - other.at)
    for (const [key, parts] of oldest) {
      if (this.#bytes <= limits.cluster.piecesBytesMax) return
      this.#drop(key, parts)
    }
  }

  #drop(key: string, parts: Parts): void {
    this.#parts.delete(key)
    this.#bytes -= parts.bytes
  }
}
