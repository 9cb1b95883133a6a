// One SMTP or LMTP session: greeting, commands in order, one transaction at a time, and a last word when it has to end.
//
// The session is our own and not the smtp-server library's, which takes half the rate of a bare line reader, lets every peer
// wait for the greeting, and stores `.x` as `.x` where RFC 5321 4.5.2 takes the dot off (bench/NOTES.md, SMTP server). Every line is answered in order; replies of a pipeline go out together.

import { monotonic } from '#lib/clock.ts'
import { Fault, smtpReply } from '#lib/fault.ts'
import { randomHex } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { MessageNotice } from '#mail/made/notice.ts'
import { type Connection, Disconnected, LongLine } from '#net/connection.ts'
import type { TlsInfo } from '#net/tls/tls.ts'
import type { SmtpService, Speaker } from './backend.ts'
import type { Arrival, Reply } from './message.ts'
import type { Setting } from './setting.ts'

/** What was agreed on between MAIL and the end of the message. */
export interface Transaction {
  readonly from: string
  readonly utf8: boolean
  readonly notice: MessageNotice
  /** When it is to be sent, where its sender said so. */
  readonly release: number | undefined
  readonly recipients: unknown[]
  /** Monotonic. */
  readonly begun: number
  /** Set between the chunks of BDAT. */
  arrival: Arrival | undefined
}

/** The command of a name (upper case) that a listener has; a text after the name goes in as `argument`. */
type CommandOf = (
  setting: Setting,
  name: string,
) => { run(session: Session, argument: string): Promise<void> | void } | undefined

const idBytes = 6

export class Session implements Speaker {
  readonly id = randomHex(idBytes)
  readonly connection: Connection
  readonly setting: Setting
  helo = ''
  /** Whether the peer said EHLO or LHLO. */
  extended = false
  user: unknown
  transaction: Transaction | undefined
  declaredBytes = 0
  refusedRecipients = 0
  authFailures = 0
  /** Messages answered so far. */
  messages = 0
  readonly #commandOf: CommandOf
  #errors = 0
  #over = false
  /** Why it is to end; said before the next command is read. */
  #ending: string | undefined
  /** It waits for a command. */
  #waits = false
  /** Commands since the last message, and when that was, or the connection. */
  #idleCommands = 0
  #since = monotonic()

  constructor(connection: Connection, setting: Setting, commandOf: CommandOf) {
    this.#commandOf = commandOf
    this.connection = connection
    this.setting = setting
  }

  get service(): SmtpService {
    return this.setting.service
  }

  get remoteAddress(): string {
    return this.connection.remoteAddress
  }

  get remotePort(): number {
    return this.connection.remotePort
  }

  get tls(): TlsInfo | undefined {
    return this.connection.tls
  }

  get protocol(): string {
    const name = this.setting.lmtp ? 'LMTP' : this.extended ? 'ESMTP' : 'SMTP'
    return name + (this.connection.secure ? 'S' : '') + (this.user === undefined ? '' : 'A')
  }

  /** Serves until the peer or the service has enough. @throws Disconnected, and our own mistakes */
  async run(): Promise<void> {
    const { connection, setting } = this
    connection.lineBytesMax = limits.smtp.commandBytesMax
    const { idleMs, loginMs } = setting.bounds
    if (setting.authenticate !== undefined && !setting.open) connection.idleMs = Math.min(idleMs, loginMs)
    if (setting.intercept !== undefined && (await this.meddled('connect', ''))) return connection.end()
    connection.write(`220 ${setting.hostname} ${setting.lmtp ? 'LMTP' : 'ESMTP'} Teal\r\n`)
    try {
      while (!this.#over) {
        try {
          if (this.#ending !== undefined) {
            this.#conclude(this.#ending)
            break
          }
          const line = connection.takeLine() ?? (await this.#line())
          const work = this.#obey(line)
          if (work !== undefined) await work
        } catch (error) {
          if (error instanceof LongLine) this.#standUnread(error.start)
          this.refuse(error)
        }
      }
    } finally {
      setting.backend.left?.(this)
      await this.reset()
    }
  }

  lend<Value>(task: Promise<Value>): Promise<Value> {
    return this.connection.ticket.lend(task, true)
  }

  end(reason: string): void {
    this.#ending ??= reason
    if (!this.#waits || this.#over) return
    this.#conclude(this.#ending)
    this.connection.end()
  }

  reply(code: number, enhanced: string, text: string): void {
    this.connection.write(`${code} ${enhanced} ${text}\r\n`)
  }

  /** Sends a reply that may carry a stranger's words. A 421 says who speaks and ends the session (RFC 5321 3.8). */
  answer({ code, enhanced, text }: Reply): void {
    const safe = text.slice(0, textLengthMax).replace(/[^\x20-\x7e]/g, '?')
    this.reply(code, enhanced, code === closing ? `${this.setting.hostname} ${safe}` : safe)
    if (code === closing) this.close()
  }

  /** Answers what a command threw. @throws Disconnected, since nobody is there to be answered */
  refuse(error: unknown): void {
    if (error instanceof Disconnected) throw error
    this.report(error)
    this.answer(smtpReply(error))
    this.#errors += 1
    if (this.#errors >= this.setting.bounds.errorsMax && !this.#over) this.answer(smtpReply(new Fault('TooManyErrors')))
  }

  /** Tells of errors that are ours. */
  report(error: unknown): void {
    if (!(error instanceof Fault)) this.setting.onError(error, this)
  }

  /** A message was taken: the session does what it is for. */
  served(): void {
    this.#errors = 0
    this.#idleCommands = 0
    this.#since = monotonic()
    this.connection.ticket.favour()
  }

  /** A login went well. */
  entered(user: unknown): void {
    this.user = user
    this.#idleCommands = 0
    this.#since = monotonic()
    this.connection.idleMs = this.setting.bounds.idleMs
    this.connection.ticket.prove()
  }

  /** No further command is read. */
  close(): void {
    this.#over = true
  }

  /** Forgets the transaction and whatever of a message was kept. */
  async reset(): Promise<void> {
    const arrival = this.transaction?.arrival
    this.transaction = undefined
    this.declaredBytes = 0
    if (arrival !== undefined) await arrival.fail(new Disconnected())
  }

  async #line(): Promise<Buffer> {
    this.#waits = true
    try {
      return await this.connection.line()
    } finally {
      this.#waits = false
    }
  }

  /** The last word, once. */
  #conclude(reason: string): void {
    this.answer(smtpReply(new Fault('SessionEnded', { text: reason })))
  }

  /** Whether a login is needed for anything, and did not come yet. */
  get #strange(): boolean {
    const { authenticate, open } = this.setting
    return authenticate !== undefined && !open && this.user === undefined
  }

