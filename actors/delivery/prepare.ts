// From received bytes to what an append needs: everything that is worked out about a message once, before any turn.
//
// Bytes are looked at in chunks, and whatever senders can make long (parts, addresses, hashes) is done in slices of the loop,
// so that a message made to be costly holds up nobody but itself and others like it.

import { createHash, hash } from 'node:crypto'
import { limits } from '#lib/limits.ts'
import { Aside } from '#lib/memoize.ts'
import { arrivalPace, type Pace } from '#lib/pace.ts'
import { comparableId } from '#mail/header/message-id.ts'
import { listedLines } from '#mail/header/pick.ts'
import { hashBody, hashShort } from '#mail/mime/decode.ts'
import { type Attachment, hasAttachments, type Outline, outlining, type Summary } from '#mail/mime/outline.ts'
import { type LongText, longText, pieceOf } from '#mail/text/long-text.ts'
import { intro, readPlain } from '#mail/text/text.ts'
import type { Received } from '#store/bodies/bodies.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import type { StoredDetail, StoredSummary } from '#store/mailboxes/outlines.ts'
import type { Prepared } from '../mailbox/append.ts'

/** Ids a message refers to that are looked up for its thread, nearest first. */
const refersMax = 30

/**
 * Works out a received message. The body gets its number here; it is stored by the first append that carries it.
 *
 * @param known by what copies of the message are known, where that is not to be seen in these bytes
 */
export async function prepare(received: Received, sequence: Numbers, known?: string): Promise<Prepared> {
  const pace = arrivalPace()
  const outlined = await outlineOf(received)
  const dateText = received.root.header.raw('date') ?? ''
  // With neither, two of them may be two mails that say the same.
  const single = outlined.summary.messageId !== '' || dateText !== ''
  const identity = known ?? (single ? received.identity() : '')
  const madeId = outlined.summary.messageId === ''
  const messageId = madeId ? sequence.messageId(identity) : outlined.summary.messageId
  for (const attachment of outlined.attachments) {
    const hashing = hashAttachment(received, attachment)
    if (hashing !== undefined) await hashing
    if (pace.spent) await pace.turn()
  }
  const body = sequence.next('body')
  const { row, weight } = received.bodyRow(body)
  return {
    body,
    row,
    weight,
    size: received.size,
    outline: {
      envelope: longText(outlined.envelope),
      bodystructure: longText(outlined.bodyStructure),
      summary: await textOf(
        {
          ...(await summaryOf(received, outlined, dateText)),
          ...{ messageId, identity },
          ...(madeId && { madeId }),
        },
        pace,
      ),
      detail: await textOf(detailOf(outlined), pace),
    },
    header: headerOf(received, outlined),
    attachments: hasAttachments(outlined),
    files: outlined.attachments.length,
    messageId,
    identity,
    hash: referenceHash(messageId),
    refers: refersOf(outlined.summary),
  }
}

const outlines = new Aside<Received, Promise<Outline>>()

/** The parts of a message that arrives; worked out once, whoever asks. */
export function outlineOf(received: Received): Promise<Outline> {
  let found = outlines.get(received)
  if (found === undefined) {
    found = inSlices(outlining(received.takeTree()), arrivalPace())
    outlines.set(received, found)
  }
  return found
}

async function inSlices<Result>(steps: Generator<undefined, Result>, pace: Pace): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (pace.spent) await pace.turn()
  }
}

/** Attachments that are written as text in one go. */
const writtenInOneGo = 100

/** As JSON; of many attachments some at a time. */
async function textOf(stored: { readonly attachments: readonly object[] }, pace: Pace): Promise<LongText> {
  const { attachments, ...others } = stored
  if (attachments.length <= writtenInOneGo) return longText(JSON.stringify(stored))
  const pieces = [pieceOf(`${JSON.stringify(others).slice(0, -1)},"attachments":`)]
  for (let at = 0; at < attachments.length; at += writtenInOneGo) {
    if (pace.spent) await pace.turn()
    const some = pieceOf(JSON.stringify(attachments.slice(at, at + writtenInOneGo)))
    // In place of the bracket.
    if (at > 0) some[0] = comma
    pieces.push(some.subarray(0, -1))
  }
  pieces.push(pieceOf(']}'))
  return pieces
}

const comma = 0x2c

/** Hashes of the ids a message refers to, nearest first. */
export function refersOf({ messageId, inReplyTo, references }: Summary): number[] {
  const ids = [...new Set([inReplyTo, ...references.toReversed()])].filter(id => id !== '' && id !== messageId)
  return ids.slice(0, refersMax).map(referenceHash)
}

/** A Message-ID as a number of 48 bits, for finding threads. Collisions join two threads, nothing worse. */
export function referenceHash(messageId: string): number {
  return hash('sha1', comparableId(messageId), 'buffer').readUIntBE(0, 6) + 1
}

async function summaryOf(received: Received, outlined: Outline, dateText: string): Promise<StoredSummary> {
  const attachments = outlined.attachments.map(({ info }) => info)
  return { ...outlined.summary, dateText, intro: await introOf(received, outlined), attachments }
}

/** The preview; of a text that begins with much that is not shown, more is read. */
async function introOf(received: Received, { texts }: Outline): Promise<string> {
  const { introBytesMax, introPageBytesMax } = limits.mime
  for (const bytes of [introBytesMax, introPageBytesMax]) {
    const shown = intro(await readPlain(texts, readFrom(received), bytes))
    if (shown !== '') return shown
  }
  return ''
}

/** Read whole: one that is too long is not kept. */
function headerOf(received: Received, { headerSize }: Outline): string | null {
  return headerSize > limits.mime.listedHeaderBytesMax ? null : listedLines(received.read(0, headerSize))
}

function detailOf({ size, headerSize, body, attachments, texts, index }: Outline): StoredDetail {
  const places = attachments.map(({ info, part, headerStart, start, end }) => ({
    id: info.id,
    part,
    headerStart,
    start,
    end,
  }))
  return { size, headerSize, body, attachments: places, texts, index }
}

/**
 * Fills in the two hashes of an attachment: of the encoded bytes, and of the content (wire-details 7). The content's is
 * known already where the store keeps it decoded.
 */
function hashAttachment(received: Received, attachment: Attachment): void | Promise<void> {
  const { start, end, info } = attachment
  const content = received.contentHash(start)
  if (content !== null) return hashStored(received, attachment, content)
  if (end - start <= limits.body.chunkBytes) return hashShort(received.read(start, end), info)
  return hashBody(readFrom(received), start, end, info)
}

async function hashStored(received: Received, { start, end, info }: Attachment, content: Uint8Array): Promise<void> {
  const encoded = createHash('sha256')
  for await (const chunk of received.stream(start, end)) encoded.update(chunk)
  info.hash = encoded.digest('hex')
  info.fileContentHash = Buffer.from(content).toString('base64')
}

function readFrom(received: Received): (start: number, end: number) => Buffer {
  return (start, end) => received.read(start, end)
}
