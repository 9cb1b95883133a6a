// The access tokens of the service: made, renewed, ended and swept. Who a token stands for is found out in callers.ts.
//
// Promises: the text of a token is shown once, to whoever had it made, and only its hash is kept.

import { now } from '#lib/clock.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { newToken, tokenDigest } from '#lib/secret/token.ts'
import { tokenKeep } from '#store/accounts/credentials.ts'
import { expiredTokens, findToken, type TokenRow, tokenDelete, tokenExtend, tokenName } from '#store/accounts/tokens.ts'
import { operation } from '#store/engine/write.ts'
import type { Writer } from '#store/writer/writer.ts'
import { createToken, revokeToken } from '../admin/directory.ts'
import type { ActorSystem } from '../kernel/system.ts'
import { type Caller, type CallerOptions, Callers } from './callers.ts'

export interface AccessOptions extends CallerOptions {
  /** Milliseconds a user token lives after its last use, and at most. */
  readonly ttlMs: number
  readonly lifetimeMs: number
}

export class Access {
  readonly #system: ActorSystem
  readonly #writer: Writer
  readonly #options: AccessOptions
  readonly #callers: Callers

  constructor(system: ActorSystem, writer: Writer, options: AccessOptions) {
    this.#system = system
    this.#writer = writer
    this.#options = options
    const extend = (hash: string, expires: number) => this.extend(hash, expires)
    this.#callers = new Callers({ read: system.read, changes: writer.changes, extend }, options)
  }

  /** As of Callers. @throws Fault InvalidToken */
  identify(text: string | null): Caller | Promise<Caller> {
    return this.#callers.identify(text)
  }

  /** Pushes the end of a user token out. */
  async extend(hash: string, expires: number): Promise<void> {
    await this.#writer.write(tokenExtend, { hash, expires })
  }

  /** Makes a token of a role, of role `domain` for some domains, that does not end by itself. Its text is shown only here. */
  async provision(
    label: string,
    role: string,
    domains: string[] | null = null,
  ): Promise<{ id: string; token: string }> {
    return this.#store({ label, role, user: null, authVersion: 0, ttl: null, expires: null, dies: null, domains })
  }

  /** Makes a token of role `user` for an account. */
  async issue(user: string, authVersion: number): Promise<{ id: string; token: string }> {
    const at = now()
    const { ttlMs, lifetimeMs } = this.#options
    const life = { ttl: ttlMs, expires: at + Math.min(ttlMs, lifetimeMs), dies: at + lifetimeMs, domains: null }
    return this.#store({ label: '', role: 'user', user, authVersion, ...life })
  }

  /**
   * Makes a token of role `impersonated` for an account: it lives its time from now on, however often it is used.
   *
   * @param label who it is made for, and why
   */
  async impersonate(user: string, authVersion: number, label: string): Promise<{ token: string; expires: number }> {
    const ttl = limits.token.impersonatedMs
    const expires = now() + ttl
    const life = { ttl, expires, dies: expires, domains: null }
    const { token } = await this.#store({ label, role: 'impersonated', user, authVersion, ...life })
    return { token, expires }
  }

  /** Says by what a user's token came to be: its owner sees it among others. */
  async name(hash: string, label: string): Promise<void> {
    await this.#writer.write(tokenName, { hash, role: 'user', label })
  }

  /** Ends a token, by the hash of its text. */
  async revoke(hash: string): Promise<void> {
    await this.#system.directory.run(revokeToken, { hash })
  }

  /** Lets a user token live on after its account's version went up (the one that made the change). */
  async renew(hash: string, authVersion: number): Promise<void> {
    const row = await findToken(this.#system.read, hash)
    if (row?.user == null) return
    await this.#writer.write(tokenKeep, { hash, user: row.user, authVersion })
  }

  /** Removes the tokens whose time is over, a bounded number at a time. */
  async sweep(): Promise<void> {
    const { sweepRowsMax } = limits.token
    const at = now()
    for (let count: number = sweepRowsMax; count === sweepRowsMax; ) {
      const over = await expiredTokens(this.#system.read, at, sweepRowsMax)
      count = over.length
      if (count === 0) return
      const operations = over.map(hash => operation(tokenDelete, { hash }))
      await this.#writer.submit({ partition: 0, epoch: 0, operations, bytes: 100 * count, background: true })
    }
  }

  async #store(form: Omit<TokenRow, 'hash' | 'id' | 'created'>): Promise<{ id: string; token: string }> {
    const token = newToken()
    const row = { ...form, hash: tokenDigest(token), id: newId(), created: now() }
    await this.#system.directory.run(createToken, row)
    return { id: row.id, token }
  }
}
