// Untagged responses about the selected folder: how what the view has found is said to this client (RFC 9051 7.4, 7.5).
//
// It only words it: what is told and when is the view's and the session's to say. New messages come with what the client
// asked for by NOTIFY.

import { Fault } from '#lib/fault.ts'
import { flagText, systemFlags } from '#mail/flags.ts'
import { formatRanges, toRanges } from '#mail/numbers.ts'
import { fetchMessages } from '../command/fetch.ts'
import type { Session, Untagged } from '../session.ts'
import type { FetchItem } from '../wire/item.ts'
import { permanentFlags } from '../wire/permanent-flags.ts'

export class UntaggedResponses implements Untagged {
  readonly #session: Session
  keywordCount = 0
  numbered = false

  constructor(session: Session) {
    this.#session = session
  }

  gone(seqs: readonly number[], uids: readonly number[]): void {
    const { out, qresync } = this.#session
    if (qresync) out.line(`* VANISHED ${formatRanges(toRanges(uids))}`)
    else for (const seq of seqs) out.text(`* ${seq} EXPUNGE\r\n`)
  }

  exists(total: number): void {
    this.#session.out.line(`* ${total} EXISTS`)
  }

  recent(total: number): void {
    this.#session.out.line(`* ${total} RECENT`)
  }

  /** RFC 5465 5.2: what the client asked for of new messages; who counts changes hears the number of each (RFC 7162 3.1). */
  async arrived(uids: readonly number[]): Promise<void> {
    const { view, notices, condstore } = this.#session
    const asked = notices?.selected?.items ?? []
    if (view === undefined || asked.length === 0) return
    this.numbered ||= condstore
    const counted = condstore && !asked.some(({ kind }) => kind === 'modseq')
    const items: readonly FetchItem[] = counted ? [...asked, { kind: 'modseq' }] : asked
    await view.load()
    const places = toRanges(uids.map(uid => view.seqOf(uid) - 1))
    try {
      await fetchMessages(this.#session, view, places, { items, changedSince: 0 }, true)
    } catch (error) {
      // More than may be moved in a day: the client knows that the messages are there.
      if (!(error instanceof Fault)) throw error
    }
  }

  flags(seq: number, uid: number, flags: number, keywords: string | null, modseq: number): void {
    const session = this.#session
    if (session.notices?.selected?.flags === false) return
    this.numbered ||= session.condstore
    const change = session.condstore ? ` MODSEQ (${modseq})` : ''
    session.out.text(`* ${seq} FETCH (UID ${uid} FLAGS (${session.flagsText(flags, keywords, uid)})${change})\r\n`)
  }

  /**
   * Change numbers were told while messages that went before are not: a client that keeps the highest number it heard of
   * would never learn of those, so it hears up to where it knows everything (RFC 7162 3.2).
   *
   * @param expunge whether they were just told
   */
  async held(expunge: boolean): Promise<void> {
    const { view, out, qresync } = this.#session
    this.numbered = false
    if (!qresync || expunge || view === undefined) return
    if (await view.isHolding()) out.line(`* OK [HIGHESTMODSEQ ${Math.max(1, view.modseq)}] Up to here`)
  }

  /** Others have their turn, too: somebody may have changed all of a large folder. */
  async room(): Promise<void> {
    const { out, pace } = this.#session
    await out.room()
    if (pace.spent) await pace.turn()
  }

  /** Tells keywords that are new in the folder before they appear (RFC 9051 7.3.5). */
  async keywords(): Promise<void> {
    const { view, out, mail } = this.#session
    if (view === undefined) return
    const mailbox = await mail.folder(view.id)
    if (mailbox === undefined || mailbox.keywords.length === this.keywordCount) return
    this.keywordCount = mailbox.keywords.length
    out.line(`* FLAGS (${flagText(systemFlags, mailbox.keywords)})`)
    if (!view.readOnly) out.line(`* OK [PERMANENTFLAGS (${permanentFlags(mailbox.keywords)})] Flags that stay`)
  }
}
