// Addresses of this machine, and what a sandbox says that does not tell them.

import { expect, test } from 'vitest'
import { ownAddresses } from '#net/outward/own-addresses.ts'

test('those of this machine', () => {
  expect(ownAddresses()).toContain('127.0.0.1')
})

test('none where the system does not let us ask', () => {
  // What Node says where a socket of AF_NETLINK is refused.
  const refused = Object.assign(new Error('A system error occurred'), { code: 'ERR_SYSTEM_ERROR' })
  const asking = (error: Error) => () =>
    ownAddresses(() => {
      throw error
    })
  expect(asking(refused)()).toEqual([])
  expect(asking(new TypeError('another'))).toThrow('another')
})
