// The order of filters: said as a whole, kept, in force for the next mail, and not to be changed by halves.

import { expect, test } from 'vitest'
import { deliver, openLmtp } from '../../../dialogue.ts'
import { useTeal } from '../../../running.ts'
import { type Account, account } from '../mail-world.ts'

const service = useTeal()

const names = async (user: Account) =>
  (await user.call('GET', '/filters')).body.results.map((one: { name: string }) => one.name)

async function add(user: Account, name: string, action: Record<string, unknown>): Promise<string> {
  return (await user.call('POST', '/filters', { name, query: { subject: 'x' }, action, metaData: { name } })).body.id
}

const order = (user: Account, filters: unknown) => user.call('PUT', '/filters/order', { filters })

test('filters are tried in the order that was said last, and stay what they were', async () => {
  const user = await account(service, 'ordered')
  const one = await add(user, 'one', { mailbox: user.box('Trash') })
  const two = await add(user, 'two', { mailbox: user.box('Junk') })
  const three = await add(user, 'three', { flag: true })
  const before = (await user.call('GET', '/filters?metaData=true')).body.results
  const lmtp = await openLmtp(service.at('lmtp'))
  const raw = (id: string) => Buffer.from(`From: a@example.org\r\nSubject: x\r\nMessage-ID: <${id}@x>\r\n\r\nx\r\n`)
  await deliver(lmtp, 'a@example.org', ['ordered@example.com'], raw('a'))
  const total = async (box: string) => (await user.call('GET', `/mailboxes/${user.box(box)}`)).body.total
  const first = [await total('Trash'), await total('Junk')]
  expect(first[0] + first[1]).toBe(1)
  expect((await order(user, [three, two, one])).body).toEqual({ success: true })
  expect(await names(user)).toEqual(['three', 'two', 'one'])
  await deliver(lmtp, 'a@example.org', ['ordered@example.com'], raw('b'))
  lmtp.close()
  expect([await total('Trash'), await total('Junk')]).toEqual([1, 1])
  const after = (await user.call('GET', '/filters?metaData=true')).body.results
  expect(after).toEqual([before[2], before[1], before[0]])
  await add(user, 'four', { seen: true })
  expect(await names(user)).toEqual(['three', 'two', 'one', 'four'])
})

test('an order that leaves one out, has one twice or knows one more is refused, and nothing moves', async () => {
  const user = await account(service, 'partial')
  const other = await account(service, 'partial2')
  const a = await add(user, 'a', { seen: true })
  const b = await add(user, 'b', { flag: true })
  const foreign = await add(other, 'c', { flag: true })
  for (const wrong of [[b], [b, b], [b, a, a], [b, foreign], [b, a, foreign], [b, 'x'], 'x', undefined]) {
    const { status, body } = await order(user, wrong)
    expect([status, body.code], JSON.stringify(wrong)).toEqual([400, 'InputValidationError'])
  }
  expect(await names(user)).toEqual(['a', 'b'])
  expect((await order(other, [foreign])).body).toEqual({ success: true })
})

test('an owner orders filters with a token of its own, and nobody else’s', async () => {
  const user = await account(service, 'ownorder')
  const other = await account(service, 'otherorder')
  const ids = [await add(user, 'a', { seen: true }), await add(user, 'b', { flag: true })]
  const login = { username: 'ownorder', password: 'secret of ownorder', token: true }
  const { token } = (await service.call('POST', '/authenticate', login)).body
  const put = (id: string) => service.call('PUT', `/users/${id}/filters/order`, { filters: ids.toReversed() }, token)
  expect((await put(user.id)).status).toBe(200)
  expect(await names(user)).toEqual(['b', 'a'])
  expect((await put(other.id)).status).toBe(403)
})
