// From a password that was right to a token: at once, or after a second factor (api-semantics 2.2, 3.2).
//
// A login that waits for its second factor is known by a nonce, of which only the digest is kept. It names the account as it
// was: a changed password, a new factor or a disabled account ends it. Whoever shows the factor takes the nonce; nothing
// else uses it up, not a wrong code and not one that was used before.

import { Fault, type FaultCode } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { newToken, tokenDigest } from '#lib/secret/token.ts'
import type { User } from '#store/accounts/users.ts'
import type { Cache } from '#store/folder/cache.ts'
import type { Factor } from '../user/credential.ts'
import type { Access } from './access.ts'
import type { Attempts } from './attempts.ts'
import type { Entered } from './authentication.ts'

/** A login that waits for its second factor. */
interface Waiting {
  readonly user: string
  readonly factors: readonly Factor[]
  /** Whether showing the factor gives a token. */
  readonly token: boolean
  readonly authVersion: number
}

export interface Completion {
  readonly token?: string
  readonly twoFactorNonce?: string
  readonly totpNonce?: string
}

export class Logins {
  readonly #cache: Cache
  readonly #access: Access
  readonly #attempts: Attempts
  readonly #strict: boolean

  /** @param strict whether a login with a second factor gives nothing before that factor is shown */
  constructor(cache: Cache, access: Access, attempts: Attempts, strict: boolean) {
    this.#cache = cache
    this.#access = access
    this.#attempts = attempts
    this.#strict = strict
  }

  /**
   * What a login that asked for a token gets. A custom factor is checked elsewhere and holds nothing up.
   *
   * @param strict whether nothing is given before a second factor is shown, whatever is configured
   */
  async complete({ account, factors }: Entered, strict = this.#strict): Promise<Completion> {
    const checked = factors.filter(factor => factor !== 'custom')
    if (checked.length === 0) return { token: await this.issue(account) }
    const hasCode = checked.includes('totp')
    if (strict) {
      const nonce = this.#wait(account, checked, true)
      return { twoFactorNonce: nonce, ...(hasCode ? { totpNonce: nonce } : {}) }
    }
    const token = await this.issue(account)
    return hasCode ? { token, totpNonce: this.#wait(account, ['totp'], false) } : { token }
  }

  /** A token for the account as it is. */
  async issue({ id, authVersion }: User): Promise<string> {
    const { token } = await this.#access.issue(id, authVersion)
    return token
  }

  /**
   * The login of a nonce, left waiting, with the milliseconds it still waits.
   *
   * @throws Fault of that code where it is none of this account and factor
   */
  look(nonce: string, user: User, factor: Factor, code: NonceCode): { token: boolean; ttlMs: number } {
    const kept = this.#cache.look<Waiting>('nonce', tokenDigest(nonce))
    const good = kept?.value.user === user.id && kept.value.authVersion === user.authVersion
    if (!good || !kept.value.factors.includes(factor)) throw new Fault(code)
    return { token: kept.value.token, ttlMs: kept.ttlMs }
  }

  /**
   * Ends the waiting: the factor was shown, from `ip`, and with that the login is whole. Gives a token where the login asked
   * for one.
   *
   * @throws Fault of that code
   */
  async finish(
    nonce: string,
    user: User,
    { factor, code, ip }: { factor: Factor; code: NonceCode; ip: string | undefined },
  ): Promise<string | undefined> {
    const { token } = this.look(nonce, user, factor, code)
    this.#cache.remove('nonce', tokenDigest(nonce))
    this.#attempts.entered('password', { account: user.id, ip: ip ?? '' })
    return token ? this.issue(user) : undefined
  }

  /** Whether what is shown without this nonce is a whole login: where none waits, a password was given before. */
  alone(nonce: string | undefined): boolean {
    return nonce === undefined && this.#strict
  }

  /** A whole login by something that needs no password. */
  async enter(user: User, ip: string | undefined): Promise<string> {
    this.#attempts.entered('password', { account: user.id, ip: ip ?? '' })
    return this.issue(user)
  }

  /** A factor was shown without a nonce: where logins do not wait for it, that makes one whole all the same. */
  shown(user: User, ip: string | undefined): void {
    if (!this.#strict) this.#attempts.entered('password', { account: user.id, ip: ip ?? '' })
  }

  #wait(user: User, factors: readonly Factor[], token: boolean): string {
    const nonce = newToken()
    const waiting: Waiting = { user: user.id, factors, token, authVersion: user.authVersion }
    const { nonceMs, noncesMax } = limits.credential
    this.#cache.keepAmong(user.id, noncesMax, ['nonce', tokenDigest(nonce), waiting, nonceMs])
    return nonce
  }
}

type NonceCode = FaultCode & ('InvalidTotpNonce' | 'Invalid2faNonce')
