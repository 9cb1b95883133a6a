// What a server showed of itself in a TLS handshake that was made without asking anything of it, and what was wrong with it.
//
// The words are those of reports about TLS (RFC 8460 4.3), so that what is told to others, to operators and in metrics is one.

import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

export type TlsFlaw =
  | 'starttls-not-supported'
  | 'certificate-host-mismatch'
  | 'certificate-expired'
  | 'certificate-not-trusted'
  | 'validation-failure'
  | 'tlsa-invalid'
  | 'dnssec-invalid'
  | 'dane-required'
  | 'sts-policy-fetch-error'
  | 'sts-policy-invalid'
  | 'sts-webpki-invalid'

interface Certificate {
  readonly raw?: Buffer
  readonly issuerCertificate?: Certificate
}

const certificatesMax = 20

/** Certificates (DER), the server's own first, each followed by its issuer. Empty without TLS. */
export function shownChain(socket: Socket): Buffer[] {
  if (!(socket instanceof TLSSocket)) return []
  const chain: Buffer[] = []
  let at: Certificate | undefined = socket.getPeerCertificate(true)
  while (at?.raw !== undefined && chain.length < certificatesMax) {
    const { raw } = at
    if (chain.some(one => one.equals(raw))) break
    chain.push(raw)
    at = at.issuerCertificate
  }
  return chain
}

/** Why its certificate would not have proven it to a public authority's standards; undefined where it would have. */
export function certificateFlaw(socket: Socket): TlsFlaw | undefined {
  if (!(socket instanceof TLSSocket)) return 'starttls-not-supported'
  if (socket.authorized) return undefined
  const error = socket.authorizationError as unknown
  return wordOf(typeof error === 'string' ? error : String((error as { code?: unknown } | null)?.code ?? ''))
}

/** What of TLS an error is about; undefined where it is about something else. */
export function tlsFlawOf(error: unknown): TlsFlaw | undefined {
  const { code, originalCode, command } = error as { code?: unknown; originalCode?: unknown; command?: unknown }
  if (code === 'ETLS') return command === 'STARTTLS' ? 'starttls-not-supported' : 'validation-failure'
  const word = String(originalCode ?? code ?? '')
  return tlsErrors.test(word) ? wordOf(word) : undefined
}

const tlsErrors = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO|EPROTO$|HOSTNAME_MISMATCH)/

function wordOf(code: string): TlsFlaw {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH') return 'certificate-host-mismatch'
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') return 'certificate-expired'
  return /^(?:CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO)/.test(code) ? 'certificate-not-trusted' : 'validation-failure'
}
