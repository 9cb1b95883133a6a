// Spam verdicts of mail that comes in: domain lists, filters, the account's level, and the headers that tell of them.

import { expect, test } from 'vitest'
import { deliver, openLmtp } from '../../../dialogue.ts'
import { useTeal } from '../../../running.ts'

const service = useTeal({ mail: { classificationHeaders: true } })
let count = 0

async function send(
  to: string,
  domain: string,
  lines = '',
): Promise<{ stored: string | null; verdict?: object; raw: string }> {
  count += 1
  const id = `<v${count}@remote.test>`
  const message = `From: a@${domain}\r\nSubject: x\r\n${lines}Message-ID: ${id}\r\n\r\nx\r\n`
  const lmtp = await openLmtp(service.at('lmtp'))
  const [reply] = await deliver(lmtp, `a@${domain}`, [`${to}@example.com`], Buffer.from(message))
  lmtp.close()
  expect(reply).toMatch(/^250/)
  const { body } = await service.call('GET', `/users/resolve/${to}`)
  const traces = await service.call('GET', `/users/${body.id}/filters/trace`)
  const [trace] = traces.body.results
  const path = `/users/${body.id}/mailboxes/${trace.mailbox}/messages/${trace.message}/message.eml`
  return { ...trace, raw: await (await service.raw('GET', path)).text() }
}

test('level 0 makes everything junk, 100 nothing', async () => {
  await service.user('strict', { spamLevel: 0 })
  const { stored, verdict, raw } = await send('strict', 'any.test')
  expect(stored).toBe('Junk')
  expect(verdict).toEqual({ spam: true, by: 'level' })
  expect(raw).toMatch(/^WD-Mail-Classification: junk\r\nWD-Mail-Classification-Source: user-spamlevel\r$/m)
})

test('domain lists of a tag come first, whatever the case of the tag', async () => {
  const user = await service.user('tagged', { tags: ['Team'], spamLevel: 0 })
  await service.call('POST', '/domainaccess/TEAM/block', { domain: 'bad.test' })
  await service.call('POST', '/domainaccess/team/allow', { domain: 'good.test' })
  expect(await send('tagged', 'bad.test')).toMatchObject({ stored: 'Junk', verdict: { spam: true, by: 'domain' } })
  const good = await send('tagged', 'good.test')
  expect(good).toMatchObject({ stored: 'INBOX', verdict: { spam: false, by: 'domain' } })
  expect(good.raw).toContain('WD-Mail-Classification: not-junk\r\n')
  const { body } = await service.call('POST', `/users/${user}/mailboxes`, { path: 'Kept' })
  await service.call('POST', `/users/${user}/filters`, { query: {}, action: { spam: true, mailbox: body.id } })
  // A folder of a filter wins over a verdict of a list, which a filter does not turn round.
  expect(await send('tagged', 'good.test')).toMatchObject({ stored: 'Kept', verdict: { spam: false, by: 'domain' } })
  expect(await send('tagged', 'bad.test')).toMatchObject({ stored: 'Kept', verdict: { spam: true, by: 'domain' } })
})

test('a filter that says it is no junk wins over the level', async () => {
  const user = await service.user('lenient', { spamLevel: 0 })
  await service.call('POST', `/users/${user}/filters`, { query: { from: 'friend.test' }, action: { spam: false } })
  expect(await send('lenient', 'friend.test')).toMatchObject({
    stored: 'INBOX',
    verdict: { spam: false, by: 'filter' },
  })
  expect(await send('lenient', 'other.test')).toMatchObject({ stored: 'Junk', verdict: { spam: true, by: 'level' } })
})

const foreign =
  'WD-Mail-Classification: not-junk\r\nX-Kept:  as it\r\n\tis\r\nwd-mail-classification-SOURCE : mine,\r\n folded\r\n' +
  'Wd-Mail-Classification-Info: trust me\r\n'

test("a stranger's verdict is not taken for ours", async () => {
  await service.user('lied', { spamLevel: 0 })
  const { raw } = await send('lied', 'any.test', foreign)
  expect(raw.match(/^wd-mail.*$/gim)).toEqual([
    'WD-Mail-Classification: junk',
    'WD-Mail-Classification-Source: user-spamlevel',
    'WD-Mail-Classification-Info: The spam level decided',
  ])
  expect(raw).toContain('Subject: x\r\nX-Kept:  as it\r\n\tis\r\nMessage-ID: ')
  await service.user('trusting', { tags: ['quiet'] })
  const { raw: unjudged } = await send('trusting', 'any.test', foreign)
  expect(unjudged).not.toMatch(/wd-mail|trust me|folded/i)
})

test('nor where the message waited in the queue first', async () => {
  const user = await service.user('queued')
  await service.user('source', { targets: ['queued@example.com'] })
  await send('source', 'any.test', foreign)
  const list = async () => (await service.call('GET', `/users/${user}/mailboxes?counters=true`)).body.results[0]
  await expect.poll(async () => (await list()).total).toBe(1)
  const { id } = await list()
  const raw = await (await service.raw('GET', `/users/${user}/mailboxes/${id}/messages/1/message.eml`)).text()
  expect(raw).not.toMatch(/wd-mail|trust me/i)
  expect(raw).toMatch(/^X-Forward-Seen: /m)
})
