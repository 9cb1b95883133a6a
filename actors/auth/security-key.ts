// Security keys: registering one, and answering with one to finish a login (api-semantics 3.3).
//
// A challenge is kept with all that was asked for, serves once and not for long; one for a login ends with that login's
// nonce. What a browser brings is checked on a thread. The counter a key shows is stored before anybody is let in.

import { Fault } from '#lib/fault.ts'
import { isId, newId, sameSecret } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { newChallenge, tokenDigest } from '#lib/secret/token.ts'
import {
  type Attachment,
  authenticationOptions,
  originOf,
  type PendingKey,
  registrationOptions,
} from '#lib/webauthn/webauthn.ts'
import type { Pools } from '#pool'
import { type CredentialRow, listCredentials } from '#store/accounts/credentials.ts'
import { isOpen } from '#store/accounts/standing.ts'
import { findUser, type User } from '#store/accounts/users.ts'
import type { Cache } from '#store/folder/cache.ts'
import type { ActorSystem } from '../kernel/system.ts'
import { addCredential, factorsOf, useCredential } from '../user/credential.ts'
import type { Attempts } from './attempts.ts'
import type { AuthLog } from './auth-log.ts'
import type { Logins } from './login.ts'
import { liveUser, type Origin } from './one-time-code.ts'
import { PasskeyQuestions } from './passkey.ts'

export interface KeyDeps {
  readonly system: ActorSystem
  readonly cache: Cache
  readonly keys: Pools['keys']
  readonly attempts: Attempts
  readonly authLog: AuthLog
  readonly logins: Logins
  /** Relying party where a call names none. */
  readonly rpId: string
  readonly rpName: string
  /** Signs questions for passkeys; the same at all nodes. */
  readonly questionKey: Buffer
}

export interface Asked {
  /** A URI of the page. */
  readonly origin: string
  readonly attachment: Attachment
  readonly rpId: string | undefined
}

/** What a browser brings for a registration, in hexadecimal digits. */
export interface Registration {
  readonly challenge: string
  readonly rawId: string
  readonly clientDataJSON: string
  readonly attestationObject: string
  readonly rpId: string | undefined
}

/** What a browser brings for a login, in hexadecimal digits. */
export interface Assertion {
  readonly challenge: string
  readonly rawId: string
  readonly clientDataJSON: string
  readonly authenticatorData: string
  readonly signature: string
  readonly rpId: string | undefined
  readonly nonce: string | undefined
  /** Whether a token is wanted where the login was not begun with a password. */
  readonly token: boolean
}

/** What a browser brings where the passkey is the whole login. */
interface PasskeyAssertion
  extends Pick<Assertion, 'challenge' | 'rawId' | 'clientDataJSON' | 'authenticatorData' | 'signature'> {
  /** Whose it is, as it says itself. */
  readonly user: string
  /** Origin of the page. */
  readonly page: string
}

export class SecurityKeys {
  readonly #deps: KeyDeps
  readonly #questions: PasskeyQuestions

  constructor(deps: KeyDeps) {
    this.#deps = deps
    this.#questions = new PasskeyQuestions(deps.questionKey)
  }

