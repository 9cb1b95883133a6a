// What a POP3 session sees: the newest messages of INBOX as they were at login, numbered from 1 (RFC 1939 3).
//
// Nothing is taken away before QUIT; then marked messages go to the trash or for good, and what was read is marked seen.
// Numbers and ids stay what they were whatever others do to the folder meanwhile.

import type { UserHandle } from '#actors/kernel/system.ts'
import { expungeMessages, moveMessages, storeFlags } from '#actors/mailbox/message.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { flag } from '#mail/flags.ts'
import { LineEnds } from '#mail/mime/line-end.ts'
import { toRanges } from '#mail/numbers.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import { contentId, newestRows } from '#store/mailboxes/listing.ts'
import { listMailboxes, type Mailbox } from '#store/mailboxes/mailboxes.ts'
import type { DeleteTo, Pop3Services } from './services.ts'

export interface MaildropMessage {
  readonly uid: number
  /** Bytes of what RETR sends, as it is before dots are doubled (RFC 1939 11). */
  readonly size: number
  readonly body: number
  /** Lines on top of the body. */
  readonly prefix: string
  deleted: boolean
  read: boolean
}

export class Maildrop {
  readonly #handle: UserHandle
  readonly #inbox: Mailbox
  readonly #trash: Mailbox | undefined
  readonly #drops: readonly MaildropMessage[]

  private constructor(
    handle: UserHandle,
    inbox: Mailbox,
    trash: Mailbox | undefined,
    drops: readonly MaildropMessage[],
  ) {
    this.#handle = handle
    this.#inbox = inbox
    this.#trash = trash
    this.#drops = drops
  }

  /** Freezes the newest `count` messages of the account with number `user`. */
  static async open(handle: UserHandle, user: number, count: number): Promise<Maildrop> {
    const folders = await listMailboxes(handle.read, user)
    const inbox = folders.find(folder => folder.path === 'INBOX')
    if (inbox === undefined) throw new Fault('NoSuchMailbox')
    const trash = folders.find(folder => folder.specialUse === '\\Trash')
    const rows = await newestRows(handle.read, inbox.num, count)
    const drops = rows.map(([uid, stored, body, prefix, added]) => ({
      uid,
      size: stored + (added ?? 0),
      body,
      prefix,
      deleted: false,
      read: false,
    }))
    return new Maildrop(handle, inbox, trash, drops)
  }

