// How many sockets listen on a port, as the system tells (proc(5), /proc/net/tcp).
//
// Threads share a port by SO_REUSEPORT, and the system lets another process of the same user share it as well: no bind fails
// then, and each of the two gets a part of the connections. That is seen only by looking afterwards. Where the system has no
// such table nothing is seen, and nothing is claimed. Never opens a socket.

import { readFile } from 'node:fs/promises'
import ipaddr from 'ipaddr.js'

/** `st` of a socket that listens. */
const listenState = '0A'

/** How many sockets accept connections to an address (no name) and port; undefined where the system does not tell. */
export async function listenersOn(host: string, port: number): Promise<number | undefined> {
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map(file => readFile(file, 'latin1').catch(() => '')),
  )
  if (tables.every(table => table === '')) return undefined
  return tables.flatMap(table => listening(table, port)).filter(address => overlap(address, host)).length
}

/** Addresses of the sockets that listen on a port, from one table. */
export function listening(table: string, port: number): string[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table.split('\n').flatMap(line => {
    const [, local = '', , state] = line.trim().split(/\s+/)
    return state === listenState && local.endsWith(end) ? [addressOf(local.slice(0, -end.length))] : []
  })
}

/** The table has addresses as words of 32 bits, in the order of bytes of the machine: little endian wherever Node runs here. */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex').swap32()
  return plain(ipaddr.fromByteArray([...bytes]))
}

function plain(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  const mapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()
  return mapped ? address.toIPv4Address().toString() : address.toString()
}

/** Whether a connection could come to either. `::` takes IPv4, too. */
function overlap(one: string, other: string): boolean {
  const [a, b] = [plain(ipaddr.process(one)), plain(ipaddr.process(other))]
  if (a === b || a === '::' || b === '::') return true
  return (a === '0.0.0.0' && !b.includes(':')) || (b === '0.0.0.0' && !a.includes(':'))
}
