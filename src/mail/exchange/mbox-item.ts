// What a message in an mbox file says beside itself: its flags, the folder it was in, and when it was received.
//
// Fields that were put on top of it by whoever wrote the file are taken off again; such fields further down are its own.

import { limits } from '#lib/limits.ts'
import { answered, deleted, draft, flagged, forwarded, isKeyword, seen } from '../flags.ts'
import { parseDate } from '../header/date.ts'
import { Header } from '../header/header.ts'
import { mendPlain } from '../mime/line-end.ts'

export interface MboxItem {
  /** The message with CR LF at each line's end. */
  readonly content: Buffer
  readonly flags: number
  readonly keywords: readonly string[]
  /** Milliseconds since 1970; null where the file does not say it. */
  readonly idate: number | null
  /** Path of the folder it was in; null where the file does not say it. */
  readonly path: string | null
}

const letters: Readonly<Record<string, number>> = { R: seen, A: answered, F: flagged, D: deleted, T: draft }
const added = /^(?:(?:Status|X-Status|X-Keywords|X-Export-Mailbox): [^\r\n]*\r\n)+/

/** @param envelope the line before it, from behind `From ` */
export function mboxItem(message: Buffer, envelope: string): MboxItem {
  const whole = mendPlain(message)
  const header = new Header(whole.subarray(0, limits.mime.headerBytesMax))
  let flags = 0
  for (const letter of `${header.raw('status') ?? ''}${header.raw('x-status') ?? ''}`) flags |= letters[letter] ?? 0
  const words = header.raw('x-keywords') ?? ''
  const own = words.split(/\s+/).filter(word => word.startsWith('$') && isKeyword(word))
  const keywords = /\$?forwarded/i.test(words) ? [forwarded, ...own.filter(word => !/^\$forwarded$/i.test(word))] : own
  const top = added.exec(whole.subarray(0, topBytesMax).toString('latin1'))?.[0].length ?? 0
  const path = header.raw('x-export-mailbox')?.trim()
  return {
    content: whole.subarray(top),
    ...{ flags, keywords: keywords.slice(0, limits.name.keywordsMax) },
    idate: parseDate(envelope.replace(/^\S+\s+/, '')),
    path: path === undefined || path === '' ? null : path,
  }
}

/** Of the fields that were put on top. */
const topBytesMax = 16 * 1024
