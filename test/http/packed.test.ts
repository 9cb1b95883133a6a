// Long answers to the page are compressed, and those to nobody else.

import { expect, test } from 'vitest'
import { useTeal } from '../running.ts'

const service = useTeal()

test('a long answer to the page is compressed and says the same; short ones and those to others are not', async () => {
  const user = await service.user('anna')
  const box = (await service.call('GET', `/users/${user}/mailboxes`)).body.results[0].id
  const path = `/users/${user}/mailboxes/${box}/messages`
  for (let n = 0; n < 20; n += 1) await service.call('POST', path, { subject: `Letter ${n}`, text: 'x' })
  const ask = async (place: string, headers: Record<string, string>) => {
    const answer = await service.raw('GET', place, { headers })
    const text = await answer.text()
    const own = ['content-encoding', 'vary', 'content-length'].map(name => answer.headers.get(name))
    return { text, own }
  }
  const plain = await ask(path, { 'accept-encoding': 'gzip' })
  expect(plain.own).toEqual([null, null, String(Buffer.byteLength(plain.text))])
  const page = { 'x-teal-page': '1' }
  const small = await ask(path, { ...page, 'accept-encoding': 'gzip, deflate, br' })
  expect(small.text).toBe(plain.text)
  expect(small.own.slice(0, 2)).toEqual(['gzip', 'Accept-Encoding'])
  expect(Number(small.own[2])).toBeLessThan(plain.text.length / 3)
  for (const coding of ['identity', 'br', 'gzip;q=0'])
    expect((await ask(path, { ...page, 'accept-encoding': coding })).own[0], coding).toBeNull()
  expect((await ask(`${path}?limit=1`, { ...page, 'accept-encoding': 'gzip' })).own[0]).toBeNull()
})
