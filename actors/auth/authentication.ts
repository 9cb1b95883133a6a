// Who may come in: the one place that decides, for every protocol (specification, Authentication; api-semantics 2).
//
// A stranger learns nothing: a name nobody has costs and counts like any other, and whether an account is disabled, its
// scope is closed or it has a second factor is said only to who knows the password. Passwords are hashed on threads; one
// that was verified a moment ago costs a read and no write that anybody waits for. Order: how often may be tried,
// application passwords, the temporary and the main password, then what the account allows.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import type { Journal } from '#lib/journal/journal.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { aspOpens, aspScopes, aspSelector, normalAsp } from '#lib/secret/asp.ts'
import { splitAddress } from '#mail/address/address.ts'
import type { Pwned } from '#net/outward/pwned.ts'
import type { Pools } from '#pool'
import { type Asp, selectAsps } from '#store/accounts/credentials.ts'
import { nameOfNobody, resolveLogin } from '#store/accounts/login-name.ts'
import type { StandIns } from '#store/accounts/stand-in.ts'
import { findUser, type TemporaryPassword, type User } from '#store/accounts/users.ts'
import type { ClosedDomains } from '#store/domains/closed.ts'
import type { Cache } from '#store/folder/cache.ts'
import { Recent } from '#store/mailboxes/recent.ts'
import type { EventName } from '../kernel/events.ts'
import type { ActorSystem } from '../kernel/system.ts'
import { rehashPassword } from '../user/account.ts'
import { type Factor, factorsOf } from '../user/credential.ts'
import type { Attempts, Subject } from './attempts.ts'
import type { AuthEvent, AuthLog } from './auth-log.ts'
import { judgeBreach } from './breach.ts'
import type { Grant } from './grant.ts'
import { type Announcement, announce, noteFailed } from './told-login.ts'

export const scopes = ['master', ...aspScopes] as const
export type Scope = (typeof scopes)[number]

export interface LoginAttempt {
  /** A username or an address. */
  readonly username: string
  readonly password: string
  readonly scope: Scope
  /** For the log: `IMAP`, `API` or what a caller of the API says. */
  readonly protocol: string
  readonly session?: string | undefined
  /** Address of the client; empty or absent where it is not known. */
  readonly ip?: string | undefined
  readonly appId?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Entered {
  /** Id of the account. */
  readonly user: string
  readonly account: User
  readonly source: 'master' | 'temporary' | 'asp'
  /** Second factors that are on; always none for an application password. */
  readonly factors: readonly Factor[]
  /** What a session that begins with this may go on by. */
  readonly grant: Grant
  readonly requirePasswordChange: boolean
  readonly passwordPwned: boolean
}

export interface AuthenticationDeps {
  readonly system: ActorSystem
  readonly cache: Cache
  readonly passwords: Pools['passwords']
  /** For names nobody has. */
  readonly standIns: StandIns
  readonly attempts: Attempts
  readonly authLog: AuthLog
  readonly pwned: Pwned
  readonly metrics: Metrics
  readonly log: Log
  readonly journal: Journal
  readonly closed: ClosedDomains
  /** Commits so far that may have changed whom a name means, or an account. */
  readonly commits: () => number
  /** Whether somebody subscribes to an event. */
  readonly wanted: (name: EventName) => boolean
}

type Source = Entered['source']
type Result = 'success' | 'fail' | 'ratelimited' | 'error'

const services: ReadonlySet<string> = new Set(['API', 'IMAP', 'POP3', 'SMTP'])

export class Authentication {
  readonly #deps: AuthenticationDeps
  /** Name -> account, nearly always the ones of a moment ago. */
  readonly #users: Recent<User | undefined>

  constructor(deps: AuthenticationDeps) {
    this.#deps = deps
    this.#users = new Recent(deps.commits)
  }

