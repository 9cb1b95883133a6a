// Headers that say how a message was judged (wire-details 8, Delivery order): what they say, and keeping a stranger's out.
//
// Only where the configuration asks for them. A copy that came in with the message is cut out before anybody sees it, so
// that what stands there is ours; nothing else of the message changes. A header block beyond limits.mime.headerBytesMax is
// not looked at, here as anywhere.

import { limits } from '#lib/limits.ts'
import { cutFields } from '#mail/rewrite.ts'
import type { Bodies, Received } from '#store/blobs.ts'
import type { Trace } from '#store/rules/trace.ts'

const name = 'WD-Mail-Classification'
const names = ['', '-Source', '-Info'].map(part => name + part)
const keys = new Set(names.map(one => one.toLowerCase()))

/** Who decided, and how that is said. */
const sources = {
  domain: ['user-domainaccess', 'The sender domain is on a list'],
  level: ['user-spamlevel', 'The spam level decided'],
  filter: ['user-filter', 'A filter decided'],
} as const

/** The header lines of a verdict. */
export function classification({ spam, by }: NonNullable<Trace['verdict']>): string {
  const [source, info] = sources[by as keyof typeof sources] ?? sources.filter
  const values = [spam ? 'junk' : 'not-junk', source, info]
  return names.map((one, at) => `${one}: ${values[at]}\r\n`).join('')
}

/**
 * The message without such headers, for the caller to discard; null where it has none.
 *
 * @param top its first bytes: the header block with the empty line, or as much of it as is looked at
 */
export async function withoutClassification(
  bodies: Bodies,
  message: { readonly top: Buffer; readonly size: number; rest(): AsyncIterable<Buffer> },
): Promise<Received | null> {
  const top = cutFields(message.top, keys)
  if (top.length === message.top.length) return null
  const intake = bodies.intake(message.size)
  try {
    await intake.write(top)
    for await (const chunk of message.rest()) await intake.write(chunk)
    return await intake.finish()
  } catch (error) {
    await intake.abort()
    throw error
  }
}

/** How much of a header block is looked at. */
export function topOf(headerEnd: number): number {
  return Math.min(headerEnd, limits.mime.headerBytesMax)
}