  /** Messages that are not deleted, with their numbers. */
  *left(): Generator<[number: number, drop: MaildropMessage]> {
    for (const [index, drop] of this.#drops.entries()) if (!drop.deleted) yield [index + 1, drop]
  }

  /** The message of that number, unless it is deleted. */
  at(number: number): MaildropMessage | undefined {
    const drop = this.#drops[number - 1]
    return drop === undefined || drop.deleted ? undefined : drop
  }

  /** How many are left, and their bytes. */
  get stat(): { count: number; size: number } {
    let count = 0
    let size = 0
    for (const [, drop] of this.left()) {
      count += 1
      size += drop.size
    }
    return { count, size }
  }

  reset(): void {
    for (const drop of this.#drops) drop.deleted = false
  }

  /** RFC 1939 6: the update. */
  async update(deleteTo: DeleteTo, transfer: Pop3Services['transfer']): Promise<void> {
    const uids = (some: readonly MaildropMessage[]) => toRanges(some.map(drop => drop.uid))
    const read = this.#drops.filter(drop => drop.read)
    const deleted = this.#drops.filter(drop => drop.deleted)
    const mailbox = this.#inbox.id
    if (read.length > 0) {
      const change = { how: 'add', flags: flag.seen, keywords: [] } as const
      await this.#handle.run(storeFlags, { mailbox, uids: uids(read), ...change })
    }
    if (deleted.length === 0) return
    if (deleteTo === 'trash' && this.#trash !== undefined) {
      // Some at a time, since each may have to be encrypted.
      for (let at = 0; at < deleted.length; at += limits.actor.encryptedMax) {
        const some = uids(deleted.slice(at, at + limits.actor.encryptedMax))
        await transfer(this.#handle, moveMessages, { from: mailbox, to: this.#trash.id, uids: some })
      }
    } else {
      await this.#handle.run(expungeMessages, { mailbox, uids: uids(deleted), marked: false })
    }
  }
}

/** An id that is the same in every session (RFC 1939 7). */
export function uniqueId(drop: MaildropMessage): string {
  return contentId(drop.body, drop.prefix)
}

/**
 * The bytes of a message in pieces, every line with CR LF: an answer has nothing else (RFC 1939 3), or its end is not seen.
 * What is stored has other line feeds in binary parts alone, or where it was stored before they were put right.
 *
 * @throws Fault MessageNotFound when it is gone, BodyUnreadable; both before the first piece
 */
export async function* bytesOf(bodies: Bodies, drop: MaildropMessage): AsyncGenerator<Buffer> {
  const body = await bodies.open(drop.body)
  await bodies.proof.prove(drop.body, body)
  if (drop.prefix !== '') yield Buffer.from(drop.prefix)
  const ends = new LineEnds()
  for await (const piece of body.stream()) yield ends.mend(piece)
}

const lineFeed = 10
const dot = 46
/** Where dots are closer, bytes are copied one by one. */
const bytesPerDotMin = 16

/**
 * Bytes as they stand in a multi-line answer: dots at the start of lines doubled (RFC 1939 3), a line end at the end, and
 * with `lines` only the header and so many lines of the body. A line starts after every LF, since programs that read
 * lines do not ask for the CR.
 */
export class Stuffer {
  #lineStart = true
  /** Nothing went out, or a line end last. */
  #whole = true
  /** Lines of the body still wanted; the header while undefined. */
  #left: number | undefined
  #inHeader = true
  #lineEmpty = true
  readonly #lines: number

  constructor(lines = Number.POSITIVE_INFINITY) {
    this.#lines = lines
  }

  /** Nothing more is wanted. */
  get done(): boolean {
    return this.#left !== undefined && this.#left <= 0
  }

  push(piece: Buffer): Buffer {
    /** Where a dot is to be doubled. */
    const dots: number[] = []
    let at = 0
    while (at < piece.length && !this.done) {
      if (this.#lineStart && piece[at] === dot) dots.push(at)
      const end = piece.indexOf(lineFeed, at)
      const stop = end < 0 ? piece.length : end
      this.#noteText(piece, at, stop)
      this.#lineStart = end >= 0
      at = end < 0 ? piece.length : end + 1
      if (end >= 0) this.#endLine()
    }
    const wanted = piece.subarray(0, at)
    if (at > 0) this.#whole = wanted[at - 1] === lineFeed
    return dots.length === 0 ? wanted : doubled(wanted, dots)
  }

  /** What ends the answer. */
  end(): Buffer {
    return Buffer.from(this.#whole ? '.\r\n' : '\r\n.\r\n')
  }

  #noteText(piece: Buffer, start: number, end: number): void {
    if (!this.#inHeader || !this.#lineEmpty) return
    const length = end - start
    if (length > 1 || (length === 1 && piece[start] !== 13)) this.#lineEmpty = false
  }

  #endLine(): void {
    if (this.#inHeader) {
      if (this.#lineEmpty) {
        this.#inHeader = false
        this.#left = this.#lines
      }
      this.#lineEmpty = true
    } else if (this.#left !== undefined) this.#left -= 1
  }
}

/** Bytes with a dot more at each of these places, put together in one go: a message may be nothing but dots. */
function doubled(bytes: Buffer, dots: readonly number[]): Buffer {
  const out = Buffer.allocUnsafe(bytes.length + dots.length)
  if (dots.length > bytes.length / bytesPerDotMin) return doubledBytes(bytes, dots, out)
  let from = 0
  let to = 0
  for (const at of dots) {
    to += bytes.copy(out, to, from, at)
    out[to++] = dot
    from = at
  }
  bytes.copy(out, to, from)
  return out
}

function doubledBytes(bytes: Buffer, dots: readonly number[], out: Buffer): Buffer {
  let next = 0
  let to = 0
  for (let at = 0; at < bytes.length; at++) {
    if (at === dots[next]) {
      out[to++] = dot
      next += 1
    }
    out[to++] = bytes[at] as number
  }
  return out
}
