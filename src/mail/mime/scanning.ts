// The tree of a message in memory, found in steps: senders decide how many parts there are to find.
//
// Promises: the tree is the one that is found in one go (mime.ts).

import { type MimePart, MimeScanner } from './mime.ts'

/** Yields where whoever reads may rest. Header blocks may be views of `message`. */
export function* scanningMime(message: Buffer): Generator<undefined, MimePart> {
  const scanner = new MimeScanner(true)
  for (let at = 0; at < message.length; at += stepBytes) {
    if (at > 0) yield
    scanner.write(message.subarray(at, at + stepBytes))
  }
  return scanner.end()
}

/** In them lie some hundred parts at most: a millisecond. */
const stepBytes = 4 * 1024
