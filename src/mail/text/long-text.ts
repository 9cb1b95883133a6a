// Texts that strangers may make long, on their way from where they are made to the row they are stored in.
//
// A long one is bytes in pieces, made as it grows. As one text it would be put together, copied to the writer and read there in
// one go, in memory that nobody has touched before: some milliseconds for what is known of a message of a thousand parts
// (bench/NOTES.md, Nobody in another's way). Bytes lie outside of the heap, so no look for garbage copies them either.

import { limits } from '#lib/limits.ts'

/** A text, or its UTF-8 in pieces, none of which ends within a character. */
export type LongText = string | readonly Uint8Array[]

const encoder = new TextEncoder()

/** Bytes of a piece of text, in memory of their own: a part of a larger one would cross to other threads with all of it. */
export function pieceOf(text: string): Uint8Array {
  return encoder.encode(text)
}

/** A text that is there already. */
export function longText(text: string): LongText {
  return text.length < limits.writer.longTextMin ? text : [pieceOf(text)]
}

/** All of it. */
export function wholeText(text: LongText): string {
  return typeof text === 'string' ? text : text.map(readPiece).join('')
}

/** Whether the expression holds for one of its pieces. */
export function someMatches(text: LongText, expression: RegExp): boolean {
  return typeof text === 'string' ? expression.test(text) : text.some(piece => expression.test(readPiece(piece)))
}

/** Bytes that cross to other threads for it, about. */
export function weightOf(text: LongText): number {
  return typeof text === 'string' ? text.length : text.reduce((sum, piece) => sum + piece.length, 0)
}

function readPiece(piece: Uint8Array): string {
  return Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString()
}
