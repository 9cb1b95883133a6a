// Where each part of a stored message lies, and what BODY[...] means in bytes (RFC 9051 6.4.5, RFC 3516).
//
// Promises: the index is plain JSON, some twenty bytes for each part; a section is found without reading the message.

import type { MimePart } from './mime.ts'

/** Kinds of parts: a leaf whose body is as it is, those with an encoding, and two that hold others. */
const identity = 0
export const base64 = 1
export const quotedPrintable = 2
export const uuencode = 3
/** An encoding that is not known: BINARY answers UNKNOWN-CTE. */
export const unknownEncoding = 4
export const multipart = 5
/** An embedded message that was looked into. */
export const embedded = 6

export type PartIndex = readonly [
  headerStart: number,
  bodyStart: number,
  bodyEnd: number,
  kind: number,
  children?: readonly PartIndex[],
]

export interface Range {
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

export type SectionKind = 'BODY' | 'HEADER' | 'TEXT' | 'MIME'

export function partIndex(part: MimePart): PartIndex {
  const { headerStart, headerEnd, bodyEnd, children } = part
  if (children.length === 0) return [headerStart, headerEnd, bodyEnd, encodingKind(part.encoding)]
  const kind = part.type.value.startsWith('multipart/') ? multipart : embedded
  return [headerStart, headerEnd, bodyEnd, kind, children.map(partIndex)]
}

/** The part at `path` (`1.2` is [1, 2], the message itself []), or null where there is none. */
export function partAt(root: PartIndex, path: readonly number[]): PartIndex | null {
  let part = root
  let whole = true // `part` is a message, so its only part may be called 1
  for (const number of path) {
    if (!whole && part[3] === embedded) {
      part = childAt(part, 0)
      whole = true
    }
    if (part[3] === multipart) {
      const child = part[4]?.[number - 1]
      if (!child) return null
      part = child
    } else if (!whole || number !== 1) return null
    whole = false
  }
  return part
}

/**
 * The bytes of BODY[path.kind]: without a path the message, its header or its text; with one the part's body (BODY), its
 * own MIME header, or the header or text of the message within it. Null where there is no such part.
 */
export function sectionRange(root: PartIndex, path: readonly number[], kind: SectionKind): Range | null {
  if (path.length === 0) {
    if (kind === 'MIME') return null
    return { start: kind === 'TEXT' ? root[1] : root[0], end: kind === 'HEADER' ? root[1] : root[2] }
  }
  const part = partAt(root, path)
  if (!part) return null
  if (kind === 'BODY') return { start: part[1], end: part[2] }
  if (kind === 'MIME') return { start: part[0], end: part[1] }
  if (part[3] !== embedded) return null
  const message = childAt(part, 0)
  return kind === 'HEADER' ? { start: message[0], end: message[1] } : { start: message[1], end: message[2] }
}

function childAt(part: PartIndex, at: number): PartIndex {
  return part[4]?.[at] as PartIndex
}

function encodingKind(encoding: string): number {
  if (encoding === 'base64') return base64
  if (encoding === 'quoted-printable') return quotedPrintable
  if (encoding === '7bit' || encoding === '8bit' || encoding === 'binary') return identity
  return /^x-uu|^uuencode/.test(encoding) ? uuencode : unknownEncoding
}
