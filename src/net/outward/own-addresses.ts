// Addresses that this machine has, and whether others may reach them.
//
// What stands in its interfaces: a machine behind another one's address does not know that one.

import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/**
 * Addresses of this machine; none where the system does not let this process ask for them.
 *
 * @param ask throws where it does not: a sandbox without AF_NETLINK refuses the question
 */
export function ownAddresses(ask: typeof networkInterfaces = networkInterfaces): string[] {
  let found: ReturnType<typeof networkInterfaces>
  try {
    found = ask()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SYSTEM_ERROR') throw error
    return []
  }
  return Object.values(found).flatMap(of => (of ?? []).map(one => one.address.replace(/%.*/, '')))
}

const inside = new Set(['private', 'loopback', 'linkLocal', 'uniqueLocal', 'carrierGradeNat', 'unspecified'])

/** Whether others may reach an address. */
export function isPublic(address: string): boolean {
  return ipaddr.isValid(address) && !inside.has(ipaddr.process(address).range())
}