  /** Time for a chunk that came out of place to pass. */
  get chunkMs(): number {
    const { loginMs, messageMs } = this.setting.bounds
    return this.#strange ? loginMs : messageMs
  }

  /** Recipients may take as long as a message that comes in; that has its own time from then on. @throws Fault NothingSent */
  #requireHaste(): void {
    const { transaction, setting } = this
    if (transaction === undefined || transaction.arrival !== undefined) return
    if (monotonic() - transaction.begun > setting.bounds.messageMs) throw new Fault('NothingSent')
  }

  /** A session that keeps its place and sends nothing ends. @throws Fault NothingSent */
  #countIdle(): void {
    const { bounds, lmtp } = this.setting
    const stranger = this.#strange
    const most = stranger
      ? bounds.loginCommandsMax
      : bounds.messagelessCommandsMax * (lmtp ? limits.smtp.messagelessLmtpTimes : 1)
    const ms = stranger ? bounds.loginMs : bounds.messagelessMs
    this.#idleCommands += 1
    if (this.#idleCommands > most || monotonic() - this.#since > ms) throw new Fault('NothingSent')
  }

  #obey(line: Buffer): void | Promise<void> {
    const text = this.#textOf(line)
    const space = text.indexOf(' ')
    const name = (space < 0 ? text : text.slice(0, space)).toUpperCase()
    const command = this.#commandOf(this.setting, name)
    if (command === undefined) throw new Fault('CommandUnknown')
    this.setting.count(name)
    if (transferring.has(name)) this.#requireHaste()
    else this.#countIdle()
    const argument = space < 0 ? '' : text.slice(space + 1).trim()
    if (this.setting.intercept === undefined) return command.run(this, argument)
    return this.meddled(name, argument).then(done => (done ? undefined : command.run(this, argument)))
  }

  /** @throws Fault BadCommand where it holds what no command may */
  #textOf(line: Buffer): string {
    try {
      return commandText(line, this.connection.bareLine)
    } catch (error) {
      this.#standUnread(line.toString('latin1'))
      throw error
    }
  }

  /** A command that cannot be read: behind BDAT its bytes come, of which nobody knows how many, and they are no commands. */
  #standUnread(line: string): void {
    if (/^BDAT\b/i.test(line)) this.close()
  }

  /** Whether a test took a step for itself; it is answered then. @throws Disconnected where it cut the session */
  async meddled(at: string, argument: string): Promise<boolean> {
    const { transaction, setting, connection } = this
    const verdict = await setting.intercept?.({
      ...{ protocol: 'smtp', at, argument },
      ...(transaction !== undefined && { from: transaction.from }),
    })
    if (verdict === undefined) return false
    if ('drop' in verdict) {
      connection.destroy()
      throw new Disconnected()
    }
    connection.write(`${verdict.reply}\r\n`)
    if (verdict.reply.startsWith('421')) this.close()
    return true
  }
}

/** Commands that bring a message nearer, or the end. */
const transferring: ReadonlySet<string> = new Set(['RCPT', 'DATA', 'BDAT', 'QUIT'])

const closing = 421
const textLengthMax = 400

/** A command line as text. @throws Fault BadCommand where it holds what no command may */
function commandText(line: Buffer, bare: boolean): string {
  if (bare) throw new Fault('BadCommand', { text: 'A line must end in CR LF' })
  const text = line.toString('latin1')
  if (/^[\x20-\x7e]*$/.test(text)) return text
  const utf8 = line.toString('utf8')
  if (/[\0-\x1f\x7f\ufffd]/.test(utf8)) throw new Fault('BadCommand', { text: 'The line holds what no command may' })
  return utf8
}
