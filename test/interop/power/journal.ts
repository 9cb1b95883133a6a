// Reads what recorder.c wrote, and adds to it what the client of the recorded service knows: that it is about to ask for
// something, that it has the answer. Both end in one file, each record with one write, so their order is the true one.

import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

export interface Entry {
  /** Where the record begins and ends in the journal: the clock of everything here. */
  readonly start: number
  readonly end: number
  /**
   * c: a file was made, d: a folder was made, u: a name was removed, l: a second name, r: a name was changed, w: bytes
   * were written, W: the same and synced, t: a file was cut, s: a sync that began at `at` has ended, m: mapped for
   * writing, k: the client's mark.
   */
  readonly kind: string
  readonly ino: number
  /** Offset of the bytes, length of the file, or the place in the journal where a sync began. */
  readonly at: number
  readonly path: string
  readonly other: string
  readonly data: Buffer
}

const headBytes = 40

/** All records of the journal in `file`. */
export function readJournal(file: string): Entry[] {
  const bytes = readFileSync(file)
  const entries: Entry[] = []
  for (let start = 0; start < bytes.length; ) {
    const total = bytes.readUInt32LE(start)
    const lengths = [24, 28, 32].map(at => bytes.readUInt32LE(start + at))
    const [path = 0, other = 0, data = 0] = lengths
    if (total !== headBytes + path + other + data || start + total > bytes.length) {
      throw new Error(`the journal is torn at ${start}`)
    }
    const body = start + headBytes
    entries.push({
      start,
      end: start + total,
      kind: String.fromCharCode(bytes[start + 4] ?? 0),
      ino: Number(bytes.readBigUInt64LE(start + 8)),
      at: Number(bytes.readBigUInt64LE(start + 16)),
      path: bytes.toString('utf8', body, body + path),
      other: bytes.toString('utf8', body + path, body + path + other),
      data: bytes.subarray(body + path + other, start + total),
    })
    start += total
  }
  return entries
}

/** The client's hand in a journal. */
export class Marker {
  readonly #fd: number

  constructor(file: string) {
    this.#fd = openSync(file, 'a', 0o600)
  }

  /** Everything recorded from now on comes after this. */
  mark(text: string): void {
    this.#write('k', 0, Buffer.from(text))
  }

  /** What is recorded happens below a folder with this number. */
  root(ino: number): void {
    this.#write('d', ino, Buffer.alloc(0))
  }

  close(): void {
    closeSync(this.#fd)
  }

  #write(kind: string, ino: number, data: Buffer): void {
    const record = Buffer.alloc(headBytes + data.length)
    record.writeUInt32LE(record.length, 0)
    record.write(kind, 4, 'latin1')
    record.writeBigUInt64LE(BigInt(ino), 8)
    record.writeUInt32LE(data.length, 32)
    data.copy(record, headBytes)
    if (writeSync(this.#fd, record) !== record.length) throw new Error('the journal cannot be written')
  }
}
