// The ways to another server: straight to a host of a domain, or by a relay that somebody named.
//
// Where the configuration names an address of this machine, every way starts there.

import { limits } from '#lib/limits.ts'
import type { MailRoute } from './smtp-client.ts'

export interface RouteOptions {
  /** Said in EHLO. */
  readonly hostname: string
  /** Of hosts of domains. */
  readonly port: number
  /** Address of this machine to send from; any where absent. */
  readonly source?: string | undefined
  /** Certificates to trust besides the built-in ones, for tests. */
  readonly ca?: string
}

/** To a host of a domain; with `required` it has to prove itself. */
export function hostRoute(
  host: string,
  tls: 'required' | 'encrypted' | 'opportunistic',
  options: RouteOptions,
): MailRoute {
  const { hostname: helo, port, ca } = options
  const { connectMs, replyMs: idleMs } = limits.outbound
  const certificates = tls !== 'encrypted' && ca !== undefined ? { ca } : {}
  return { host, port, tls, helo, connectMs, idleMs, ...sourceOf(options), ...certificates }
}

/** What a relay's URL says (api-semantics 8): port 25 or 465, credentials percent-encoded. */
export function relayRoute(text: string, options: RouteOptions): MailRoute {
  const { hostname, ca } = options
  const url = new URL(text)
  const implicit = url.protocol === 'smtps:'
  const auth = { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }
  const { connectMs, replyMs: idleMs } = limits.outbound
  return {
    host: url.hostname,
    port: url.port === '' ? (implicit ? 465 : 25) : Number(url.port),
    tls: implicit ? 'implicit' : 'opportunistic',
    ...sourceOf(options),
    ...(auth.user !== '' && { auth }),
    ...(ca !== undefined && { ca }),
    ...{ helo: hostname, connectMs, idleMs },
  }
}

function sourceOf({ source }: RouteOptions): { localAddress?: string } {
  return source === undefined ? {} : { localAddress: source }
}
