// Names that certificates can be fetched for over ACME with a challenge over HTTP: whole host names of the public kind.
//
// A wildcard cannot be proven over HTTP (RFC 8555 8.3), a single word or an address is nobody's to certify. Whether a name
// is ours is for the ACME server to find out.

import { domainToASCII } from 'node:url'

/** The name as certificates have it, ASCII in lower case; undefined where no certificate can be fetched for it. */
export function acmeName(text: string): string | undefined {
  const name = domainToASCII(text.trim().replace(/\.$/, ''))
  const labels = name.split('.')
  const whole = name.length <= 253 && labels.length > 1 && labels.every(part => label.test(part))
  return whole && !/^\d+$/.test(labels.at(-1) ?? '') && !reserved.test(name) ? name : undefined
}

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
/** Names that lead inside or nowhere whoever asks (RFC 6761, RFC 6762, RFC 7686). */
const reserved = /\.(localhost|local|invalid|onion)$/
