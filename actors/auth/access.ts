// Who calls: from the text of an access token to a role and an account (api-semantics 1.2).
//
// Tokens are rows, found by the hash of their text and nothing read is trusted past the next commit, so one that is ended is
// ended at once (by another process: within a moment). A user token is good only while its account lives, is neither disabled nor suspended, and has the version the
// token was made for. No comparison takes a time that tells how much of a token was right.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { isToken, newToken, sameToken, tokenDigest } from '#lib/secret/token.ts'
import { tokenKeep } from '#store/accounts/credentials.ts'
import { expiredTokens, findToken, type TokenRow, tokenDelete, tokenExtend } from '#store/accounts/tokens.ts'
import { findStanding } from '#store/accounts/users.ts'
import { domainsOf } from '#store/domains/domain.ts'
import { operation } from '#store/engine/write.ts'
import { Recent } from '#store/mailboxes/recent.ts'
import type { Writer } from '#store/writer/writer.ts'
import { createToken, revokeToken } from '../admin/directory.ts'
import type { ActorSystem } from '../kernel/system.ts'

export interface Caller {
  readonly role: string
  /** Account of a user token. */
  readonly user: string | null
  /** Hash of the token that was used; null where none was needed. */
  readonly token: string | null
  /** `user` from a login, `provisioned` from the command line, `root` the configured one, `open` where none was needed. */
  readonly tokenKind: 'user' | 'provisioned' | 'root' | 'open'
  /** When a user token was made, by a login of that user: milliseconds since 1970; 0 where there was none. */
  readonly loginAt: number
  /** Domains whose things the caller looks after. */
  readonly domains: readonly string[]
}

export interface AccessOptions {
  /** Whether a call without a token is refused. */
  readonly required: boolean
  /** The configured token of role root; empty for none. Where there is one, a token is required. */
  readonly rootToken: string
  /** Milliseconds a user token lives after its last use, and at most. */
  readonly ttlMs: number
  readonly lifetimeMs: number
}

/** A token, and whether its account still goes with it. */
interface Known {
  readonly row: TokenRow
  readonly good: boolean
  readonly domains: readonly string[]
}

export class Access {
  readonly #system: ActorSystem
  readonly #writer: Writer
  readonly #options: AccessOptions
  /** By their text: nothing is hashed for those who call again and again. */
  readonly #tokens: Recent<Known | undefined>
  /** Tokens whose end is being pushed out. */
  readonly #extending = new Set<string>()

  constructor(system: ActorSystem, writer: Writer, options: AccessOptions) {
    this.#system = system
    this.#writer = writer
    this.#options = options
    this.#tokens = new Recent(() => writer.changes.of('token', 'user', 'domain', 'domain_admin', 'domainalias'))
  }

  /**
   * The caller a token stands for.
   *
   * @throws Fault InvalidToken for a token that is missing, malformed, unknown, expired or revoked
   */
  identify(text: string | null): Caller | Promise<Caller> {
    const { required, rootToken } = this.#options
    if (text === null || text === '') {
      if (required || rootToken !== '') throw new Fault('InvalidToken')
      return { role: 'root', user: null, token: null, tokenKind: 'open', loginAt: 0, domains: [] }
    }
    if (sameToken(text, rootToken)) {
      return { role: 'root', user: null, token: null, tokenKind: 'root', loginAt: 0, domains: [] }
    }
    if (!isToken(text)) throw new Fault('InvalidToken')
    const known = this.#tokens.peek(text)
    if (known !== undefined) return this.#caller(known)
    return this.#tokens.get(text, () => this.#find(tokenDigest(text))).then(found => this.#caller(found))
  }

  #caller(known: Known | undefined): Caller {
    const row = known?.row
    const at = now()
    if (row === undefined || !known?.good || at > (row.expires ?? Infinity) || at > (row.dies ?? Infinity)) {
      throw new Fault('InvalidToken')
    }
    this.#extend(row, at)
    // What never ends by itself was made on the command line, for an account or for none: no login was behind it.
    const made = row.user === null || row.ttl === null
    const loginAt = made || row.role === 'impersonated' ? 0 : row.created
    const tokenKind = made ? 'provisioned' : 'user'
    return { role: row.role, user: row.user, token: row.hash, tokenKind, loginAt, domains: known.domains }
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

  /** Removes a bounded number of tokens whose time is over. */
  async sweep(): Promise<void> {
    const over = await expiredTokens(this.#system.read, now(), limits.token.sweepRowsMax)
    if (over.length === 0) return
    const operations = over.map(hash => operation(tokenDelete, { hash }))
    await this.#writer.submit({ partition: 0, epoch: 0, operations, bytes: 100 * over.length, background: true })
  }

  async #store(form: Omit<TokenRow, 'hash' | 'id' | 'created'>): Promise<{ id: string; token: string }> {
    const token = newToken()
    const row = { ...form, hash: tokenDigest(token), id: newId(), created: now() }
    await this.#system.directory.run(createToken, row)
    return { id: row.id, token }
  }

  async #find(hash: string): Promise<Known | undefined> {
    const { read } = this.#system
    const row = await findToken(read, hash)
    if (row === undefined || row.user === null) return row && { row, good: true, domains: row.domains ?? [] }
    const user = await findStanding(read, row.user)
    // Whoever only acts as a user does not look after what that one does.
    const domains = row.role === 'user' ? domainsOf(read, row.user) : []
    return { row, good: user?.open === true && user.authVersion <= row.authVersion, domains }
  }

  /** Pushes the end of a user token out, at most once in a while: a lost push costs nothing. */
  #extend(row: TokenRow, at: number): void {
    const { hash } = row
    if (row.ttl === null || row.expires === null || this.#extending.has(hash)) return
    const expires = Math.min(at + row.ttl, row.dies ?? Infinity)
    if (expires - row.expires < Math.min(limits.token.extendMs, row.ttl / 2)) return
    this.#extending.add(hash)
    this.#writer
      .write(tokenExtend, { hash, expires })
      .catch(() => {})
      .finally(() => this.#extending.delete(hash))
  }
}
