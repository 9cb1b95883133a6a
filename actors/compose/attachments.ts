// The attachments of a message that is written, from all three sources: given with it, stored as files of the account, and
// those of the message it refers to.
//
// All together are bounded by the greatest message there may be. What is taken from a stored message is proved first.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { ComposeAttachment } from '#mail/made/compose.ts'
import { collect, decodedStream } from '#mail/mime/decode.ts'
import type { User } from '#store/accounts/users.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type AttachmentPlace, readDetail } from '#store/mailboxes/outlines.ts'
import { readFile } from '../user/files.ts'
import type { MessageFields, Referenced } from './fields.ts'

interface Sources {
  readonly read: Reader
  readonly bodies: Bodies
}

/** @returns the attachments, and the ids of the stored files among them. @throws Fault MessageTooLarge, BodyUnreadable */
export async function gatherAttachments(
  sources: Sources,
  user: User,
  fields: MessageFields,
  referenced: Referenced | undefined,
): Promise<{ attachments: ComposeAttachment[]; files: string[] }> {
  const attachments: ComposeAttachment[] = [...(fields.attachments ?? [])]
  const files: string[] = []
  let room = limits.body.messageBytesMax
  const add = (one: ComposeAttachment & { content: Buffer }) => {
    room -= one.content.length
    if (room < 0) throw new Fault('MessageTooLarge')
    attachments.push(one)
  }
  for (const fileId of new Set(fields.files ?? [])) {
    const file = await readFile(sources, user.id, fileId)
    // Files that went meanwhile are left out without a word.
    if (file === undefined) continue
    if (file.size > room) throw new Fault('MessageTooLarge')
    const { filename, type: contentType, cid } = file
    add({ filename, contentType, content: await collect(file.stream(), room), ...inline(cid) })
    files.push(fileId)
  }
  if (referenced !== undefined) for (const one of await attachmentsOf(sources, referenced, room)) add(one)
  return { attachments, files }
}

async function attachmentsOf(
  { read, bodies }: Sources,
  { message, summary, attachments: wanted }: Referenced,
  room: number,
): Promise<(ComposeAttachment & { content: Buffer })[]> {
  const detail = wanted === false ? undefined : await readDetail(read, message.body)
  if (detail === undefined || wanted === false) return []
  const body = await bodies.open(message.body)
  const found: (ComposeAttachment & { content: Buffer })[] = []
  let left = room
  for (const info of summary.attachments) {
    const at = detail.attachments.find(one => one.id === info.id)
    if (at === undefined || (wanted === true ? isWithin(at, detail.attachments) : !wanted.includes(info.id))) continue
    await bodies.proof.prove(message.body, body, at.start, at.end)
    const stored = body.attachment(at.start, at.end)
    const source =
      stored === null ? decodedStream(body.stream(at.start, at.end), info.transferEncoding) : stored.stream()
    const content = await collect(source, left)
    left -= content.length
    const { filename, contentType, cid } = info
    found.push({ filename, contentType, content, ...inline(cid) })
  }
  return found
}

/** What is referred to from the text is shown in it. */
function inline(cid: string | null | undefined) {
  return cid === null || cid === undefined ? {} : { cid, contentDisposition: 'inline' as const }
}

/** Whether an attachment comes with another one, the message it is attached to. */
function isWithin(at: AttachmentPlace, all: readonly AttachmentPlace[]): boolean {
  return all.some(one => one !== at && one.start <= at.headerStart && at.end <= one.end)
}
