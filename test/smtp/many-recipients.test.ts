// A message to ten thousand: as many as a message may have are taken, the others are put off one by one, and nobody else notices.

import { beforeAll, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { Dialogue } from '../dialogue.ts'
import { useTeal } from '../running.ts'

const service = useTeal({ outbound: { enabled: false }, dkim: { automatic: false } })
const many = 10_000

beforeAll(async () => {
  await service.user('anna')
  // Whoever writes to so many at once is held back else.
  await service.call('POST', '/settings/const:sender:burst', { value: 0 })
})

test('ten thousand recipients of one message', { timeout: 60_000 }, async () => {
  const smtp = await Dialogue.open(service.at('submission'))
  await smtp.reply()
  await smtp.ask('EHLO there.test')
  const secret = Buffer.from('\0anna\0secret of anna').toString('base64')
  expect(await smtp.ask(`AUTH PLAIN ${secret}`)).toMatch(/^235/)
  expect(await smtp.ask('MAIL FROM:<anna@example.com>')).toMatch(/^250/)
  const codes = new Map<string, number>()
  for (let n = 0; n < many; n++) {
    const code = (await smtp.ask(`RCPT TO:<a${n}@far.test>`)).slice(0, 3)
    codes.set(code, (codes.get(code) ?? 0) + 1)
  }
  const { recipientsMax } = limits.smtp
  expect(Object.fromEntries(codes)).toEqual({ 250: recipientsMax, 452: many - recipientsMax })
  expect(await smtp.ask('DATA')).toMatch(/^354/)
  expect(await smtp.ask('Subject: many\r\n\r\nHello\r\n.')).toMatch(/^250/)
  expect(await smtp.ask('NOOP')).toMatch(/^250/)
  smtp.close()
  expect((await service.call('GET', '/outbound')).body).toMatchObject({ waiting: recipientsMax })
})
