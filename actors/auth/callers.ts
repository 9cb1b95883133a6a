// Who calls: from the text of an access token to a role and an account (api-semantics 1.2), on whatever thread is asked.
//
// Tokens are rows, found by the hash of their text and nothing read is trusted past the next commit, so one that is ended is
// ended at once (by another process: within a moment). A user token is good only while its account lives, is neither disabled nor suspended, and has the version the
// token was made for. No comparison takes a time that tells how much of a token was right.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { isToken, sameToken, tokenDigest } from '#lib/secret/token.ts'
import { findToken, type TokenRow } from '#store/accounts/tokens.ts'
import { findStanding } from '#store/accounts/users.ts'
import { domainsOf } from '#store/domains/domain.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Changes } from '#store/engine/watched.ts'
import { Recent } from '#store/mailboxes/recent.ts'

export interface Caller {
  readonly role: string
  /** Account of a user token. */
  readonly user: string | null
  /** Hash of the token that was used; null where none was needed. */
  readonly token: string | null
  /** What a log may tell of that token. */
  readonly named?: { readonly id: string; readonly label: string }
  /** `user` from a login, `provisioned` from the command line, `root` the configured one, `open` where none was needed. */
  readonly tokenKind: 'user' | 'provisioned' | 'root' | 'open'
  /** When a user token was made, by a login of that user: milliseconds since 1970; 0 where there was none. */
  readonly loginAt: number
  /** Domains whose things the caller looks after. */
  readonly domains: readonly string[]
}

export interface CallerOptions {
  /** Whether a call without a token is refused. */
  readonly required: boolean
  /** The configured token of role root; empty for none. Where there is one, a token is required. */
  readonly rootToken: string
}

export interface CallerSources {
  readonly read: Reader
  readonly changes: Changes
  /** Pushes the end of a token out. */
  extend(hash: string, expires: number): Promise<unknown>
}

/** A token, and whether its account still goes with it. */
interface Known {
  readonly row: TokenRow
  readonly good: boolean
  readonly domains: readonly string[]
}

export class Callers {
  readonly #sources: CallerSources
  readonly #options: CallerOptions
  /** By their text: nothing is hashed for those who call again and again. */
  readonly #tokens: Recent<Known | undefined>
  /** Tokens whose end is being pushed out. */
  readonly #extending = new Set<string>()

  constructor(sources: CallerSources, options: CallerOptions) {
    this.#sources = sources
    this.#options = options
    const { changes } = sources
    this.#tokens = new Recent(() => changes.of('token', 'user', 'domain', 'domain_admin', 'domainalias'))
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
    const { role, user, hash: token, id, label } = row
    return { role, user, token, named: { id, label }, tokenKind, loginAt, domains: known.domains }
  }

  async #find(hash: string): Promise<Known | undefined> {
    const { read } = this.#sources
    const row = await findToken(read, hash)
    if (row === undefined || row.user === null) return row && { row, good: true, domains: row.domains ?? [] }
    const user = await findStanding(read, row.user)
    // Whoever only acts as a user does not look after what that one does.
    const domains = row.role === 'user' ? await domainsOf(read, row.user) : []
    return { row, good: user?.open === true && user.authVersion <= row.authVersion, domains }
  }

  /** Pushes the end of a user token out, at most once in a while: a lost push costs nothing. */
  #extend(row: TokenRow, at: number): void {
    const { hash } = row
    if (row.ttl === null || row.expires === null || this.#extending.has(hash)) return
    const expires = Math.min(at + row.ttl, row.dies ?? Infinity)
    if (expires - row.expires < Math.min(limits.token.extendMs, row.ttl / 2)) return
    this.#extending.add(hash)
    this.#sources
      .extend(hash, expires)
      .catch(() => {})
      .finally(() => this.#extending.delete(hash))
  }
}
