// SASL as every protocol here speaks it: PLAIN (RFC 4616) and LOGIN, in base64, from response to credentials.
//
// Promises: what is no base64, no UTF-8, has a NUL in the wrong place, an empty name or password or is too long is
// AuthMalformed, `*` is AuthCancelled; nothing here says whether an account exists. A name to act as that is not the own one
// is refused like a wrong password. Holds no secret longer than the exchange.

import { isUtf8 } from 'node:buffer'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { isLoopback } from './address.ts'
import type { Connection } from './connection.ts'

type Peer = Pick<Connection, 'secure' | 'remoteAddress'>

export interface Credentials {
  readonly username: string
  readonly password: string
  /** What a program calls itself or its session (PLAIN-CLIENTTOKEN); for the log. */
  readonly clientToken?: string
}

/** What comes next: a challenge to send, in base64, or what the client said. */
export type Step = { readonly challenge: string } | { readonly credentials: Credentials }

export interface Exchange {
  /** Takes the client's next response as it was sent. @throws Fault AuthMalformed, AuthCancelled, AuthFailed */
  next(response: string): Step
}

/** Names as they are announced. */
export const mechanisms: readonly string[] = ['PLAIN', 'LOGIN']

/** PLAIN with one more field, as IMAP offers it to programs that name their session. */
export const clientTokenMechanism = 'PLAIN-CLIENTTOKEN'

/**
 * Begins an exchange, or undefined where the mechanism is unknown. The first step follows from `begin(...).next(initial)`
 * where the client sent an initial response (`=` stands for an empty one), else from `challenge`.
 */
export function beginSasl(mechanism: string): (Exchange & { readonly challenge: string }) | undefined {
  switch (mechanism.toUpperCase()) {
    case 'PLAIN':
      return { challenge: '', next: response => ({ credentials: readPlain(response) }) }
    case 'LOGIN':
      return new Login()
    default:
      return undefined
  }
}

/** The same for PLAIN-CLIENTTOKEN. */
export function beginClientToken(): Exchange & { readonly challenge: string } {
  return { challenge: '', next: response => ({ credentials: readClientToken(response) }) }
}

/** Where a password may cross a connection without TLS (configuration `auth.cleartext`). */
export type CleartextPolicy = 'loopback' | 'never' | 'always'

/** Whether this connection may carry a password. */
export function takesPasswords(connection: Peer, policy: CleartextPolicy): boolean {
  if (connection.secure || policy === 'always') return true
  return policy === 'loopback' && isLoopback(connection.remoteAddress)
}

class Login implements Exchange {
  readonly challenge = Buffer.from('Username:').toString('base64')
  #username: string | undefined

  next(response: string): Step {
    const text = decode(response)
    if (text === '' || text.includes('\0')) throw new Fault('AuthMalformed')
    if (this.#username === undefined) {
      this.#username = text
      return { challenge: Buffer.from('Password:').toString('base64') }
    }
    return { credentials: checked(this.#username, text) }
  }
}

/** `[authzid] NUL authcid NUL password` (RFC 4616 2). */
function readPlain(response: string): Credentials {
  const parts = decode(response).split('\0')
  if (parts.length !== 3) throw new Fault('AuthMalformed')
  return actingAs(parts)
}

/** The same, `NUL token` behind it. */
function readClientToken(response: string): Credentials {
  const parts = decode(response).split('\0')
  const clientToken = parts[3] ?? ''
  if (parts.length !== 4 || clientToken.length > limits.net.clientTokenLengthMax) throw new Fault('AuthMalformed')
  if (/[\x00-\x1f\x7f]/.test(clientToken)) throw new Fault('AuthMalformed')
  const credentials = actingAs(parts)
  return clientToken === '' ? credentials : { ...credentials, clientToken }
}

function actingAs([authorization = '', username = '', password = '']: readonly string[]): Credentials {
  const credentials = checked(username, password)
  if (authorization !== '' && authorization.toLowerCase() !== username.toLowerCase()) throw new Fault('AuthFailed')
  return credentials
}

function checked(username: string, password: string): Credentials {
  if (username === '' || password === '') throw new Fault('AuthMalformed')
  return { username, password }
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

function decode(response: string): string {
  if (response === '*') throw new Fault('AuthCancelled')
  if (response === '=') return ''
  if (response.length > limits.net.saslLengthMax || !base64.test(response)) throw new Fault('AuthMalformed')
  const bytes = Buffer.from(response, 'base64')
  if (!isUtf8(bytes)) throw new Fault('AuthMalformed')
  return bytes.toString('utf8')
}
