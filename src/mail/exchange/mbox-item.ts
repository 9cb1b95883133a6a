// What a message in an mbox file says beside itself: its flags, the folder it was in, and when it was received.
//
// Fields that were put on top of it by whoever wrote the file are taken off again; such fields further down are its own.

import { createHash } from 'node:crypto'
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
/**
 * Each once, in the order in which they are put there (actors/view/mbox-export.ts): what follows may be the message's own. Lines end as in
 * the file where the message may have binary parts.
 */
const added = new RegExp(
  `^${['Status', 'X-Status', 'X-Keywords', 'X-Export-Mailbox'].map(name => `(?:${name}: [^\\r\\n]*\\r?\\n)?`).join('')}`,
)

/** @param envelope the line before it, from behind `From ` */
export function mboxItem(message: Buffer, envelope: string): MboxItem {
  const whole = mendPlain(message)
  const header = new Header(whole.subarray(0, limits.mime.headerBytesMax))
  let flags = 0
  for (const letter of `${header.raw('status') ?? ''}${header.raw('x-status') ?? ''}`) flags |= letters[letter] ?? 0
  const top = added.exec(whole.subarray(0, topBytesMax).toString('latin1'))?.[0] ?? ''
  const onTop = /^X-Keywords: (.*?)\r?$/m.exec(top)?.[1]
  const words = (onTop ?? header.raw('x-keywords') ?? '').split(/\s+/)
  const isForwarded = (word: string) => /^\$?forwarded$/i.test(word)
  // Further down it may be the sender's: what other programs wrote there begins with $.
  const own = words.filter(
    word => (onTop !== undefined || word.startsWith('$')) && isKeyword(word) && !isForwarded(word),
  )
  const keywords = words.some(isForwarded) ? [forwarded, ...own] : own
  const path = header.raw('x-export-mailbox')?.trim()
  return {
    content: whole.subarray(top.length),
    ...{ flags, keywords: keywords.slice(0, limits.name.keywordsMax) },
    idate: parseDate(envelope.replace(/^\S+\s+/, '')),
    path: path === undefined || path === '' ? null : path,
  }
}

/** Of the fields that were put on top. */
const topBytesMax = 16 * 1024

/** Fields that the program whose file it is writes into a message and changes there, with what goes on in folded lines. */
const kept =
  /^(?:status|x-status|x-keywords|x-uid|x-imap|x-imapbase|x-export-mailbox|content-length|x-mozilla-(?:status2?|keys)):.*\r?\n(?:[ \t].*\r?\n)*/gim
const headerEnd = /\r?\n\r?\n/

/** Whether it is no message but what a program keeps about the file. */
export function isFolderData(message: Buffer): boolean {
  const top = message.subarray(0, topBytesMax).toString('latin1')
  return /^X-IMAP: /m.test(top) && /^Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA\r?$/m.test(top)
}

/**
 * Names for messages of a file, which has none for them: by what they say, whatever became of their flags meanwhile, and by how many of
 * the same came before.
 */
export class MboxKeys {
  readonly #before = new Map<string, number>()

  /** @param place where it goes: the same in two places are two */
  of(place: string, message: Buffer): string {
    const hash = hashOf(message)
    const name = `${place} ${hash}`
    const before = this.#before.get(name) ?? 0
    this.#before.set(name, before + 1)
    return before === 0 ? hash : `${hash} ${before}`
  }
}

function hashOf(message: Buffer): string {
  const top = message.subarray(0, limits.mime.headerBytesMax).toString('latin1')
  const end = headerEnd.exec(top)?.index ?? top.length
  const header = `${top.slice(0, end)}\n`.replace(kept, '').slice(0, -1)
  return createHash('sha256').update(header, 'latin1').update(message.subarray(end)).digest('base64url')
}
