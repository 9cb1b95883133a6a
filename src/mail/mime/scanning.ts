// The tree of a message in memory, found in steps: senders decide how many parts there are to find.
//
// Promises: the tree is the one that is found in one go (mime.ts).

import { arrivalPace } from '#lib/pace.ts'
import { type MimePart, MimeScanner } from './mime.ts'

/** The tree of a message that arrives; one of many parts lets others have their turn. */
export async function scanInSlices(message: Buffer): Promise<MimePart> {
  const pace = arrivalPace()
  const steps = scanningMime(message)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (pace.spent) await pace.turn()
  }
}

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
