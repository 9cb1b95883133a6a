// One POP3 connection (RFC 1939, 2449, 2595, 5034, 6856): a table of commands and the loop that carries them out.
//
// Promises: one answer for each command, in order, so that clients may pipeline; what is deleted goes at QUIT and only
// then; a client that reads slowly holds a chunk and nothing more.

import type { Held } from '#actors/auth/grant.ts'
import { version } from '#lib/build-info.ts'
import { after, monotonic, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { type Connection, Disconnected } from '#net/connection.ts'
import { beginSasl, mechanisms } from '#net/sasl.ts'
import { findUser } from '#store/accounts/users.ts'
import { bytesOf, Maildrop, Stuffer, uniqueId } from './maildrop.ts'
import type { Pop3Services } from './services.ts'

/** A refusal with its response code (RFC 2449 8, RFC 3206). */
class Refusal extends Error {}

type Phase = 'authorization' | 'transaction'

interface Row {
  readonly phase: Phase | 'any'
  /** It has no arguments (RFC 1939 5, 6; RFC 2449 5; RFC 2595 4; RFC 6856 2). */
  readonly alone?: true
  run(session: Session, argument: string): Promise<void> | void
}

export class Session {
  readonly id: string
  readonly connection: Connection
  readonly services: Pop3Services
  #drop: Maildrop | undefined
  #user = { id: '', downloadMax: 0 }
  #username: string | undefined
  #errors = 0
  /** Commands before a login. */
  #early = 0
  #late: Timer | undefined
  #held: Held | undefined
  over = false

  constructor(id: string, connection: Connection, services: Pop3Services) {
    this.id = id
    this.connection = connection
    this.services = services
    connection.lineBytesMax = limits.pop3.lineBytesMax
    connection.idleMs = limits.pop3.loginMs
  }

  get drop(): Maildrop {
    if (this.#drop === undefined) throw new Refusal('Log in first')
    return this.#drop
  }

  get phase(): Phase {
    return this.#drop === undefined ? 'authorization' : 'transaction'
  }

  async run(): Promise<void> {
    // Commands keep a stranger's connection alive only so long.
    this.#late = after(limits.pop3.loginMs, () => {
      this.error('Log in sooner')
      this.connection.end()
    })
    try {
      if (this.services.intercept !== undefined && (await this.#meddled('connect', ''))) return this.leave()
      this.ok(`${this.services.hostname} ready`)
      while (!this.over) {
        await this.#next()
        if (this.connection.backlogBytes > limits.net.backlogBytesSoft) await this.connection.drain()
      }
    } catch (error) {
      const code = error instanceof Fault ? error.code : ''
      if (code !== 'IdleTimeout' && code !== 'Stopping') throw error
      this.error(code === 'Stopping' ? '[SYS/TEMP] The service is stopping' : 'Idle for too long')
    } finally {
      this.#late?.cancel()
      this.#held?.release()
    }
  }

  /** No command is carried out any more; what is marked stays. */
  leave(): void {
    this.over = true
    this.connection.end()
  }

  ok(text: string): void {
    this.connection.write(`+OK ${text}\r\n`)
  }

  error(text: string): void {
    this.connection.write(`-ERR ${text}\r\n`)
  }

  /** A multi-line answer of lines that never start with a dot. */
  lines(first: string, lines: readonly string[]): void {
    this.connection.write(`+OK ${first}\r\n${lines.map(line => `${line}\r\n`).join('')}.\r\n`)
  }

  named(username: string): void {
    this.#username = username
  }

  /** What was said without TLS counts no more (RFC 2595 4). */
  forget(): void {
    this.#username = undefined
  }

  /** The name USER gave. */
  get name(): string {
    if (this.#username === undefined) throw new Refusal('USER first')
    return this.#username
  }

  /** Lets the account in and freezes its maildrop. */
  async enter(username: string, password: string): Promise<void> {
    const { services, connection } = this
    this.#username = undefined
    const ip = connection.remoteAddress
    const attempt = { username, password, scope: 'pop3', protocol: 'POP3', session: this.id, ip } as const
    const { user: id, grant } = await services.authenticate(attempt)
    this.#held?.release()
    this.#held = await services.grants.hold(grant, { ended: () => this.leave() })
    const handle = services.handle(id)
    const user = await findUser(handle.read, id)
    if (user === undefined) throw new Fault('AuthFailed')
    const own = user.options.limits
    this.#drop = await Maildrop.open(handle, user.num, own?.pop3MaxMessages || services.messagesMax)
    this.#user = { id, downloadMax: own?.pop3MaxDownload || services.settings.get('const:max:pop3:download') }
    connection.idleMs = limits.pop3.idleMs
    this.#late?.cancel()
    connection.ticket.prove()
    this.ok(holding(this.#drop))
  }

  /** Sends a message, or its header and so many lines. */
  async send(argument: string, lines: number): Promise<void> {
    const drop = this.drop.at(messageNumber(argument))
    if (drop === undefined) throw new Refusal('There is no such message')
    const { transfers, bodies } = this.services
    const { id, downloadMax } = this.#user
    if ((await transfers.left('pop3Download', id, downloadMax)) < 0) throw new Fault('TransferLimit')
    const stuffer = new Stuffer(lines)
    let begun = false
    let sent = 0
    try {
      for await (const piece of bytesOf(bodies, drop)) {
        if (!begun) this.ok(followed)
        begun = true
        const bytes = stuffer.push(piece)
        sent += bytes.length
        this.connection.write(bytes)
        await this.connection.drain()
        if (stuffer.done) break
      }
    } catch (error) {
      throw begun ? this.#brokenOff(error) : error
    } finally {
      transfers.count('pop3Download', this.#user.id, sent)
    }
    if (!begun) this.ok(followed)
    this.connection.write(stuffer.end())
    if (lines === Number.POSITIVE_INFINITY) drop.read = true
  }

  /** An answer that has begun cannot come to its end: whatever else was said would be taken for a piece of the message. */
  #brokenOff(error: unknown): Error {
    this.connection.destroy()
    const gone = error instanceof Fault && error.code === 'MessageNotFound'
    if (gone || error instanceof Disconnected) return new Disconnected()
    return new Error('a message could not be read to its end', { cause: error })
  }

  /** Whether a test took a step for itself; it is answered then. @throws Disconnected where it cut the session */
  async #meddled(at: string, argument: string): Promise<boolean> {
    const verdict = await this.services.intercept?.({ protocol: 'pop3', at, argument: at === 'PASS' ? '' : argument })
    if (verdict === undefined) return false
    if ('drop' in verdict) {
      this.connection.destroy()
      throw new Disconnected()
    }
    this.connection.write(`${verdict.reply}\r\n`)
    return true
  }

  async #next(): Promise<void> {
    let line: string
    try {
      const bytes = this.connection.takeLine() ?? (await this.connection.line())
      line = bytes.toString('utf8')
    } catch (error) {
      if (!(error instanceof Fault && error.code === 'LineTooLong')) throw error
      this.#refuse(new Refusal('The line is too long'))
      return
    }
    const space = line.indexOf(' ')
    const name = (space < 0 ? line : line.slice(0, space)).toUpperCase()
    const rest = space < 0 ? '' : line.slice(space + 1)
    // RFC 1939 7: in a password blanks are blanks.
    const argument = name === 'PASS' ? rest : rest.trim()
    if (this.services.intercept !== undefined && (await this.#meddled(name, argument))) return
    const row = commands[name]
    let result = 'ok'
    const started = monotonic()
    try {
      await this.#held?.check()
      if (row === undefined) throw new Refusal('Unknown command')
      if (row.phase !== 'any' && row.phase !== this.phase) throw new Refusal('This is not allowed now')
      if (row.alone === true && argument !== '') throw new Refusal(`${name} takes no argument`)
      await row.run(this, argument)
      if (this.#drop !== undefined) this.#errors = 0
    } catch (error) {
      result = 'error'
      this.#refuse(error)
    }
    this.services.count(row === undefined ? 'other' : name, result, monotonic() - started)
    if (this.over || this.#drop !== undefined || ++this.#early < limits.pop3.loginCommandsMax) return
    this.error('Too many commands before a login')
    this.over = true
  }

  #refuse(error: unknown): void {
    if (error instanceof Fault && error.code === 'SessionEnded') {
      this.error(`[AUTH] ${error.message}`)
      this.leave()
      return
    }
    if (error instanceof Refusal) this.error(error.message)
    else if (!(error instanceof Fault)) throw error
    else if (error.code === 'IdleTimeout' || error.code === 'Stopping') throw error
    else this.error(`${codeOf(error)}${error.message}`)
    this.#errors += 1
    if (this.#errors < limits.pop3.errorsMax) return
    this.error('Too many errors')
    this.over = true
  }
}

/** Response codes of RFC 2449 and RFC 3206. */
function codeOf(fault: Fault): string {
  if (['AuthFailed', 'InvalidAuthScope', 'UserDisabled'].includes(fault.code)) return '[AUTH] '
  if (fault.code === 'RateLimitedError') return '[LOGIN-DELAY] '
  if (['Overloaded', 'StorageUnavailable', 'TimedOut', 'TransferLimit'].includes(fault.code)) return '[SYS/TEMP] '
  return fault.code === 'AuthNeedsTls' || fault.code === 'BodyUnreadable' ? '[SYS/PERM] ' : ''
}

function messageNumber(text: string): number {
  return /^[1-9][0-9]{0,8}$/.test(text) ? Number(text) : 0
}

function requirePrivacy({ services, connection }: Session): void {
  if (!services.takesPasswords(connection)) throw new Fault('AuthNeedsTls')
}

async function authenticate(session: Session, argument: string): Promise<void> {
  if (argument === '') {
    session.lines('Mechanisms', mechanisms)
    return
  }
  requirePrivacy(session)
  const [mechanism = '', initial] = argument.split(' ')
  const exchange = beginSasl(mechanism)
  if (exchange === undefined) throw new Refusal('Unknown mechanism')
  const ask = async (challenge: string): Promise<string> => {
    session.connection.write(`+ ${challenge}\r\n`)
    const bytes = session.connection.takeLine() ?? (await session.connection.line())
    return bytes.toString('latin1')
  }
  let response = initial ?? (await ask(exchange.challenge))
  for (;;) {
    const step = exchange.next(response)
    if ('credentials' in step) return session.enter(step.credentials.username, step.credentials.password)
    response = await ask(step.challenge)
  }
}

function capabilities(session: Session): string[] {
  const { services, connection } = session
  const login = services.takesPasswords(connection) ? ['USER', `SASL ${mechanisms.join(' ')}`] : []
  // RFC 2595 4: it is named where it may be given.
  const tls = connection.secure || services.tls === undefined || session.phase !== 'authorization' ? [] : ['STLS']
  const always = ['TOP', 'UIDL', 'PIPELINING', 'RESP-CODES', 'AUTH-RESP-CODE', 'UTF8 USER', 'EXPIRE NEVER']
  return [...always, ...login, ...tls, `IMPLEMENTATION Teal ${version}`]
}

/** What RETR and TOP begin with. Programs look for these words, as for those of `holding`. */
const followed = 'message follows'

/** RFC 1939 4, 5: what an open or reset maildrop is greeted with. */
function holding(drop: Maildrop): string {
  const { count, size } = drop.stat
  return `maildrop has ${count} message${count === 1 ? '' : 's'} (${size} octet${size === 1 ? '' : 's'})`
}

/** LIST and UIDL: one line, or all. */
function listing(
  session: Session,
  argument: string,
  value: (drop: ReturnType<Maildrop['at']> & object) => string,
): void {
  if (argument !== '') {
    const drop = session.drop.at(messageNumber(argument))
    if (drop === undefined) throw new Refusal('There is no such message')
    session.ok(`${argument} ${value(drop)}`)
    return
  }
  session.lines(
    holding(session.drop),
    Array.from(session.drop.left(), ([number, drop]) => `${number} ${value(drop)}`),
  )
}

const commands: Readonly<Record<string, Row | undefined>> = {
  __proto__: null as never,
  CAPA: { alone: true, phase: 'any', run: session => session.lines('Capabilities', capabilities(session)) },
  NOOP: { alone: true, phase: 'transaction', run: session => session.ok('Nothing done') },
  UTF8: { alone: true, phase: 'authorization', run: session => session.ok('UTF-8 it is') },
  STLS: {
    alone: true,
    phase: 'authorization',
    async run(session) {
      const { tls } = session.services
      if (tls === undefined || session.connection.secure) throw new Refusal('TLS is active already')
      session.ok('Begin TLS')
      await session.connection.startTls(tls)
      session.forget()
    },
  },
  USER: {
    phase: 'authorization',
    run(session, argument) {
      requirePrivacy(session)
      if (argument === '') throw new Refusal('A name is missing')
      session.named(argument)
      session.ok('send PASS')
    },
  },
  PASS: {
    phase: 'authorization',
    run(session, argument) {
      requirePrivacy(session)
      return session.enter(session.name, argument)
    },
  },
  AUTH: { phase: 'authorization', run: authenticate },
  STAT: {
    alone: true,
    phase: 'transaction',
    run(session) {
      const { count, size } = session.drop.stat
      session.ok(`${count} ${size}`)
    },
  },
  LIST: { phase: 'transaction', run: (session, argument) => listing(session, argument, drop => String(drop.size)) },
  UIDL: { phase: 'transaction', run: (session, argument) => listing(session, argument, uniqueId) },
  RETR: { phase: 'transaction', run: (session, argument) => session.send(argument, Number.POSITIVE_INFINITY) },
  TOP: {
    phase: 'transaction',
    run(session, argument) {
      const match = /^(\d+) (\d{1,9})$/.exec(argument)
      if (match === null) throw new Refusal('TOP needs a message and a number of lines')
      return session.send(match[1] ?? '', Number(match[2]))
    },
  },
  DELE: {
    phase: 'transaction',
    run(session, argument) {
      const drop = session.drop.at(messageNumber(argument))
      if (drop === undefined) throw new Refusal('There is no such message')
      drop.deleted = true
      session.ok(`message ${Number(argument)} deleted`)
    },
  },
  RSET: {
    alone: true,
    phase: 'transaction',
    run(session) {
      session.drop.reset()
      session.ok(holding(session.drop))
    },
  },
  QUIT: {
    alone: true,
    phase: 'any',
    async run(session) {
      session.over = true
      if (session.phase === 'transaction')
        await session.drop.update(session.services.deleteTo, session.services.transfer)
      session.ok('Bye')
    },
  },
}