  /**
   * Decides about one attempt.
   *
   * @throws Fault AuthFailed, RateLimitedError, InvalidAuthScope, TempPasswordNotYetValid, Overloaded, TimedOut
   */
  async authenticate(attempt: LoginAttempt): Promise<Entered> {
    try {
      const entered = await this.#decide(attempt)
      this.#count(attempt, 'success')
      return entered
    } catch (error) {
      this.#count(attempt, resultOf(error))
      await noteFailed(this.#deps.journal, attempt, error, () => this.#find(attempt.username))
      throw error
    }
  }

  /**
   * Whom a name means, for callers that ask for the password later.
   *
   * @param asker tells callers apart that give no address
   * @throws Fault AuthFailed for unknown, disabled and suspended accounts alike, InvalidAuthScope, RateLimitedError
   */
  async lookup(attempt: { username: string; scope: Scope; ip?: string | undefined }, asker: string): Promise<User> {
    const question = await this.#deps.attempts.asked(attempt.ip ?? '', asker)
    let user: User | undefined
    try {
      user = await this.#find(attempt.username)
      if (user === undefined || user.disabled || user.suspended) {
        question.missed()
        throw new Fault('AuthFailed')
      }
    } finally {
      question.answered()
    }
    if (user.options.disabledScopes?.includes(attempt.scope)) throw new Fault('InvalidAuthScope')
    return user
  }

  /** Whether this is a password, main or temporary, of who calls. @throws Fault AuthFail, RateLimitedError */
  async confirm(user: User, password: string, ip: string | undefined, signal?: AbortSignal): Promise<void> {
    try {
      await this.#confirm(user, password, ip, signal)
    } catch (error) {
      const about = { username: user.username, protocol: 'API', scope: 'master', ip }
      await noteFailed(this.#deps.journal, about, error, async () => user)
      throw error
    }
  }

  async #confirm(user: User, password: string, ip: string | undefined, signal?: AbortSignal): Promise<void> {
    const { attempts } = this.#deps
    const subject = { account: user.id, ip: ip ?? '' }
    const attempt = await attempts.begin('password', subject)
    try {
      const options = { signal, turnKey: attempts.turnKey('password', subject) }
      const temporary = currentTemporary(user.temporary)
      const isNow = temporary !== null && now() >= temporary.validAfter
      const hashes = isNow ? [user.password, temporary.hash] : [user.password]
      const same = (await Promise.all(hashes.map(hash => this.#verify(password, hash, options)))).includes(true)
      if (!same) attempt.failed()
      else attempt.succeeded()
      if (!same) throw new Fault('AuthFail')
    } finally {
      attempt.withdrawn()
    }
  }

  async #decide(attempt: LoginAttempt): Promise<Entered> {
    const user = await this.#find(attempt.username)
    const account = user?.id ?? `name:${await nameOfNobody(this.#deps.system.read, attempt.username)}`
    const subject: Subject = { account, ip: attempt.ip ?? '' }
    try {
      const asp = attempt.scope === 'master' ? undefined : await this.#asp(attempt, user, subject)
      if (asp?.found !== undefined && aspOpens(asp.found.scopes, attempt.scope) && user !== undefined) {
        return await this.#admit(attempt, user, subject, 'asp', asp.found)
      }
      const right = await this.#password(attempt, user, subject)
      if (right !== undefined && user !== undefined) {
        if (right === 'master' && this.#deps.passwords.isWeak(user.password)) await this.#rehash(user, attempt.password)
        const source = right === 'recalled' ? 'master' : right
        return await this.#admit(attempt, user, subject, source)
      }
      const known = asp?.found
      if (user !== undefined) {
        const which = known === undefined ? {} : { source: 'asp', asp: known.id, aname: known.description }
        await this.#note(user, attempt, 'fail', which as Partial<AuthEvent>)
      }
      if (known !== undefined) throw new Fault('InvalidAuthScope')
      throw asp?.refusal ?? new Fault('AuthFailed')
    } catch (error) {
      if (user !== undefined && error instanceof Fault && error.code === 'RateLimitedError') {
        await this.#note(user, attempt, 'ratelimited')
      }
      this.#tell('authentication.failed', user, attempt, error)
      throw error
    }
  }

  #find(username: string): Promise<User | undefined> {
    return this.#users.get(username, () => this.#read(username))
  }

  async #read(username: string): Promise<User | undefined> {
    const { read } = this.#deps.system
    const id = await resolveLogin(read, username)
    const user = id === undefined ? undefined : await findUser(read, id)
    if (user?.deleted !== null) return undefined
    // An account of a closed domain is closed with it.
    const closed = await this.#deps.closed.has(splitAddress(user.address).domain)
    return closed ? { ...user, disabled: true } : user
  }

  /** The application password that was presented, whatever its scopes; a refusal to look is kept for later. */
  async #asp(
    { password, signal }: LoginAttempt,
    user: User | undefined,
    subject: Subject,
  ): Promise<{ found?: Asp | undefined; refusal?: unknown } | undefined> {
    const text = normalAsp(password)
    if (text === undefined) return undefined
    const { passwords, attempts, system } = this.#deps
    const candidates = user === undefined ? [] : await selectAsps(system.read, user.num, aspSelector(text), now())
    let recalled: Asp | undefined
    attempts.recalled('asp', subject, () => {
      recalled = candidates.find(({ hash }) => passwords.recalls(text, hash))
      return recalled !== undefined
    })
    if (recalled !== undefined) return { found: recalled }
    let attempt: Awaited<ReturnType<Attempts['begin']>>
    try {
      attempt = await attempts.begin('asp', subject)
    } catch (refusal) {
      return { refusal }
    }
    try {
      const options = { signal, turnKey: attempts.turnKey('asp', subject) }
      for (const found of candidates) {
        if (!(await passwords.verify(text, found.hash, options))) continue
        attempt.succeeded()
        return { found }
      }
      // At least one is hashed, so that the time does not tell how many there are.
      const { standIns } = this.#deps
      if (candidates.length === 0) await passwords.verify(standIns.text(subject.account, text), null, options)
      attempt.failed()
      return {}
    } finally {
      attempt.withdrawn()
    }
  }

  /** Which password was presented, if it is one; `recalled` is the main one once more. @throws Fault RateLimitedError */
  async #password(
    { password, signal }: LoginAttempt,
    user: User | undefined,
    subject: Subject,
  ): Promise<'master' | 'temporary' | 'recalled' | undefined> {
    const { passwords, attempts } = this.#deps
    const main = user === undefined || user.password === '' ? null : user.password
    const temporary = currentTemporary(user?.temporary ?? null)
    const is = (hash: string | undefined | null) => hash != null && passwords.recalls(password, hash)
    if (attempts.recalled('password', subject, () => is(main))) return 'recalled'
    if (temporary !== null && attempts.recalled('password', subject, () => is(temporary.hash))) return 'temporary'
    const attempt = await attempts.begin('password', subject)
    try {
      const options = { signal, turnKey: attempts.turnKey('password', subject) }
      // Beside each other, so that the time does not tell that there is a temporary one.
      const [isMain, isTemporary] = await Promise.all([
        main === null ? this.#nobody(password, subject.account, options) : this.#verify(password, main, options),
        temporary !== null && this.#verify(password, temporary.hash, options),
      ])
      if (!isMain && !isTemporary) {
        attempt.failed()
        return undefined
      }
      attempt.succeeded()
      return isMain ? 'master' : 'temporary'
    } finally {
      attempt.withdrawn()
    }
  }