  /** `registrationOptions`. @throws Fault UserNotFound */
  async askToRegister(id: string, description: string, asked: Asked) {
    const { system, rpName } = this.#deps
    const user = await liveUser(system, id)
    const { attachment } = asked
    const challenge = this.#keep(user, 'register', asked, description, null, limits.webauthn.challengeMs)
    const known = await this.#known(user, attachment)
    const name = user.address || user.username
    return registrationOptions({
      challenge,
      rp: { id: this.#rpId(asked.rpId), name: rpName },
      user: { id: user.id, name, displayName: user.name || user.username },
      attachment,
      known,
    })
  }

  /** Registers the key that was brought. @throws Fault UserNotFound, ChallengeNotFound, InvalidAttestation, TooMany */
  async register(
    id: string,
    brought: Registration,
    keep: string | null,
    origin: Origin,
    signal: AbortSignal,
  ): Promise<CredentialRow> {
    const { system, keys, authLog } = this.#deps
    const user = await liveUser(system, id)
    const pending = this.#take(user, 'register', brought.challenge)
    if (pending === undefined) throw new Fault('ChallengeNotFound')
    if (brought.rpId !== undefined && brought.rpId !== pending.rpId) {
      throw new Fault('InvalidAttestation', { text: 'The registration is refused: it is for another relying party' })
    }
    const { challenge, rawId, clientDataJSON, attestationObject } = brought
    const { origin: page, rpId, description, attachment } = pending
    const form = { challenge, origin: page, rpId, rawId, clientDataJSON, attestationObject }
    const credential = await keys.run('attest', form, { signal, turnKey: id })
    const row = { id: newId(), ...credential, description, attachment }
    await system.handle(id).run(addCredential, { row, keep }, signal)
    await authLog.add(user.num, { action: 'register webauthn', result: 'success', credential: row.id, ...origin })
    return { ...row, user: user.num, created: 0 }
  }

  /** `authenticationOptions`. @throws Fault UserNotFound, WebAuthnDisabled, Invalid2faNonce */
  async askToLogin(id: string, nonce: string | undefined, asked: Asked) {
    const { system, logins } = this.#deps
    const user = await liveUser(system, id)
    const login = nonce === undefined ? undefined : logins.look(nonce, user, 'webauthn', 'Invalid2faNonce')
    if (!factorsOf(user).includes('webauthn')) throw new Fault('WebAuthnDisabled')
    const lifeMs = Math.min(limits.webauthn.challengeMs, login?.ttlMs ?? Number.POSITIVE_INFINITY)
    const challenge = this.#keep(user, 'login', asked, '', nonce ?? null, lifeMs)
    const known = await this.#known(user, asked.attachment)
    return authenticationOptions({ challenge, rpId: this.#rpId(asked.rpId), known, alone: logins.alone(nonce) })
  }

  /**
   * Checks an answer; gives the id of the key and, where one is due, a token.
   *
   * @throws Fault UserNotFound, RateLimitedError, Invalid2faNonce, ChallengeNotFound, CredentialsNotFound, InvalidAssertion
   */
  async login(
    id: string,
    brought: Assertion,
    origin: Origin,
    signal: AbortSignal,
  ): Promise<{ credential: string; token: string | undefined }> {
    const { system, attempts, authLog } = this.#deps
    const user = await liveUser(system, id)
    const note = (result: 'success' | 'fail' | 'ratelimited', credential?: string) =>
      authLog.add(user.num, { action: 'check 2fa webauthn', result, credential, ...origin })
    // Without a password before it anybody may come this far, and must not lock the owner out.
    const kind = brought.nonce === undefined ? 'key' : 'factor'
    const attempt = await attempts.begin(kind, { account: id, ip: origin.ip ?? '' }).catch(async error => {
      await note('ratelimited')
      throw error
    })
    try {
      const credential = await this.#check(user, brought, signal).catch(async error => {
        if (error instanceof Fault && error.code === 'InvalidAssertion') {
          attempt.failed()
          await note('fail')
        }
        throw error
      })
      attempt.succeeded()
      const token = await this.#token(user, brought, origin.ip)
      await note('success', credential)
      return { credential, token }
    } finally {
      attempt.withdrawn()
    }
  }

  /** `authenticationOptions` for whoever has a passkey for the page: it says itself whose it is. */
  askAnybody(page: string) {
    const challenge = this.#questions.ask(page)
    return authenticationOptions({ challenge, rpId: new URL(page).hostname, known: [], alone: true })
  }

  /**
   * A token for the owner of a passkey, who was verified by it. What is wrong is said in one word, whoever it is.
   *
   * @throws Fault RateLimitedError, ChallengeNotFound, InvalidAssertion
   */
  async enter(brought: PasskeyAssertion, origin: Origin, signal: AbortSignal): Promise<string> {
    const { system, attempts, authLog, logins } = this.#deps
    const account = isId(brought.user) ? brought.user : ''
    const user = account === '' ? undefined : await findUser(system.read, account)
    const note = async (result: 'success' | 'fail' | 'ratelimited', credential?: string) => {
      if (user === undefined) return
      await authLog.add(user.num, { action: 'check 2fa webauthn', result, credential, ...origin })
    }
    const attempt = await attempts.begin('key', { account, ip: origin.ip ?? '' }).catch(async error => {
      await note('ratelimited')
      throw error
    })
    try {
      const credential = await this.#checkAlone(user, brought, signal).catch(async error => {
        if (!(error instanceof Fault) || error.code !== 'InvalidAssertion') throw error
        attempt.failed()
        await note('fail')
        throw new Fault('InvalidAssertion', { text: 'The answer of the passkey is refused', cause: error })
      })
      attempt.succeeded()
      const token = await logins.enter(credential.user, origin.ip)
      await note('success', credential.id)
      return token
    } finally {
      attempt.withdrawn()
    }
  }

  async #checkAlone(user: User | undefined, brought: PasskeyAssertion, signal: AbortSignal) {
    const { system, cache, keys } = this.#deps
    const { challenge, page, rawId, clientDataJSON, authenticatorData, signature } = brought
    const spent = tokenDigest(challenge)
    if (this.#questions.left(challenge, page) === 0 || cache.look('passkey', spent))
      throw new Fault('ChallengeNotFound')
    const known = user && (await listCredentials(system.read, user.num)).find(one => one.rawId === rawId)
    if (user === undefined || known === undefined) throw new Fault('InvalidAssertion')
    const { publicKey, counter } = known
    const asked = { challenge, origin: page, rpId: new URL(page).hostname, verified: true }
    const shown = { credential: { rawId, publicKey, counter }, clientDataJSON, authenticatorData, signature }
    const proven = await keys.run('assert', { ...asked, ...shown }, { signal, turnKey: user.id })
    // Seen and kept in one step: of two at once one is in.
    if (cache.look('passkey', spent)) throw new Fault('ChallengeNotFound')
    cache.keep('passkey', spent, 1, limits.webauthn.passkeyMs)
    await system.handle(user.id).run(useCredential, { id: known.id, counter: proven.counter }, signal)
    // As it is now: what was changed meanwhile counts.
    const live = await findUser(system.read, user.id)
    const isSame = live !== undefined && live.deleted === null && live.authVersion === user.authVersion
    if (!isSame || !(await isOpen(system.read, live.id))) throw new Fault('InvalidAssertion')
    return { id: known.id, user: live }
  }

  async #check(user: User, brought: Assertion, signal: AbortSignal): Promise<string> {
    const { system, logins, keys } = this.#deps
    const { nonce, challenge, rawId, clientDataJSON, authenticatorData, signature } = brought
    if (nonce !== undefined) logins.look(nonce, user, 'webauthn', 'Invalid2faNonce')
    if (!(await isOpen(system.read, user.id))) throw new Fault('Invalid2faNonce')
    const pending = this.#take(user, 'login', challenge)
    if (pending === undefined) throw new Fault('ChallengeNotFound')
    const bound = nonce === undefined ? '' : tokenDigest(nonce)
    if (!sameSecret(pending.nonce ?? '', bound)) throw new Fault('Invalid2faNonce')
    if (brought.rpId !== undefined && brought.rpId !== pending.rpId) {
      throw new Fault('InvalidAssertion', { text: 'The answer is refused: it is for another relying party' })
    }
    const known = (await listCredentials(system.read, user.num)).find(one => one.rawId === rawId)
    if (known === undefined) throw new Fault('CredentialsNotFound')
    const { publicKey, counter } = known
    const credential = { rawId, publicKey, counter }
    const { origin, rpId } = pending
    // Without a login that was begun with a password, whoever found the key would be in.
    const verified = nonce === undefined && brought.token
    const form = { challenge, origin, rpId, credential, verified, clientDataJSON, authenticatorData, signature }
    const shown = await keys.run('assert', form, { signal, turnKey: user.id })
    if (nonce !== undefined) logins.look(nonce, user, 'webauthn', 'Invalid2faNonce')
    await system.handle(user.id).run(useCredential, { id: known.id, counter: shown.counter }, signal)
    return known.id
  }

  /** With a login the decision was made there; without one the key alone is enough, where a token is asked for. */
  async #token(user: User, { nonce, token }: Assertion, ip: string | undefined): Promise<string | undefined> {
    const { logins } = this.#deps
    if (nonce !== undefined) return logins.finish(nonce, user, { factor: 'webauthn', code: 'Invalid2faNonce', ip })
    if (!token) logins.shown(user, ip)
    return token ? logins.enter(user, ip) : undefined
  }

  #keep(
    user: User,
    purpose: PendingKey['purpose'],
    { origin, attachment, rpId }: Asked,
    description: string,
    nonce: string | null,
    lifeMs: number,
  ): string {
    const challenge = newChallenge()
    const pending: PendingKey = {
      ...{ purpose, user: user.id, attachment, description },
      origin: originOf(origin) ?? origin,
      rpId: this.#rpId(rpId),
      nonce: nonce === null ? null : tokenDigest(nonce),
    }
    this.#deps.cache.keepAmong(user.id, limits.webauthn.challengesMax, ['challenge', challenge, pending, lifeMs])
    return challenge
  }

  /** The challenge, which serves nobody any more. */
  #take(user: User, purpose: PendingKey['purpose'], challenge: string): PendingKey | undefined {
    const { cache } = this.#deps
    const kept = cache.look<PendingKey>('challenge', challenge)?.value
    if (kept?.user !== user.id || kept.purpose !== purpose) return undefined
    return cache.take<PendingKey>('challenge', challenge)?.value
  }

  async #known(user: User, attachment: Attachment): Promise<CredentialRow[]> {
    const all = await listCredentials(this.#deps.system.read, user.num)
    return all.filter(one => one.attachment === attachment)
  }

  #rpId(given: string | undefined): string {
    return given ?? this.#deps.rpId
  }
}
