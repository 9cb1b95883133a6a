// Which messages no session has been told of yet: those a client sees as \Recent (RFC 3501 2.3.2).
//
// A folder has one mark, the uid from which nobody has been told; the session that moves it is the first, and what lies
// between is recent to it alone. Moving costs nothing: the mark is kept here and written when a folder is opened or left,
// never for a message. A mark that was lost in a crash shows messages as recent once more, which RFC 3501 prefers to never.

import type { Reader } from '#store/engine/reader.ts'
import { toldBefore } from '#store/mailboxes/listing.ts'
import type { UserHandle } from '../kernel/system.ts'
import { noteTold } from './told.ts'

/** The marks of all folders, wherever they are kept. */
export interface Marks {
  /** The uid from which nobody has been told of messages. */
  from(read: Reader, mailbox: number): number | Promise<number>
  /** Somebody is told of everything below `uidNext`: the mark as it was before. */
  claim(read: Reader, mailbox: number, uidNext: number): number | Promise<number>
  /** Writes the mark of a folder, if it moved. Nobody waits for it. */
  keep(handle: UserHandle, mailbox: number): void
}

export class Recency implements Marks {
  /** Folder -> mark, where it is not on disk yet. */
  readonly #marks = new Map<number, number>()
  #moves = 0

  /** The uid from which nobody has been told of messages. */
  from(read: Reader, mailbox: number): Promise<number> {
    return this.#take(read, mailbox, 0)
  }

  /** Somebody is told of everything below `uidNext`: the mark as it was before. */
  claim(read: Reader, mailbox: number, uidNext: number): Promise<number> {
    return this.#take(read, mailbox, uidNext)
  }

  /** The mark, which is moved in the same moment. */
  async #take(read: Reader, mailbox: number, uidNext: number): Promise<number> {
    for (;;) {
      const moves = this.#moves
      const from = this.#marks.get(mailbox) ?? (await toldBefore(read, mailbox))
      // Somebody else may have been told while it was read.
      if (moves !== this.#moves) continue
      if (uidNext > from) {
        this.#marks.set(mailbox, uidNext)
        this.#moves += 1
      }
      return from
    }
  }

  /** Writes the mark of a folder, if it moved. Nobody waits for it. */
  keep(handle: UserHandle, mailbox: number): void {
    const uid = this.#marks.get(mailbox)
    if (uid === undefined) return
    const landed = () => {
      if (this.#marks.get(mailbox) === uid) this.#marks.delete(mailbox)
    }
    // A write that fails is made up for by the next; until then the mark counts from here.
    handle.run(noteTold, { mailbox, uid }).then(landed, () => undefined)
  }
}
