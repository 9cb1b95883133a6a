// One IMAP session as commands see it: where it stands, what it may see, and what it says to its client.
//
// Promises: nothing is written from inside a turn of an actor; what is asked of the mail it serves goes through
// `MailStore` alone. Carrying out commands is the dialogue's (dialogue.ts), which this file does not know of.

import { Fault } from '#lib/fault.ts'
import { Pace } from '#lib/pace.ts'
import { flagText } from '#mail/flags.ts'
import { type Connection, Disconnected } from '#net/connection.ts'
import { Abilities, type Enableable } from './abilities.ts'
import type { Change, Hearer, Mailbox, MailStore, Target, TransferKind } from './mail-store.ts'
import type { SelectedEvents } from './selected/events.ts'
import type { Listener } from './selected/listener.ts'
import type { Places, View } from './selected/view.ts'
import type { ImapServices } from './services.ts'
import { malformed, type NumberSet } from './wire/decoder.ts'
import { Encoder, quoted } from './wire/encoder.ts'
import { encodeMailboxName } from './wire/name.ts'

export type State = 'greeted' | 'authenticated' | 'selected'

/** How this client is told of its selected folder (selected/untagged.ts). */
export interface Untagged extends Listener {
  /** How many keywords of the selected folder the client has heard of. */
  keywordCount: number
  /** Change numbers were told since `held` was asked last. */
  readonly numbered: boolean
  held(expunge: boolean): void
}

/** What the client wants to hear of without asking (selected/notices.ts). */
export interface Wishes {
  readonly selected: SelectedEvents | undefined
  readonly news: boolean
  hear(change: Change): boolean
  tell(): Promise<void>
}

/** A client that waits for changes (selected/untagged-order.ts). */
export interface Waiting {
  stir(): unknown
  stop(): Promise<void>
}

export class Session extends Abilities implements Hearer {
  readonly id: string
  readonly connection: Connection
  readonly services: ImapServices
  readonly out: Encoder
  readonly untagged: Untagged
  /** Long commands ask it whether it is time to `rest`. */
  readonly pace = new Pace()
  view: View | undefined
  #mail: MailStore | undefined
  #over = false
  /** What the client wants to hear of, once it said so (NOTIFY). */
  notices: Wishes | undefined
  /** While the client waits for changes: in IDLE and, with NOTIFY, between commands. */
  telling: Waiting | undefined
  /** COMPRESS was answered: both directions are compressed next, then they are. */
  compression: 'none' | 'next' | 'active' = 'none'
  /** STARTTLS was answered: the handshake comes next. */
  startTls = false
  /** A response is half written: nothing else may be said until it is whole. */
  midway = false
  /** The tag of the command that runs. */
  tag = ''

  /** @param untagged how changes are told to it */
  constructor(id: string, connection: Connection, services: ImapServices, untagged: (session: Session) => Untagged) {
    super()
    this.id = id
    this.connection = connection
    this.services = services
    this.out = new Encoder(connection)
    this.untagged = untagged(this)
  }

  get state(): State {
    if (this.view !== undefined) return 'selected'
    return this.#mail === undefined ? 'greeted' : 'authenticated'
  }

  /** The account's mail; only for commands that need a login. */
  get mail(): MailStore {
    if (this.#mail === undefined) throw malformed('Log in first')
    return this.#mail
  }

  get loggedIn(): boolean {
    return this.#mail !== undefined
  }

  /** Nothing more will be carried out. */
  get over(): boolean {
    return this.#over
  }

  /** The selected folder. */
  get selected(): View {
    if (this.view === undefined) throw malformed('Select a mailbox first')
    return this.view
  }

  /** The selected folder, which must not have been opened by EXAMINE. */
  get writable(): View {
    const view = this.selected
    if (view.readOnly) throw new Fault('MailboxReadOnly')
    return view
  }

  /** As Abilities has it; clients of IMAP4rev2 know no recent messages. */
  override enable(name: Enableable): boolean {
    const counted = this.condstore
    const fresh = super.enable(name)
    if (this.rev2) this.view?.forgetRecent()
    // RFC 7162 3.1: who begins to count changes hears how many there were.
    if (this.condstore && this.view !== undefined && !counted) this.#tellHighest(this.view)
    return fresh
  }

  #tellHighest(view: View): void {
    this.out.line(`* OK [HIGHESTMODSEQ ${Math.max(1, view.modseq)}] Highest`)
  }

