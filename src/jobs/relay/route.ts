// The ways to another server: straight to a host of a domain, or by a relay that somebody named.
//
// Where the configuration names an address of this machine, every way starts there. What a message asks of TLS (RFC 8689) is
// read here, too: its envelope (REQUIRETLS) goes before its header (`TLS-Required: No`). Reports have the null sender and are not
// lost because a host does not offer the keyword; the host is proven all the same.

import { limits } from '#lib/limits.ts'
import { domainToAscii, splitAddress } from '#mail/address/address.ts'
import type { Header } from '#mail/header/header.ts'
import type { Outbound, OutboundOptions } from '#store/sending/outbound.ts'
import { decoded } from './form.ts'
import type { MailEnvelope, MailRoute } from './smtp-client.ts'

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
function relayRoute(text: string, options: RouteOptions): MailRoute {
  const { hostname, ca } = options
  const url = new URL(text)
  const implicit = url.protocol === 'smtps:'
  const auth = { user: decoded(url.username), pass: decoded(url.password) }
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

/** The same for mail with REQUIRETLS: by TLS with a certificate of the host that was named (RFC 8689 4.2.1). */
function provenRoute(route: MailRoute): MailRoute {
  return route.tls === 'implicit' ? route : { ...route, tls: 'required' }
}

function sourceOf({ source }: RouteOptions): { localAddress?: string } {
  return source === undefined ? {} : { localAddress: source }
}

/** What hosts of a domain have to prove. `any`: nothing needs to be proven (RFC 8689 4.2.2, RFC 8460 3). `proven`: every host must be (RFC 8689 4.2.1). */
export type Demand = 'any' | 'policy' | 'proven'

export function demandOf({ requireTls, anyTls }: OutboundOptions, header: Header): Demand {
  if (requireTls === true) return 'proven'
  return anyTls === true || waivesTls(header) ? 'any' : 'policy'
}

/** RFC 8689 3: one field, of which `No` is the only value. */
function waivesTls(header: Header): boolean {
  const values = header.rawAll('tls-required')
  return values.length === 1 && /^\s*no\s*$/i.test(values[0] ?? '')
}

/** What the envelope says; RFC 8689 5 of the null sender. */
export function keywordOf({ sender, options }: Pick<Outbound, 'sender' | 'options'>): Pick<MailEnvelope, 'requireTls'> {
  if (options.requireTls !== true) return {}
  return { requireTls: sender === '' ? 'offered' : 'always' }
}

/** The way to a relay that somebody named. */
export function relayFor({ options }: Pick<Outbound, 'options'>, url: string, how: RouteOptions): MailRoute {
  const route = relayRoute(url, how)
  return options.requireTls === true ? provenRoute(route) : route
}

/** An address with its domain in ASCII, which every server understands. */
export function wire(address: string): string {
  const { local, domain } = splitAddress(address)
  const ascii = domainToAscii(domain)
  return ascii === '' ? address : `${local}@${ascii}`
}
