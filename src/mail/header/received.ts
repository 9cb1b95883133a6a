// What this service writes on top of mail that it takes: Received (RFC 5321 4.4) and Authentication-Results (RFC 8601).
//
// Promises: whatever a stranger says of himself stands in a form that the grammar allows, or not at all; `for` is there for
// a single recipient only, since others must not read who else got the mail (RFC 5321 7.2). The cipher is a clause of its
// own (RFC 8314 4.3). A field of a stranger that speaks in our name is no longer there (auth-results.ts, RFC 8601 5).

import { formatDate } from './date.ts'

/** How a message came in. */
export interface Passage {
  /** Name of this service. */
  readonly by: string
  /** SMTP, ESMTPS, LMTP and so on (RFC 3848). */
  readonly protocol: string
  readonly id: string
  /** Whether SMTPUTF8 was asked for (RFC 6531 4.3). */
  readonly utf8: boolean
  /** Who brought it; absent where that is nobody's business. */
  readonly from?: { readonly helo: string; readonly address: string }
  readonly tls: { readonly protocol: string; readonly cipher: string } | undefined
  readonly recipients: readonly string[]
  readonly at: number
}

const domain = /^(?=.{1,255}$)[a-z\d_](?:[a-z\d_.-]*[a-z\d_])?$/i
const literal = /^\[[a-z\d.:_-]{1,250}\]$/i
const path = /^[^\s<>\0-\x1f\x7f]{1,320}$/

/** The field with its CRLF. */
export function receivedField({ by, protocol, id, utf8, from, tls, recipients, at }: Passage): string {
  const [only, ...others] = recipients
  const single = only !== undefined && others.length === 0 && path.test(only)
  const clauses = [
    ...(from === undefined ? [] : [`from ${said(from)} (${addressLiteral(from.address)})\r\n\t`]),
    `by ${by} with ${withProtocol(protocol, utf8)}`,
    ...(tls === undefined ? [] : [` (${tls.protocol})`]),
    ` id ${id}`,
    ...(single ? [`\r\n\tfor <${only}>`] : []),
    ...(tls === undefined || !/^\w+$/.test(tls.cipher) ? [] : [`\r\n\ttls ${tls.cipher}`]),
  ]
  return `Received: ${clauses.join('')};\r\n\t${formatDate(at)}\r\n`
}

function said({ helo, address }: { readonly helo: string; readonly address: string }): string {
  return domain.test(helo) || literal.test(helo) ? helo : addressLiteral(address)
}

/** RFC 5321 4.1.3. */
function addressLiteral(address: string): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)/i, '')
  return bare.includes(':') ? `[IPv6:${bare}]` : `[${bare}]`
}

/** Names as registered: there is none for TLS without EHLO, and HELO came before SMTPUTF8. */
function withProtocol(protocol: string, utf8: boolean): string {
  const name = protocol.replace(/^SMTP(?=[SA])/, 'ESMTP')
  return utf8 ? name.replace(/^E?SMTP/, 'UTF8SMTP').replace(/^LMTP/, 'UTF8LMTP') : name
}

/**
 * The field with its CRLF.
 *
 * @param results one `method=result ...` each; none where nothing was looked at
 */
export function authenticationResults(by: string, results: readonly string[]): string {
  const safe = results.map(result => result.replace(/[^\x20-\x7e]/g, '?'))
  if (safe.length === 0) return `Authentication-Results: ${by}; none\r\n`
  return `Authentication-Results: ${by};\r\n\t${safe.join(';\r\n\t')}\r\n`
}
