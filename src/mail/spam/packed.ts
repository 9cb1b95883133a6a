// Features as bytes: how a learned message is kept for being trained again, and crosses from a thread.
//
// Rising numbers as differences (the first as one more than it is), seven bits a byte, lowest first: pieces, a byte of 0, words.
// No difference is 0 and none ends with a byte of 0, so that the mark is found.

import type { Features } from './features.ts'

export function packFeatures({ grams, words }: Features): Uint8Array {
  const bytes = new Uint8Array(5 * (grams.length + words.length) + 1)
  let at = write(bytes, 0, grams)
  bytes[at++] = 0
  at = write(bytes, at, words)
  return bytes.slice(0, at)
}

/** Of bytes that end anywhere, what they say until then. */
export function unpackFeatures(bytes: Uint8Array): Features {
  const end = bytes.indexOf(0)
  const middle = end < 0 ? bytes.length : end
  return { grams: read(bytes.subarray(0, middle)), words: read(bytes.subarray(middle + 1)) }
}

function write(bytes: Uint8Array, start: number, slots: Uint32Array): number {
  let at = start
  let before = -1
  for (const slot of slots.slice().sort()) {
    let rest = slot - before
    before = slot
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes[at++] = (rest & 0x7f) | 0x80
    bytes[at++] = rest
  }
  return at
}

function read(bytes: Uint8Array): Uint32Array {
  const slots: number[] = []
  let before = -1
  let value = 0
  let unit = 1
  for (const byte of bytes) {
    value += (byte & 0x7f) * unit
    unit *= 128
    if ((byte & 0x80) !== 0) continue
    before += value
    slots.push(before)
    value = 0
    unit = 1
  }
  return Uint32Array.from(slots)
}
