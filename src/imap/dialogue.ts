// The loop of one IMAP connection: greets, takes one command after the other off the wire, carries it out, answers.
//
// Promises: a command gets exactly one tagged answer, or the connection ends; untagged changes go out before that answer,
// expunges only where RFC 9051 7.5.1 allows. A mistake of ours is logged and answered `NO [SERVERBUG]`, and tells nothing.
// Clients that make no sense for long are let go.

import { after, monotonic, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { type Connection, Disconnected } from '#net/connection.ts'
import { capabilitiesOf } from './capabilities.ts'
import type { CommandRow, Done } from './command.ts'
import { findCommand } from './commands.ts'
import { UntaggedResponses } from './selected/untagged.ts'
import { Telling } from './selected/untagged-order.ts'
import type { ImapServices } from './services.ts'
import { Session } from './session.ts'
import { Decoder, malformed } from './wire/decoder.ts'
import { afterLogin, beforeLogin, Flooded, type Gathered, gather, nextLine } from './wire/gather.ts'
import { lastWords, refusalOf } from './wire/refusal.ts'

/** A command that was begun. */
interface Begun extends Pick<Gathered, 'tag' | 'name' | 'byUid'> {
  readonly row: CommandRow | undefined
  readonly started: number
}

/** One that waits for the client's next line. */
type Unanswered = Begun & Required<Pick<Done, 'next'>>

export class Dialogue {
  readonly #session: Session
  #unanswered: Unanswered | undefined
  #errors = 0
  #early = 0

  constructor(id: string, connection: Connection, services: ImapServices) {
    this.#session = new Session(id, connection, services, session => new UntaggedResponses(session))
  }

  /** Greets and carries out commands until one side has had enough. */
  async run(): Promise<void> {
    const session = this.#session
    const { connection, services, out } = session
    connection.lineBytesMax = beforeLogin.commandBytesMax
    connection.idleMs = limits.imap.loginMs
    let late: Timer | undefined = hurried(session)
    if (services.intercept !== undefined && (await this.#meddled('*', 'connect', ''))) return session.bye('It ends')
    out.line(`* OK [CAPABILITY ${capabilitiesOf(session)}] ${services.hostname} ready`).flush()
    try {
      while (!session.over && !session.loggedIn) await this.#next()
      late.cancel()
      late = undefined
      connection.lineBytesMax = afterLogin.commandBytesMax
      connection.idleMs = limits.imap.idleMs
      while (!session.over) {
        // Where sessions are nearly always: this is all that one holds meanwhile.
        if (this.#quiet && connection.peek() === undefined) {
          await connection.arrival()
          session.pace.restart()
        }
        await this.#next()
      }
    } catch (error) {
      // What is being told is told to its end.
      await session.telling?.stop()
      this.#fail(error)
    } finally {
      late?.cancel()
      session.close()
    }
  }

  /** Nothing is told between two commands but in IDLE, which sees to it itself. */
  get #quiet(): boolean {
    return this.#unanswered !== undefined || this.#session.notices === undefined
  }

  async #next(): Promise<void> {
    const session = this.#session
    const { connection, pace } = session
    if (this.#unanswered === undefined) await this.#command()
    else await this.#goOn(this.#unanswered)
    if (!session.loggedIn && ++this.#early >= limits.imap.loginCommandsMax)
      session.bye('Too many commands before a login')
    session.out.flush()
    if (session.startTls) await this.#secure()
    if (session.compression === 'next') {
      connection.compress()
      session.compression = 'active'
    }
    if (connection.backlogBytes > limits.net.backlogBytesSoft) await connection.drain()
    if (pace.spent) await pace.turn()
  }

  async #command(): Promise<void> {
    const { connection, pace } = this.#session
    const idle = connection.peek() === undefined
    const gathered = await this.#waitForCommand()
    if (idle) pace.restart()
    if (gathered.tag === '') {
      this.#answer('*', 'BAD', { text: gathered.refused?.message ?? 'A tag is missing' })
      this.#countError()
    } else await this.#execute(gathered)
  }

  /** The client's line that an answer waits for; one that is too long says nothing that makes sense. */
  async #goOn(command: Unanswered): Promise<void> {
    const { text } = await nextLine(this.#session.connection)
    this.#unanswered = undefined
    await this.#carryOut(command, () => command.next(this.#session, text))
  }

  /** Whoever registered for it is told changes meanwhile. */
  async #waitForCommand(): Promise<Gathered> {
    const session = this.#session
    const { connection, notices } = session
    const bounds = session.loggedIn ? afterLogin : beforeLogin
    const look = (name: string, byUid: boolean) => {
      const row = findCommand(name, byUid)
      return { refused: this.#outOfPlace(name, row), messages: row?.messages === true }
    }
    if (notices === undefined) return gather(connection, bounds, () => session.invite(), look)
    const telling = new Telling(session, notices.selected?.delayed === false)
    session.telling = telling.stir()
    try {
      // What is being told is told to its end: an invitation must not stand in the middle of a message.
      return await gather(connection, bounds, () => telling.stop().then(() => session.invite()), look)
    } finally {
      session.telling = undefined
      await telling.stop()
    }
  }

  async #secure(): Promise<void> {
    const { connection, services } = this.#session
    this.#session.startTls = false
    if (services.tls !== undefined) await connection.startTls(services.tls)
  }

  async #execute(gathered: Gathered): Promise<void> {
    const session = this.#session
    const { tag, name, byUid } = gathered
    session.tag = tag
    const row = findCommand(name, byUid)
    if (session.services.intercept !== undefined && gathered.message === undefined) {
      const [first = ''] = gathered.parts
      const full = byUid ? `UID ${name}` : name
      if (await this.#meddled(tag, full, typeof first === 'string' ? first.trim() : '')) return
    }
    await this.#carryOut({ row, tag, name, byUid, started: monotonic() }, async () => {
      await session.checkStanding()
      return this.#run(row, gathered)
    })
  }

  async #carryOut(command: Begun, run: () => Promise<Done | undefined>): Promise<void> {
    const { row, tag, name, byUid, started } = command
    let result = 'ok'
    try {
      const done = await run()
      if (done?.next !== undefined) {
        this.#unanswered = { ...command, next: done.next }
        return
      }
      await this.#sync(row, byUid && done?.numbered !== true)
      if (done?.no === true) result = 'no'
      // Who makes sense now and then is no stranger who guesses, however long the session lasts.
      else if (this.#session.loggedIn) this.#errors = 0
      this.#answer(tag, done?.no === true ? 'NO' : 'OK', { text: `${byUid ? 'UID ' : ''}${name} completed`, ...done })
    } catch (error) {
      if (error instanceof Disconnected || error instanceof Flooded) throw error
      result = await this.#refuse(command, error)
    }
    this.#session.services.count(row?.name ?? 'other', result, monotonic() - started)
  }

  /** Whether a test took a step for itself; it is answered then. @throws Disconnected where it cut the session */
  async #meddled(tag: string, at: string, argument: string): Promise<boolean> {
    const { services, connection, out } = this.#session
    const verdict = await services.intercept?.({ protocol: 'imap', at, argument })
    if (verdict === undefined) return false
    if ('drop' in verdict) {
      connection.destroy()
      throw new Disconnected()
    }
    out.line(`${tag} ${verdict.reply}`)
    return true
  }

  async #run(row: CommandRow | undefined, gathered: Gathered): Promise<Done | undefined> {
    const { name, byUid, parts, message, refused } = gathered
    // A message that is still on the wire is read or thrown away by the command, refused or not.
    const fault = message === undefined ? (refused ?? this.#outOfPlace(name, row)) : undefined
    if (fault !== undefined) throw fault
    if (row === undefined) throw malformed('Unknown command')
    const input = row.parse(new Decoder(parts, this.#session.utf8), byUid)
    return row.run(this.#session, input as never, byUid, gathered)
  }

  /** Why a command cannot be given now, or at all. */
  #outOfPlace(name: string, row: CommandRow | undefined): Fault | undefined {
    if (row === undefined) return malformed('Unknown command')
    return row.states.includes(this.#session.state) ? undefined : malformed(`${name} is not allowed now`)
  }

  /** Untagged changes before the tagged answer. */
  async #sync(row: CommandRow | undefined, byUid: boolean): Promise<void> {
    const { view, untagged } = this.#session
    // What a client took away itself it is told, whatever else it wants to hear.
    if (row?.name === 'EXPUNGE' || row?.name === 'MOVE') await view?.tell(untagged, true)
    const expunge = row === undefined || row.expunges === 'always' || (row.expunges === 'uid' && byUid)
    view?.settle(expunge)
    if (row?.expunges !== 'never' && this.#session.news(expunge)) await this.#session.tell(expunge)
    await untagged.held(expunge)
  }

  async #refuse({ row, tag }: Begun, error: unknown): Promise<string> {
    const { status, counts, ...done } = refusalOf(error)
    if (!(error instanceof Fault) || error.code === 'InternalError')
      this.#session.services.log.error({ error, session: this.#session.id }, 'a command failed')
    // What it named by numbers is not known here.
    await this.#sync(row, false)
    this.#answer(tag, status, done)
    if (counts) this.#countError()
    return status.toLowerCase()
  }

  #answer(tag: string, status: 'OK' | 'NO' | 'BAD', { code, text }: Done): void {
    this.#session.out.line(`${tag} ${status}${code === undefined ? '' : ` [${code}]`} ${text ?? 'Completed'}`)
  }

  #countError(): void {
    this.#errors += 1
    if (this.#errors >= limits.imap.errorsMax) this.#session.bye('Too many commands that made no sense')
  }

  /** The loop ended by something thrown. */
  #fail(error: unknown): void {
    const words = lastWords(error)
    if (words === undefined) throw error
    this.#session.bye(words)
  }
}

/** Commands keep a stranger's connection alive only so long. */
function hurried(session: Session): Timer {
  return after(limits.imap.loginMs, () => {
    if (!session.loggedIn) session.bye('Log in sooner')
  })
}
