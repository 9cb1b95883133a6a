// Signatures: kept with each address of an account, as their owner wrote them.

import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { startTeal } from '#service'
import { accessTo, threads, useTeal } from '../../../running.ts'
import { account } from '../mail-world.ts'

const service = useTeal()

test('a signature is kept for each address, changed and taken away', async () => {
  const user = await account(service, 'signing')
  const token = await user.token()
  const signature = { text: '-- \nJane ', html: '<b>Jane</b> <img src="data:image/png;base64,AAAA">' }
  const made = await user.call('POST', '/addresses', { address: 'other@example.com', name: 'Jane', signature }, token)
  expect(made.body).toMatchObject({ success: true })
  const one = `/addresses/${made.body.id}`
  expect((await user.call('GET', one, undefined, token)).body).toMatchObject({ name: 'Jane', signature })
  const { results } = (await user.call('GET', '/addresses', undefined, token)).body
  expect(results.map((row: { signature?: object }) => row.signature)).toEqual([undefined, signature])
  await user.call('PUT', one, { name: 'J' }, token)
  expect((await user.call('GET', one)).body).toMatchObject({ name: 'J', signature })
  await user.call('PUT', one, { signature: { text: 'only text' } }, token)
  expect((await user.call('GET', one)).body.signature).toEqual({ text: 'only text', html: '' })
  await user.call('PUT', one, { signature: {} }, token)
  expect((await user.call('GET', one)).body).not.toHaveProperty('signature')
})

test('a signature is bounded', async () => {
  const user = await account(service, 'wordy')
  const [{ id }] = (await user.call('GET', '/addresses')).body.results
  const signature = { html: 'x'.repeat(limits.name.signatureLengthMax + 1) }
  const refused = await user.call('PUT', `/addresses/${id}`, { signature })
  expect(refused).toMatchObject({ status: 400, body: { code: 'InputValidationError' } })
})

test('a signature goes along with an account that is exported', async () => {
  const user = await account(service, 'moving')
  const [{ id }] = (await user.call('GET', '/addresses')).body.results
  await user.call('PUT', `/addresses/${id}`, { signature: { text: 'From far' } })
  const other = await startTeal({ threads }, { strict: true })
  try {
    const to = accessTo(() => other)
    const tokens = await Promise.all([service, to].map(one => one.teal.core.access.provision('export', 'export')))
    const [headers, otherHeaders] = tokens.map(one => ({ 'x-access-token': one.token }))
    const exported = await service.raw('GET', `/data/export?form=rows&users=${user.id}`, { headers: headers ?? {} })
    expect(exported.status).toBe(200)
    const body = Buffer.from(await exported.arrayBuffer())
    const brought = { ...otherHeaders, 'content-type': 'application/octet-stream' }
    expect((await to.raw('POST', '/data/import', { headers: brought, body })).status).toBe(200)
    const found = await to.call('GET', `/users/${user.id}/addresses`)
    expect(found.body.results[0].signature).toEqual({ text: 'From far', html: '' })
    expect(await other.check()).toEqual([])
  } finally {
    await other.close()
  }
})
