// A stored body as if it had just arrived: how a queued message is delivered here, and a stored one is tried on filters.
// Nothing is received again; a unit only counts one more message that carries the body.
//
// It promises the same facts as a first arrival, so that filters cannot tell the difference, and reads the text at most
// once. It must not be asked about a body that no row holds.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { FilterMail } from '#mail/filter/filter.ts'
import { Header } from '#mail/header/header.ts'
import type { ReadRange } from '#mail/mime/decode.ts'
import { wholeText } from '#mail/text/long-text.ts'
import { readParts, readSaid } from '#mail/text/said.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { StoredDetail, StoredSummary } from '#store/mailboxes/outlines.ts'
import { storedOutline } from '#store/mailboxes/stored-outline.ts'
import type { Prepared } from '../mailbox/append.ts'
import { referenceHash, refersOf } from './prepare.ts'
import type { Arriving } from './rules.ts'

const empty = new Uint8Array(0)

/**
 * A stored body, ready for another folder. It must be held by a row for as long as the result is used.
 *
 * @throws Fault MessageNotFound
 */
export async function prepareStored(read: Reader, body: number): Promise<Prepared> {
  const outline = await storedOutline(read, body)
  if (outline === undefined) throw new Fault('MessageNotFound')
  const summary = JSON.parse(outline.summary) as StoredSummary
  const { size } = JSON.parse(outline.detail) as StoredDetail
  // A row of old may have neither.
  const { identity = '', messageId = '' } = summary
  return {
    body,
    // Counted by its number; the rest is never looked at, since the body is there.
    row: { num: body, size, added: 0, recipe: null, skeleton: empty, parts: [] },
    weight: 100,
    size,
    outline,
    // Its row is there, where it could be.
    header: null,
    attachments: summary.attachments.some(({ related }) => !related),
    files: summary.attachments.length,
    messageId,
    identity,
    hash: referenceHash(messageId || `body ${body}`),
    refers: refersOf(summary),
  }
}

/** The same with what rules look at. `prefix` are header lines on top of the body. */
export async function arriveStored(
  read: Reader,
  bodies: Bodies,
  stored: { readonly body: number; readonly prefix: string; readonly from: string; readonly score?: number },
): Promise<Arriving> {
  const prepared = await prepareStored(read, stored.body)
  const detail = JSON.parse(wholeText(prepared.outline.detail)) as StoredDetail
  const body = await bodies.open(stored.body)
  const block = await body.read(0, detail.headerSize)
  const header = new Header(Buffer.concat([Buffer.from(stored.prefix), block]), detail.texts[0]?.charset)
  return arriving(prepared, header, stored, async () => {
    return readable(detail, (start, end) => body.read(start, end))
  })
}

/** A message that was just received. */
export function arriveReceived(
  prepared: Prepared,
  received: Received,
  { from, score }: { readonly from: string; readonly score?: number },
): Arriving {
  const read = () => {
    return readable(JSON.parse(wholeText(prepared.outline.detail)) as StoredDetail, (start, end) =>
      received.read(start, end),
    )
  }
  return arriving(prepared, received.root.header, { prefix: '', from, ...(score !== undefined && { score }) }, read)
}

/** The text that conditions are about: the same that searches find. */
async function readable(detail: StoredDetail, read: ReadRange): Promise<string> {
  return (await readSaid(await readParts(detail, read), read, limits.mime.textBytesMax)).text
}

/** Puts together what rules look at; the text is read once at most. */
function arriving(
  prepared: Prepared,
  header: Header,
  envelope: { readonly prefix: string; readonly from: string; readonly score?: number },
  read: () => Promise<string>,
): Arriving {
  let text: Promise<string> | undefined
  const hasAttachment = () => prepared.files > 0
  const { prefix, from, score = 0 } = envelope
  return {
    ...{ prepared, header, prefix, from, score },
    text: () => {
      text ??= read()
      return text
    },
    mail: new FilterMail({ header, size: prepared.size, hasAttachment }),
  }
}
