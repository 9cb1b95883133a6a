// Addresses that this machine has, and whether others may reach them.
//
// What stands in its interfaces: a machine behind another one's address does not know that one.

import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** Addresses of this machine. */
export function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap(found => (found ?? []).map(one => one.address.replace(/%.*/, '')))
}

const inside = new Set(['private', 'loopback', 'linkLocal', 'uniqueLocal', 'carrierGradeNat', 'unspecified'])

/** Whether others may reach an address. */
export function isPublic(address: string): boolean {
  return ipaddr.isValid(address) && !inside.has(ipaddr.process(address).range())
}
