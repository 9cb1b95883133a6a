// Trace fields (RFC 5322 3.6.7): what those who carry a message put on top of it, how, and what is left without them.
//
// What is left is the message as its author wrote it. Two copies of one message that came by different ways differ in
// their trace alone; two messages that claim one Message-ID differ below it. DKIM-Signature counts as trace: forwarders and
// lists sign anew, senders do so at each try, and nobody reads it. Resent fields and what filters say (X-Spam-...) do not:
// the first are somebody's act, of the others there is no end, and a mail stored twice is better than one that is lost.

import type { Header } from './header.ts'

const keys: ReadonlySet<string> = new Set([
  'received',
  'x-received',
  'received-spf',
  'return-path',
  'delivered-to',
  'x-delivered-to',
  'envelope-to',
  'x-envelope-to',
  'x-original-to',
  'authentication-results',
  'arc-seal',
  'arc-message-signature',
  'arc-authentication-results',
  'dkim-signature',
  'x-google-dkim-signature',
])

/**
 * The lines that a message gets on top. One without a header of its own begins with its text: the empty line between the two is theirs,
 * or whoever reads the message takes the text for a part of its header.
 *
 * @param headerSize bytes of its own header, with the empty line
 */
export function topOf(lines: string, headerSize: number): string {
  return headerSize === 0 && !isClosed(lines) ? `${lines}\r\n` : lines
}

/** More lines below those on top. */
export function addedTo(top: string, lines: string): string {
  return isClosed(top) ? `${top.slice(0, -2)}${lines}\r\n` : top + lines
}

function isClosed(top: string): boolean {
  return top.endsWith('\r\n\r\n')
}

/**
 * The bytes of a header block that are no trace, in order. Lines that are no field, and fields beyond
 * limits.mime.headerFieldsMax, are no trace either.
 */
export function withoutTrace({ block, fields }: Header): Buffer[] {
  const pieces: Buffer[] = []
  let kept = 0
  for (const { key, start, end } of fields) {
    if (!keys.has(key)) continue
    if (start > kept) pieces.push(block.subarray(kept, start))
    kept = lineAfter(block, end)
  }
  if (kept < block.length) pieces.push(kept === 0 ? block : block.subarray(kept))
  return pieces
}

/** Where the line goes on that begins behind a field's value. */
function lineAfter(block: Buffer, end: number): number {
  const feed = block.indexOf(0x0a, end)
  return feed < 0 ? block.length : feed + 1
}
