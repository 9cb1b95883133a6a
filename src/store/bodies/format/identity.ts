// Whether two received messages are the same: a hash of all of a message but its trace fields (mail/header/trace.ts).
//
// It is made of what cutting has found already, the hashes of the parts and the bytes between them, so that a message with
// files costs no second pass. Equal hashes mean equal bytes below the trace; the other way does not always hold: a message
// near limits.body.chunkBytes may be cut elsewhere when its trace is longer, and then counts as another one.

import { hash } from 'node:crypto'
import type { Header } from '#mail/header/header.ts'
import { withoutTrace } from '#mail/header/trace.ts'
import type { Cut } from './cut.ts'

/** SHA-256, base64. */
export function identityOf(header: Header, { row, spans }: Cut): string {
  const { skeleton, parts } = row
  const literal = Buffer.from(skeleton.buffer, skeleton.byteOffset, skeleton.length)
  // A header that did not fit into the skeleton counts whole.
  const headerBytes = header.block.length <= literal.length ? header.block.length : 0
  const kept = headerBytes === 0 ? [] : withoutTrace(header)
  const keptBytes = kept.reduce((sum, piece) => sum + piece.length, 0)
  const cut = headerBytes - keptBytes
  const layout = spans.map(({ before, length, lines }, at) => [
    before - (at === 0 ? cut : 0),
    length,
    lines === null ? 0 : [lines.width, lines.ending],
  ])
  // The lengths in front say where one thing ends and the next begins.
  const frame = Buffer.from(JSON.stringify([literal.length - cut, layout]))
  const pieces = [frame, ...kept, literal.subarray(headerBytes), ...parts.map(part => part.hash)]
  return hash('sha256', Buffer.concat(pieces), 'base64')
}
