// A domain is one domain, whether it is written in unicode or as DNS has it.

import { beforeAll, describe, expect, test } from 'vitest'
import { useTeal } from '../../../running.ts'
import { type Account, account, mail } from '../mail-world.ts'

const service = useTeal()
let owner: Account
let sender: Account

const unicode = 'jõgeva.ee'
const ascii = 'xn--jgeva-dua.ee'

beforeAll(async () => {
  owner = await account(service, 'idn', { address: `idn@${unicode}` })
  await owner.put('INBOX', mail('known', 'x', { from: { address: `friend@${ascii}` } }))
  sender = await account(service, 'idnsender')
})

describe.each([unicode, ascii, 'JÕGEVA.ee', 'XN--JGEVA-DUA.EE'])('%s', domain => {
  test.each<[string, (address: string) => string]>([
    ['users', address => `/users?query=${address}`],
    ['addresses', address => `/addresses?query=${address}`],
    ['those whom somebody knows', address => `/users/${owner.id}/addressregister?query=${address}`],
  ])('is found among %s', async (_, path) => {
    const { body } = await service.call('GET', path(encodeURIComponent(`@${domain}`)))
    expect(body.results).toHaveLength(1)
  })

  test.each([`*@${unicode}`, `*@${ascii}`, `boss@${ascii}`, `*.${ascii}`, `*${unicode}`])(
    'may stand in From where %s is allowed',
    async allowed => {
      await sender.call('PUT', '', { fromWhitelist: [allowed] })
      const address = allowed.startsWith('*.') ? `boss@sub.${domain}` : `boss@${domain}`
      const from = async (wanted: string) => {
        const letter = { from: { address: wanted }, to: [{ address: 'a@example.net' }], uploadOnly: true }
        const { mailbox, id } = (await sender.call('POST', '/submit', letter)).body.message
        return (await sender.call('GET', `/mailboxes/${mailbox}/messages/${id}`)).body.from.address.toLowerCase()
      }
      expect(await from(address)).toBe(allowed.startsWith('*.') ? `boss@sub.${unicode}` : `boss@${unicode}`)
      expect(await from(`${address}.evil.example`)).toBe('idnsender@example.com')
    },
  )
})
