// Bodies of answers as chunks, for who hands them to a socket one after the other (wire.ts).
//
// Promises: a source is told when nobody takes the rest of it; bytes are passed on as they are. What is long and in memory
// already goes out in slices of the loop, whose turns are its account's.

import { limits } from '#lib/limits.ts'
import { Aside } from '#lib/memoize.ts'
import { burstPace } from '#lib/pace.ts'

/** Where bodies are made that are handed over at once: as texts they would be put together, and made bytes, in fresh memory each time. */
let scratch: Buffer | undefined

/** `JSON.stringify(body, null, 2)` and a line's end, as bytes that the next call may write over. */
export function jsonLine(body: object): Uint8Array {
  const text = JSON.stringify(body, null, 2)
  if (text.length * bytesMax >= limits.http.scratchBytes) return Buffer.from(`${text}\n`)
  scratch ??= Buffer.allocUnsafeSlow(limits.http.scratchBytes)
  const length = scratch.write(text)
  scratch[length] = 0x0a
  return scratch.subarray(0, length + 1)
}

/** Of UTF-8 for one unit of UTF-16. */
const bytesMax = 3

/** Lists whose rows hold so much text that printing them is work. */
export const longLists = new Aside<readonly unknown[], true>()

/** Whether an answer is to be printed by `inSlices`. */
export function isLong({ results }: { readonly results?: unknown }): boolean {
  return Array.isArray(results) && longLists.get(results) === true
}

/**
 * What `JSON.stringify(body, null, 2)` gives of an object of values and lists, and a line's end, as bytes; long lists go item
 * by item, and others have their turn in between. @param key whose turns these are
 */
export async function inSlices(body: object, key: string): Promise<Buffer[]> {
  const pace = burstPace(key)
  const bytes: Buffer[] = []
  let text = ''
  for (const piece of printing(body, '')) {
    text += piece
    if (!pace.spent && text.length < limits.body.chunkBytes) continue
    bytes.push(Buffer.from(text))
    text = ''
    if (pace.spent) await pace.turn()
  }
  bytes.push(Buffer.from(`${text}\n`))
  return bytes
}

/** A list of so many items is printed in one go. */
const shortListMax = 20

function isLarge(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return false
  if (Array.isArray(value)) return value.length > shortListMax || value.some(isLarge)
  return Object.values(value).some(isLarge)
}

/** The text of a value in pieces, none of which is much. */
function* printing(value: unknown, by: string): Generator<string> {
  if (!isLarge(value)) {
    yield (JSON.stringify(value, null, 2) ?? 'null').replaceAll('\n', `\n${by}`)
    return
  }
  const isList = Array.isArray(value)
  let before = isList ? '[' : '{'
  for (const [name, item] of isList ? value.entries() : Object.entries(value)) {
    if (item === undefined && !isList) continue
    yield `${before}\n${by}  ${isList ? '' : `${JSON.stringify(name)}: `}`
    yield* printing(item, `${by}  `)
    before = ','
  }
  yield `\n${by}${isList ? ']' : '}'}`
}

/** For a pipe: others have their turn while these are handed to a socket. @param key whose turns these are */
export async function* inTurns(pieces: readonly Buffer[], key: string): AsyncGenerator<Uint8Array> {
  const pace = burstPace(key)
  for (const piece of pieces) {
    for (const slice of slices(piece)) {
      if (pace.spent) await pace.turn()
      yield slice
    }
  }
}

export function* slices(chunk: Uint8Array, bytes: number = limits.body.chunkBytes): Generator<Uint8Array> {
  for (let at = 0; at < chunk.length; at += bytes) yield chunk.subarray(at, at + bytes)
}

/**
 * For a pipe whose source reads and unpacks each chunk: however many an account takes at once, each is made in a turn of its own.
 *
 * @param key whose turns these are
 */
export async function* madeInTurns(chunks: AsyncIterable<Uint8Array>, key: string): AsyncGenerator<Uint8Array> {
  const pace = burstPace(key)
  const source = chunks[Symbol.asyncIterator]()
  try {
    for (;;) {
      if (pace.spent) await pace.turn()
      const result = await source.next()
      if (result.done === true) return
      yield result.value
    }
  } finally {
    await source.return?.()
  }
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

export async function* withFirst(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    if (first.done === true) return
    yield first.value
    for (;;) {
      const result = await rest.next()
      if (result.done === true) return
      yield result.value
    }
  } finally {
    await rest.return?.()
  }
}