  /** Ends the session with a reason, now if it waits, else after the command. */
  bye(text: string): void {
    if (this.#over) return
    this.#over = true
    // In the middle of a message it would be taken for bytes of that.
    if (!this.midway) this.out.line(`* BYE ${text.replace(/[\r\n]/g, ' ')}`)
    this.out.flush()
    this.connection.end()
  }

  /** Waits for the account's next turn on the loop. @throws Disconnected when nobody listens any more */
  async rest(): Promise<void> {
    this.out.flush()
    await this.pace.turn()
    if (this.#over || this.connection.closed) throw new Disconnected()
  }

  /** The session ends after the answer to this command. */
  leave(): void {
    this.#over = true
  }

  /** Asked before anything that must not happen once the session has ended. @throws Fault SessionEnded */
  checkStanding(): void | Promise<void> {
    return this.#mail?.checkStanding()
  }

  /** The account says that the session may not go on. */
  ended(reason: string): void {
    this.bye(reason)
  }

  /** A login went well. */
  login(mail: MailStore): void {
    this.#mail = mail
    this.pace.turnKey = mail.account.id
  }

  /** The session is over. */
  close(): void {
    this.#keepTold()
    this.#mail?.close()
    void this.telling?.stop()
  }

  select(view: View, mailbox: Mailbox): void {
    this.view = view
    this.untagged.keywordCount = mailbox.keywords.length
    this.#keepTold()
  }

  unselect(): void {
    this.#keepTold()
    this.view = undefined
  }

  /** Who was told of messages first is known after a restart, too. */
  #keepTold(): void {
    if (this.view !== undefined) this.mail.keepRecent(this.view.num)
  }

  /** The folder at a path. @throws Fault NoSuchMailbox */
  async mailbox(path: string): Promise<Mailbox> {
    const found = await this.mail.folderAt(path)
    if (found === undefined) throw new Fault('NoSuchMailbox')
    return found
  }

  /** The folder something is to be put into. @throws Fault NoTargetMailbox: the client may create it and try again */
  async target(path: string): Promise<Target> {
    const found = await this.mail.targetAt(path)
    if (found === undefined) throw new Fault('NoTargetMailbox')
    return found
  }

  /** A path as this client reads it. */
  mailboxName(path: string): string {
    return quoted(encodeMailboxName(path, this.utf8), this.utf8)
  }

  /** The places a set means. @throws Fault BadCommand where a sequence number does not exist */
  async resolve(set: NumberSet, byUid: boolean): Promise<Places> {
    if (byUid) await this.meet(set)
    const places = await this.selected.resolve(set, byUid)
    if (places === undefined) throw malformed('There is no message with that number')
    return places
  }

  /**
   * Of a uid that a client was not told of here it heard elsewhere, from APPENDUID of another session say, so that its
   * command means a message that is there: it is told of that first (RFC 9051 5.2).
   */
  async meet(uids: NumberSet): Promise<void> {
    if (this.notices !== undefined && this.notices.selected === undefined) return
    if (this.selected.suspects(uids)) await this.selected.tell(this.untagged, false)
  }

  /** Flags of a message of the selected folder, as they stand between parentheses. */
  flagsText(flags: number, keywords: string | null, uid: number, view = this.view): string {
    let names = flagText(flags)
    if (view?.isRecent(uid) === true) names = names === '' ? '\\Recent' : `\\Recent ${names}`
    if (keywords === null) return names
    return names === '' ? keywords : `${names} ${keywords}`
  }

  /** Asks for the literal that was announced. */
  invite(): void {
    this.out.line('+ OK').flush()
  }

  /** Whether the account may move so many bytes more today. @throws Fault TransferLimit */
  async requireTransfer(kind: TransferKind, bytes: number): Promise<void> {
    if ((await this.mail.transferLeft(kind)) < bytes) throw new Fault('TransferLimit')
  }

  /** The tag of the command that runs, quoted. */
  get tagText(): string {
    return quoted(this.tag)
  }

  /** Whether there is something to tell; without `expunge` messages that went are left out. */
  news(expunge: boolean): boolean {
    const { notices, view } = this
    if (notices === undefined) return view?.news(expunge) === true
    return notices.news || (notices.selected !== undefined && view?.news(expunge) === true)
  }

  /** Tells it. */
  async tell(expunge: boolean): Promise<void> {
    const { notices, view } = this
    if (notices === undefined || notices.selected !== undefined) await view?.tell(this.untagged, expunge)
    await notices?.tell()
  }

  /** The account says what happened to it. */
  changed(change: Change): void {
    if (change.kind === 'mailbox' && change.what === 'deleted' && change.mailbox === this.view?.num) {
      // RFC 2180 3: its numbers mean nothing any more.
      this.bye('The selected mailbox was deleted')
      return
    }
    const seen = this.view?.notice(change) === true
    if (this.notices?.hear(change) === true || seen) this.telling?.stir()
  }
}
