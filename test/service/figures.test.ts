// /metrics, over the wire: what every protocol, pool and queue does shows there after it was done.

import { expect, test } from 'vitest'
import { Dialogue, deliver, openLmtp } from '../dialogue.ts'
import { useTeal } from '../running.ts'

const service = useTeal()

/** The value of a metric, by its name and labels as they are printed. */
async function value(name: string): Promise<number> {
  const text = await (await service.raw('GET', '/metrics')).text()
  const line = text.split('\n').find(one => one.startsWith(`wildduck_${name} `))
  return Number(line?.slice(line.lastIndexOf(' ') + 1) ?? Number.NaN)
}

test('a delivery, two sessions and a queued message are seen', async () => {
  const user = await service.user('seen')
  const lmtp = await openLmtp(service.at('lmtp'))
  await deliver(lmtp, 'bea@example.net', ['seen@example.com'], Buffer.from('Subject: x\r\n\r\nHello.\r\n'))
  lmtp.close()
  expect(await value('delivery_seconds_count{service="lmtp"}')).toBe(1)
  expect(await value('delivery_seconds_sum{service="lmtp"}')).toBeGreaterThan(0)

  const imap = await Dialogue.open(service.at('imap'))
  await imap.reply()
  expect(await imap.ask('a NOOP')).toMatch(/^a OK/)
  imap.close()
  expect(await value('command_seconds_count{service="imap"}')).toBeGreaterThan(0)
  const pop3 = await Dialogue.open(service.at('pop3'))
  await pop3.reply()
  expect(await pop3.ask('NOOP')).toMatch(/^-ERR/)
  pop3.close()
  expect(await value('command_seconds_count{service="pop3"}')).toBe(1)

  expect(await value('pool_task_seconds_count{pool="password"}')).toBeGreaterThan(0)
  await expect.poll(() => value('writer_pending')).toBe(0)
  expect(await value('cache_entries')).toBeGreaterThanOrEqual(0)
  const { results } = (await service.call('GET', `/users/${user}/mailboxes`)).body
  await service.raw('GET', `/users/${user}/mailboxes/${results[0].id}/messages/1/message.eml`)
  expect(await value('body_cache_bytes')).toBeGreaterThan(0)
  expect(await value('outbound_late_seconds')).toBe(0)
  expect(await value('outbound_waiting')).toBe(0)
})
