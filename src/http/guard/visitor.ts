// Who may call while no token is asked for: programs of this machine, and no web page but those of this service.
//
// Every page a browser has open can send requests to loopback. Browsers say from where: in Origin, in Sec-Fetch-Site, and by
// the name they were told in Host, which for a name that was bound to loopback behind their back is not one of loopback's.
// So a simple form, a picture, a script of another port and a rebound name are refused alike. Programs send none of it.

import ipaddr from 'ipaddr.js'
import { Fault } from '#lib/fault.ts'

/** Reads a header in lower case; '' for none. */
type Header = (name: string) => string

/**
 * Refuses what a foreign page has a browser send.
 *
 * @param origins further origins whose pages may call; `*` names none
 * @throws Fault ForeignPage
 */
export function refusePages(header: Header, origins: readonly string[]): void {
  const host = header('host')
  if (host !== '' && !isLocal(host)) throw new Fault('ForeignPage')
  const origin = header('origin')
  if (origin !== '' && origin !== '*' && origins.includes(origin)) return
  const own = host !== '' && (origin === `http://${host}` || origin === `https://${host}`)
  if (origin !== '' && !own) throw new Fault('ForeignPage')
  const site = header('sec-fetch-site').toLowerCase()
  if (site !== '' && site !== 'same-origin' && site !== 'none') throw new Fault('ForeignPage')
}

/** Whether a Host names this machine: a loopback address, `localhost` or a name below it (RFC 6761 6.3). */
function isLocal(host: string): boolean {
  const [, six, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.toLowerCase()) ?? []
  if (six !== undefined) return ipaddr.IPv6.isValid(six) && ipaddr.process(six).range() === 'loopback'
  const plain = name.replace(/\.$/, '')
  if (plain === 'localhost' || plain.endsWith('.localhost')) return true
  return ipaddr.IPv4.isValidFourPartDecimal(plain) && ipaddr.IPv4.parse(plain).range() === 'loopback'
}
