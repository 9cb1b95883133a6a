// The hash of a message's body as DKIM canonicalizes it (RFC 6376 3.4.3, 3.4.4), computed from chunks as they come.
//
// Pure, linear, and nothing is kept of the body: what stays as it is goes to the hash in one piece, only runs of white space
// and line ends are looked at. A LF without CR counts as a line end; a CR without LF is content. The library that checks
// signatures (mailauth) does the same byte by byte and line by line, which cost more than all other checks together; it is the
// oracle of the test.

import { createHash, type Hash } from 'node:crypto'

const tab = 0x09
const feed = 0x0a
const carriage = 0x0d
const space = 0x20

const oneSpace = Buffer.from(' ')
const oneCarriage = Buffer.from('\r')
const lineEnd = Buffer.from('\r\n')
const breaksAtOnce = 512
const lineEnds = Buffer.from('\r\n'.repeat(breaksAtOnce))

/** Bytes that are looked at in one go. */
const stretchBytes = 2048

/**
 * Of two bytes, the first in the lower half: whether they do not simply stay as they are. A look into a table costs a byte what
 * telling blanks from letters costs many times over, since where a word ends nobody foresees.
 */
const strangePairs = { relaxed: pairsOf([tab], [space]), simple: pairsOf([], []) }

function pairsOf(never: readonly number[], single: readonly number[]): Uint8Array {
  const pairs = new Uint8Array(2 ** 16)
  for (let one = 0; one < 256; one++) {
    for (const code of never) pairs[(one << 8) | code] = pairs[(code << 8) | one] = 1
    if (one !== feed) pairs[(one << 8) | carriage] = 1
    if (one !== carriage) pairs[(feed << 8) | one] = 1
  }
  for (const code of single) for (const next of [code, carriage]) pairs[(next << 8) | code] = 1
  return pairs
}

function isUsual(chunk: Uint8Array, from: number, to: number, strange: Uint8Array): boolean {
  let found = 0
  // What stands before it is content.
  let before = 0
  for (let at = from; at < to; at++) {
    const code = chunk[at] as number
    found |= strange[(code << 8) | before] as number
    before = code
  }
  return found === 0
}

/** The end without the blanks there. */
function contentEnd(chunk: Uint8Array, from: number, to: number): number {
  let end = to
  while (end > from && (chunk[end - 1] as number) <= space && isAnyBlank(chunk[end - 1] as number)) end--
  return end
}

function isAnyBlank(code: number): boolean {
  return code === space || code === tab || code === feed || code === carriage
}

/** A signature's wish: how the body is made canonical, and how many bytes of that it covers. */
export interface BodyForm {
  readonly relaxed: boolean
  readonly algorithm: 'sha256' | 'sha1'
  /** The `l=` of the signature; undefined for all of it. */
  readonly coveredBytes?: number | undefined
}

export class BodyHash {
  readonly #relaxed: boolean
  readonly #hash: Hash
  readonly #coveredMax: number
  /** Bytes above are content, whatever the form. */
  readonly #blank: number
  /** Bytes that came. */
  byteLength = 0
  /** Bytes of the canonical body, and of these the ones that were hashed. */
  canonicalizedLength = 0
  bodyHashedBytes = 0
  /** Of the run that is under way: line ends, then white space, then a CR whose LF has not come. */
  #breaks = 0
  #white = false
  #return = false

  constructor({ relaxed, algorithm, coveredBytes = Number.POSITIVE_INFINITY }: BodyForm) {
    this.#relaxed = relaxed
    this.#hash = createHash(algorithm)
    this.#coveredMax = coveredBytes
    this.#blank = relaxed ? space : carriage
  }

  update(chunk: Uint8Array): void {
    this.byteLength += chunk.length
    const strange = this.#relaxed ? strangePairs.relaxed : strangePairs.simple
    let at = this.#run(chunk, 0)
    while (at < chunk.length) {
      // A stretch of which every byte stays as it is goes on whole, as far as what stands at its end is content.
      const end = contentEnd(chunk, at, Math.min(chunk.length, at + stretchBytes))
      if (end > at && isUsual(chunk, at, end, strange)) {
        this.#emit(chunk.subarray(at, end))
        at = this.#run(chunk, end)
      } else at = this.#take(chunk, at, Math.min(chunk.length, at + stretchBytes))
    }
  }

  /** Content and the runs between it, from where content begins up to `to` at least. @returns where content begins again */
  #take(chunk: Uint8Array, start: number, to: number): number {
    const blank = this.#blank
    let at = start
    /** From here on nothing was given to the hash. */
    let from = start
    while (at < to) {
      const code = chunk[at] as number
      if (code > blank || !this.#isBlank(code)) {
        at += 1
        continue
      }
      // What most runs are stays as it is: one space, one line end.
      const next = chunk[at + 1] as number
      if (code === space && next > space) {
        at += 2
        continue
      }
      if (code === carriage && next === feed && (chunk[at + 2] as number) > space) {
        at += 3
        continue
      }
      this.#emit(chunk.subarray(from, at))
      at = this.#run(chunk, at)
      from = at
    }
    this.#emit(chunk.subarray(from, at))
    return at
  }

  /** @returns the hash in base64; nothing may come any more */
  digest(): string {
    if (this.#return) this.#emitReturn()
    // White space and empty lines at the end count for nothing; a last line without its end gets one.
    if (this.canonicalizedLength > 0 || !this.#relaxed) this.#emit(lineEnd)
    return this.#hash.digest('base64')
  }

  #isBlank(code: number): boolean {
    return code === feed || code === carriage || (this.#relaxed && (code === space || code === tab))
  }

  /** Takes a run of blanks in; what it comes to is given on when content follows. @returns where it ends */
  #run(chunk: Uint8Array, start: number): number {
    let at = start
    for (; at < chunk.length; at++) {
      const code = chunk[at] as number
      if (code === feed) {
        this.#breaks += 1
        this.#white = false
        this.#return = false
      } else if (!this.#isBlank(code)) {
        this.#settle()
        return at
      } else {
        if (this.#return) this.#emitReturn()
        if (code === carriage) this.#return = true
        else this.#white = true
      }
    }
    return at
  }

  #settle(): void {
    if (this.#return) this.#emitReturn()
    for (let left = this.#breaks; left > 0; left -= breaksAtOnce) {
      this.#emit(left >= breaksAtOnce ? lineEnds : lineEnds.subarray(0, 2 * left))
    }
    this.#breaks = 0
    if (this.#white) this.#emit(oneSpace)
    this.#white = false
  }

  /** A CR that was no line end. */
  #emitReturn(): void {
    this.#return = false
    this.#settle()
    this.#emit(oneCarriage)
  }

  #emit(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.canonicalizedLength += bytes.length
    const left = this.#coveredMax - this.bodyHashedBytes
    if (left <= 0) return
    const covered = bytes.length <= left ? bytes : bytes.subarray(0, left)
    this.bodyHashedBytes += covered.length
    this.#hash.update(covered)
  }
}
