// What a message that arrives says, as the screening looks at it: read once, whoever asks (lists of links, the classifier, each of its
// recipients), where its bytes are, since its parts were worked out there.

import { limits } from '#lib/limits.ts'
import { Aside } from '#lib/memoize.ts'
import { type Features, featuresOf, type SpamText } from '#mail/spam/features.ts'
import { readSpamText, spamTextIn } from '#mail/spam/spam-text.ts'
import type { Received } from '#store/bodies/bodies.ts'
import { outlineOf } from '../delivery/prepare.ts'

const texts = new Aside<Received, Promise<SpamText>>()

export function saidIn(received: Received): Promise<SpamText> {
  let found = texts.get(received)
  if (found === undefined) {
    const read = (start: number, end: number) => received.read(start, end)
    found = outlineOf(received).then(outlined => spamTextIn(received.root, outlined, read))
    texts.set(received, found)
  }
  return found
}

/** The same of one of which there are only bytes; its beginning is read. */
export async function saidBy(bytes: AsyncIterable<Buffer>): Promise<SpamText> {
  const chunks: Buffer[] = []
  let left: number = limits.spam.messageBytesMax
  for await (const chunk of bytes) {
    chunks.push(chunk.subarray(0, left))
    left -= chunk.length
    if (left <= 0) break
  }
  return readSpamText(Buffer.concat(chunks))
}

const features = new Aside<SpamText, Features>()

/** What the classifier sees of it. */
export function featuresIn(text: SpamText): Features {
  let found = features.get(text)
  if (found === undefined) {
    found = featuresOf(text)
    features.set(text, found)
  }
  return found
}
