// One IMAP connection: where it stands, what it may see, and the loop that carries out its commands one after the other.
//
// Promises: a command gets exactly one tagged answer, or the connection ends; untagged changes go out before that answer,
// expunges only where RFC 9051 7.5.1 allows; nothing is written from inside a turn of an actor. A mistake of ours is
// logged and answered `NO [SERVERBUG]`, and tells nothing. Clients that make no sense for long are let go.

import type { Grant, Held } from '#actors/auth/grant.ts'
import type { Change } from '#actors/kernel/change.ts'
import { after, monotonic, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { Pace } from '#lib/pace.ts'
import { flagText } from '#mail/flags.ts'
import { type Connection, Disconnected } from '#net/connection.ts'
import { findMailboxByPath, listMailboxes, type Mailbox } from '#store/mailboxes/mailboxes.ts'
import { Abilities, type Enableable } from './abilities.ts'
import type { Account } from './account.ts'
import { runAppend } from './command/append.ts'
import type { CommandRow, Done, State } from './command.ts'
import { findCommand } from './commands.ts'
import type { Notices } from './selected/notices.ts'
import { UntaggedResponses } from './selected/untagged.ts'
import { Telling } from './selected/untagged-order.ts'
import type { Places, View } from './selected/view.ts'
import type { ImapServices } from './server.ts'
import { Decoder, malformed, type NumberSet } from './wire/decoder.ts'
import { Encoder, quoted } from './wire/encoder.ts'
import { afterLogin, beforeLogin, Flooded, type Gathered, gather } from './wire/gather.ts'
import { encodeMailboxName } from './wire/name.ts'
import { lastWords, refusalOf } from './wire/refusal.ts'

export class Session extends Abilities {
  readonly id: string
  readonly connection: Connection
  readonly services: ImapServices
  readonly out: Encoder
  readonly untagged: UntaggedResponses
  /** Long commands ask it whether it is time to `rest`. */
  readonly pace = new Pace()
  view: View | undefined
  #account: Account | undefined
  #errors = 0
  #early = 0
  #over = false
  #late: Timer | undefined
  #unwatch: (() => void) | undefined
  #held: Held | undefined
  /** What the client wants to hear of, once it said so (NOTIFY). */
  notices: Notices | undefined
  /** While the client waits for changes: in IDLE and, with NOTIFY, between commands. */
  telling: Telling | undefined
  /** COMPRESS was answered: both directions are compressed next, then they are. */
  compression: 'none' | 'next' | 'active' = 'none'
  /** STARTTLS was answered: the handshake comes next. */
  startTls = false
  /** A response is half written: nothing else may be said until it is whole. */
  midway = false
  #tag = ''

  constructor(id: string, connection: Connection, services: ImapServices) {
    super()
    this.id = id
    this.connection = connection
    this.services = services
    this.out = new Encoder(connection)
    this.untagged = new UntaggedResponses(this)
    connection.lineBytesMax = beforeLogin.commandBytesMax
    connection.idleMs = limits.imap.loginMs
  }

  get state(): State {
    if (this.view !== undefined) return 'selected'
    return this.#account === undefined ? 'greeted' : 'authenticated'
  }

  /** The account; only for commands that need a login. */
  get user(): Account {
    if (this.#account === undefined) throw malformed('Log in first')
    return this.#account
  }

  get loggedIn(): boolean {
    return this.#account !== undefined
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

  /** Greets and carries out commands until one side has had enough. */
  async run(): Promise<void> {
    // Commands keep a stranger's connection alive only so long.
    this.#late = after(limits.imap.loginMs, () => this.bye('Log in sooner'))
    this.out.line(`* OK [CAPABILITY ${this.services.capabilities(this)}] ${this.services.hostname} ready`).flush()
    try {
      while (!this.#over) await this.#next()
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#late?.cancel()
      this.#unwatch?.()
      this.#held?.release()
      this.#keepTold()
      void this.telling?.stop()
      this.services.left(this)
    }
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
    await this.pace.turn()
    if (this.#over || this.connection.closed) throw new Disconnected()
  }

  /** The session ends after the answer to this command. */
  leave(): void {
    this.#over = true
  }

  /** What the session may go on by, from now on. @throws Fault SessionEnded where that is over already */
  stand(grant: Grant): void {
    this.#held?.release()
    this.#held = this.services.grants.hold(grant, reason => this.bye(reason))
  }

  /** Asked before anything that must not happen once the session has ended. @throws Fault SessionEnded */
  checkStanding(): void {
    this.#held?.check()
  }

  /** A login went well: the account's changes are heard from now on. */
  login(account: Account): void {
    this.#account = account
    this.pace.lane = account.id
    this.#late?.cancel()
    this.#late = undefined
    this.connection.lineBytesMax = afterLogin.commandBytesMax
    this.connection.idleMs = limits.imap.idleMs
    this.#unwatch = account.handle.watch(change => this.#hear(change))
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
    if (this.view !== undefined) this.services.recency.keep(this.user.handle, this.view.num)
  }

  /** The account's folders that mail programs may see. */
  async folders(): Promise<Mailbox[]> {
    const { handle, num } = this.user
    return (await listMailboxes(handle.read, num)).filter(folder => !folder.hidden)
  }

  /** The folder at a path. @throws Fault NoSuchMailbox */
  async mailbox(path: string): Promise<Mailbox> {
    const found = await this.#find(path)
    if (found === undefined) throw new Fault('NoSuchMailbox')
    return found
  }

  /** The folder something is to be put into. @throws Fault NoTargetMailbox: the client may create it and try again */
  async target(path: string): Promise<Mailbox> {
    const found = await this.#find(path)
    if (found === undefined) throw new Fault('NoTargetMailbox')
    return found
  }

  async #find(path: string): Promise<Mailbox | undefined> {
    const { handle, num } = this.user
    const found = await findMailboxByPath(handle.read, num, path)
    return found?.hidden === true ? undefined : found
  }

  /** A path as this client reads it. */
  mailboxName(path: string): string {
    return quoted(encodeMailboxName(path, this.utf8), this.utf8)
  }

  /** The places a set means. @throws Fault BadCommand where a sequence number does not exist */
  resolve(set: NumberSet, byUid: boolean): Places {
    const places = this.selected.resolve(set, byUid)
    if (places === undefined) throw malformed('There is no message with that number')
    return places
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
  requireTransfer(kind: 'imapUpload' | 'imapDownload', bytes: number): void {
    const { id, uploadMax, downloadMax } = this.user
    const most = kind === 'imapUpload' ? uploadMax : downloadMax
    if (this.services.transfers.used(kind, id) + bytes > most) throw new Fault('TransferLimit')
  }

  /** Bytes of messages that were moved. */
  transferred(kind: 'imapUpload' | 'imapDownload', bytes: number): void {
    this.services.transfers.count(kind, this.user.id, bytes)
  }

  /** The tag of the command that runs, quoted. */
  get tagText(): string {
    return quoted(this.#tag)
  }

  async #next(): Promise<void> {
    const { connection } = this
    const idle = connection.peek() === undefined
    const gathered = await this.#waitForCommand()
    if (idle) this.pace.restart()
    if (gathered.tag === '') {
      this.#answer('*', 'BAD', { text: gathered.refused?.message ?? 'A tag is missing' })
      this.#countError()
    } else await this.#execute(gathered)
    if (!this.loggedIn && ++this.#early >= limits.imap.loginCommandsMax) this.bye('Too many commands before a login')
    this.out.flush()
    if (this.startTls) await this.#secure()
    if (this.compression === 'next') {
      connection.compress()
      this.compression = 'active'
    }
    if (connection.backlogBytes > limits.net.backlogBytesSoft) await connection.drain()
    if (this.pace.spent) await this.pace.turn()
  }

  /** Whoever registered for it is told changes meanwhile. */
  async #waitForCommand(): Promise<Gathered> {
    const { connection, notices } = this
    const bounds = this.loggedIn ? afterLogin : beforeLogin
    const refuses = (name: string, byUid: boolean) => this.#outOfPlace(name, findCommand(name, byUid))
    if (notices === undefined) return gather(connection, bounds, () => this.invite(), refuses)
    const telling = new Telling(this, notices.selected?.delayed === false)
    this.telling = telling.stir()
    try {
      // What is being told is told to its end: an invitation must not stand in the middle of a message.
      return await gather(connection, bounds, () => telling.stop().then(() => this.invite()), refuses)
    } finally {
      this.telling = undefined
      await telling.stop()
    }
  }

  async #secure(): Promise<void> {
    const { tls } = this.services
    this.startTls = false
    if (tls !== undefined) await this.connection.startTls(tls)
  }

  async #execute(gathered: Gathered): Promise<void> {
    const { tag, name, byUid } = gathered
    this.#tag = tag
    const row = findCommand(name, byUid)
    const started = monotonic()
    let result = 'ok'
    try {
      this.checkStanding()
      if (gathered.refused !== undefined && gathered.message === undefined) throw gathered.refused
      const done = gathered.message === undefined ? await this.#run(row, gathered) : await runAppend(this, gathered)
      await this.#sync(row, byUid)
      if (done?.no === true) result = 'no'
      this.#answer(tag, done?.no === true ? 'NO' : 'OK', { text: `${byUid ? 'UID ' : ''}${name} completed`, ...done })
    } catch (error) {
      if (error instanceof Disconnected || error instanceof Flooded) throw error
      result = await this.#refuse(row, gathered, error)
    }
    this.services.count(row?.name ?? (name === 'APPEND' ? name : 'other'), result, monotonic() - started)
  }

  async #run(row: CommandRow | undefined, { name, byUid, parts }: Gathered): Promise<Done | undefined> {
    const fault = this.#outOfPlace(name, row)
    if (fault !== undefined) throw fault
    if (row === undefined) throw malformed('A message literal is missing')
    const decoder = new Decoder(parts, this.utf8)
    const input = row.parse(decoder, byUid)
    return row.run(this, input as never, byUid)
  }

  /** Why a command cannot be given now, or at all. APPEND is no row of the table. */
  #outOfPlace(name: string, row: CommandRow | undefined): Fault | undefined {
    if (name === 'APPEND') return this.loggedIn ? undefined : malformed('Log in first')
    if (row === undefined) return malformed('Unknown command')
    return row.states.includes(this.state) ? undefined : malformed(`${name} is not allowed now`)
  }

  /** Untagged changes before the tagged answer. */
  async #sync(row: CommandRow | undefined, byUid: boolean): Promise<void> {
    // What a client took away itself it is told, whatever else it wants to hear.
    if (row?.name === 'EXPUNGE' || row?.name === 'MOVE') await this.view?.tell(this.untagged, true)
    const expunge = row === undefined || row.expunges === 'always' || (row.expunges === 'uid' && byUid)
    if (row?.expunges !== 'never' && this.news(expunge)) await this.tell(expunge)
    this.untagged.held(expunge)
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

  async #refuse(row: CommandRow | undefined, { tag, byUid }: Gathered, error: unknown): Promise<string> {
    const { status, counts, ...done } = refusalOf(error)
    if (!(error instanceof Fault) || error.code === 'InternalError')
      this.services.log.error({ error, session: this.id }, 'a command failed')
    await this.#sync(row, byUid)
    this.#answer(tag, status, done)
    if (counts) this.#countError()
    return status.toLowerCase()
  }

  #answer(tag: string, status: 'OK' | 'NO' | 'BAD', { code, text }: Done): void {
    this.out.line(`${tag} ${status}${code === undefined ? '' : ` [${code}]`} ${text ?? 'Completed'}`)
  }

  #countError(): void {
    this.#errors += 1
    if (this.#errors >= limits.imap.errorsMax) this.bye('Too many commands that made no sense')
  }

  /** The loop ended by something thrown. */
  #fail(error: unknown): void {
    const words = lastWords(error)
    if (words === undefined) throw error
    this.bye(words)
  }

  #hear(change: Change): void {
    if (change.kind === 'mailbox' && change.what === 'deleted' && change.mailbox === this.view?.num) {
      // RFC 2180 3: its numbers mean nothing any more.
      this.bye('The selected mailbox was deleted')
      return
    }
    const seen = this.view?.notice(change) === true
    if (this.notices?.hear(change) === true || seen) this.telling?.stir()
  }
}