  /** The same work where there is no main password: nobody's is right. */
  async #nobody(password: string, account: string, options: VerifyOptions): Promise<false> {
    const { passwords, standIns } = this.#deps
    const text = standIns.text(account, password)
    await passwords.verify(text, await standIns.hash(account), options).catch(onlyHashError)
    return false
  }

  /** A stored hash of a form nobody can verify is like a wrong password to a stranger; the log says more. */
  async #verify(password: string, hash: string | null, options: VerifyOptions) {
    try {
      return await this.#deps.passwords.verify(password, hash, options)
    } catch (error) {
      onlyHashError(error)
      this.#deps.log.warn({ account: options.turnKey.at(-1) }, 'the stored hash of an account is of no known form')
      return false
    }
  }

  /** The password is right: what is left is what the account allows. */
  async #admit(attempt: LoginAttempt, user: User, subject: Subject, source: Source, asp?: Asp): Promise<Entered> {
    const { attempts, authLog } = this.#deps
    const { scope } = attempt
    const factors = source === 'asp' ? [] : factorsOf(user)
    const more: Partial<AuthEvent> = {
      source,
      ...(asp === undefined
        ? {}
        : { asp: asp.id, aname: asp.description, ...(asp.ttl > 0 ? { temporary: true } : {}) }),
      ...(factors.length === 0 ? {} : { require2fa: factors.join(',') }),
    }
    const refuse = async (result: 'fail' | 'disabled' | 'suspended', code: Fault): Promise<never> => {
      await this.#note(user, attempt, result, more)
      throw code
    }
    if (user.disabled) return refuse('disabled', new Fault('AuthFailed'))
    if (user.suspended) return refuse('suspended', new Fault('AuthFailed'))
    if (source === 'temporary' && now() < (user.temporary?.validAfter ?? 0)) {
      return refuse('fail', new Fault('TempPasswordNotYetValid'))
    }
    const closed = scope !== 'master' && (source === 'temporary' || factors.length > 0)
    if (closed || user.options.disabledScopes?.includes(scope)) return refuse('fail', new Fault('InvalidAuthScope'))
    const pwned = source === 'master' ? await judgeBreach(this.#deps, user, attempt.password) : 'fine'
    if (pwned === 'refuse') return refuse('fail', new Fault('AuthFailed'))
    // With a factor it is not a login yet: whoever checks the factor says when it is.
    if (factors.length === 0) attempts.entered(source === 'asp' ? 'asp' : 'password', subject)
    const event = await this.#note(user, attempt, 'success', more)
    authLog.entered(user.num)
    if (asp !== undefined) {
      const at = now()
      const expires = asp.ttl > 0 ? at + asp.ttl : null
      authLog.used({ asp: asp.id, user: user.num, at, event, ip: attempt.ip ?? '', expires })
    }
    this.#tell('authentication.succeeded', user, attempt)
    const mustChange = user.options.requirePasswordChange === true && source === 'master'
    return {
      ...{ user: user.id, account: user, source, factors },
      grant: { kind: 'login', user: user.id, scope, authVersion: user.authVersion, asp: asp?.id ?? null },
      requirePasswordChange: source === 'temporary' || mustChange,
      passwordPwned: pwned === 'tell',
    }
  }

  /** Replaces a weaker stored form of the password that was just verified. A login does not fail by it. */
  async #rehash(user: User, password: string): Promise<void> {
    const { passwords, system, log } = this.#deps
    try {
      const to = await passwords.hash(password, { turnKey: user.id })
      await system.handle(user.id).run(rehashPassword, { from: user.password, to })
    } catch (error) {
      log.warn({ error, user: user.id }, 'a password could not be stored in the standard form')
    }
  }

  #note(user: User, attempt: LoginAttempt, result: AuthEvent['result'], more: Partial<AuthEvent> = {}) {
    const { protocol, session: sess, ip, scope: requiredScope, appId } = attempt
    const event = { action: 'authentication', result, protocol, sess, ip, requiredScope, appId, ...more }
    return this.#deps.authLog.add(user.num, event)
  }

  /** An event for those who subscribe; nobody waits for it. */
  #tell(
    name: 'authentication.succeeded' | 'authentication.failed',
    user: User | undefined,
    { scope, protocol, ip = '' }: LoginAttempt,
    error?: unknown,
  ): void {
    const { wanted, system, log } = this.#deps
    if (!wanted(name) || user === undefined) return
    const about = { user: user.id, scope, protocol, ip }
    const result = error instanceof Fault ? error.code : 'InternalError'
    const body = name === 'authentication.failed' ? { ...about, result } : about
    system
      .handle(user.id)
      .run(announce, { name, body } as Announcement)
      .catch(cause => log.warn({ error: cause }, 'an event could not be written'))
  }

  #count({ protocol, scope }: LoginAttempt, result: Result): void {
    this.#deps.metrics.authAttempts.labels(services.has(protocol) ? protocol : 'other', scope, result).inc()
  }
}

type VerifyOptions = { readonly signal?: AbortSignal | undefined; readonly turnKey: readonly string[] }

function onlyHashError(error: unknown): void {
  if (!(error instanceof Fault) || error.code !== 'HashError') throw error
}

/** The temporary password while it lasts. */
function currentTemporary(temporary: TemporaryPassword | null): TemporaryPassword | null {
  return temporary !== null && now() < temporary.expires ? temporary : null
}

function resultOf(error: unknown): Result {
  if (!(error instanceof Fault)) return 'error'
  if (error.code === 'RateLimitedError') return 'ratelimited'
  return error.status >= 500 ? 'error' : 'fail'
}
