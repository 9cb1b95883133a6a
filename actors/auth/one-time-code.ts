// One-time codes: setting up, switching on, and showing one to finish a login (api-semantics 3.1, 3.2).
//
// Seeds are sealed before they are stored. Wrong codes are counted for the account, wherever they come from; the order is: how
// often may be tried, the login, the code, and only then is the login's nonce taken.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import type { SecretBox } from '#lib/secret/secret-box.ts'
import { newSeed, otpauthUrl } from '#lib/secret/totp.ts'
import type { Pools } from '#pool'
import { isOpen } from '#store/accounts/standing.ts'
import { findUser, type User } from '#store/accounts/users.ts'
import type { ActorSystem } from '../kernel/system.ts'
import { beginTotp, enableTotp, factorsOf, pendingSeed, useTotp } from '../user/credential.ts'
import type { Attempts } from './attempts.ts'
import type { Actor, AuthLog } from './auth-log.ts'
import type { Logins } from './login.ts'

/** Who is behind a call, for the log and the counting. */
export interface Origin {
  readonly ip?: string | undefined
  readonly sess?: string | undefined
  readonly protocol?: string | undefined
  readonly by?: Actor | undefined
}

export interface CodeDeps {
  readonly system: ActorSystem
  readonly seal: SecretBox
  readonly keys: Pools['keys']
  readonly attempts: Attempts
  readonly authLog: AuthLog
  readonly logins: Logins
}

export class OneTimeCodes {
  readonly #deps: CodeDeps

  constructor(deps: CodeDeps) {
    this.#deps = deps
  }

  /** A new seed and the picture of it (a data URL). @throws Fault UserNotFound, TotpEnabled */
  async begin(id: string, { label, issuer }: { label: string | undefined; issuer: string }, signal: AbortSignal) {
    const { system, seal, keys } = this.#deps
    const user = await liveUser(system, id)
    if (factorsOf(user).includes('totp')) throw new Fault('TotpEnabled')
    const seed = newSeed()
    const text = otpauthUrl(label ?? user.username, seed, issuer)
    const qrcode = await keys.run('qrcode', { text }, { signal, turnKey: id })
    await system.handle(id).run(beginTotp, { sealed: await seal.seal(seed) }, signal)
    return { seed, qrcode }
  }

  /** @throws Fault UserNotFound, TotpEnabled, TotpDisabled, InvalidToken, RateLimitedError */
  async enable(id: string, code: string, keep: string | null, origin: Origin, signal: AbortSignal): Promise<void> {
    const { system, seal, attempts, authLog } = this.#deps
    const attempt = await attempts.begin('code', { account: id, ip: origin.ip ?? '' })
    try {
      const user = await liveUser(system, id)
      if (factorsOf(user).includes('totp')) throw new Fault('TotpEnabled')
      const sealed = pendingSeed(user, now())
      if (sealed === undefined) throw new Fault('TotpDisabled')
      const input = { sealed, seed: await seal.open(sealed), code, keep }
      const note = (result: 'success' | 'fail') =>
        authLog.add(user.num, { action: 'enable 2fa totp', result, ...origin })
      try {
        await system.handle(id).run(enableTotp, input, signal)
      } catch (error) {
        if (error instanceof Fault && error.code === 'InvalidToken') {
          attempt.failed()
          await note('fail')
        }
        throw error
      }
      attempt.succeeded()
      await note('success')
    } finally {
      attempt.withdrawn()
    }
  }

  /**
   * Checks a code; with the nonce of a login it finishes that.
   *
   * @param inside whether the account's own token asks: no password was given before, so no login may be locked by it
   * @throws Fault UserNotFound, RateLimitedError (also for a code that was used before), InvalidTotpNonce, TotpDisabled,
   * InvalidToken
   */
  async check(
    id: string,
    { code, nonce, inside = false }: { code: string; nonce: string | undefined; inside?: boolean },
    origin: Origin,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { system, seal, attempts, authLog, logins } = this.#deps
    const user = await liveUser(system, id)
    const note = (result: 'success' | 'fail' | 'ratelimited') =>
      authLog.add(user.num, { action: 'check 2fa totp', result, ...origin })
    const kind = nonce === undefined && inside ? 'code' : 'login code'
    const subject = { account: id, ip: origin.ip ?? '', authVersion: user.authVersion }
    const attempt = await attempts.begin(kind, subject).catch(async error => {
      await note('ratelimited')
      throw error
    })
    try {
      if (nonce !== undefined) logins.look(nonce, user, 'totp', 'InvalidTotpNonce')
      const sealed = user.options.totp?.seed
      if (!(await isOpen(system.read, user.id))) throw new Fault('InvalidTotpNonce')
      if (sealed === undefined || !factorsOf(user).includes('totp')) throw new Fault('TotpDisabled')
      const result = await system.handle(id).run(useTotp, { sealed, seed: await seal.open(sealed), code }, signal)
      if (result === 'wrong') attempt.failed()
      if (result !== 'ok') await note('fail')
      if (result === 'wrong') throw new Fault('InvalidToken', { text: 'The code is not right' })
      if (result === 'replayed') {
        throw new Fault('RateLimitedError', {
          text: 'This code was used already, wait for the next one',
          retryAfter: 30,
        })
      }
      attempt.succeeded()
      const login = { factor: 'totp', code: 'InvalidTotpNonce', ip: origin.ip } as const
      const token = nonce === undefined ? undefined : await logins.finish(nonce, user, login)
      if (nonce === undefined) logins.shown(user, origin.ip)
      await note('success')
      return token
    } finally {
      attempt.withdrawn()
    }
  }
}

/** The account, unless it is gone. @throws Fault UserNotFound */
export async function liveUser(system: ActorSystem, id: string): Promise<User> {
  const user = await findUser(system.read, id)
  if (user === undefined || user.deleted !== null) throw new Fault('UserNotFound')
  return user
}
