// What sessions on threads of their own count for other domains comes home: DMARC results, whichever thread saw the message.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { Dialogue, deliver } from '../dialogue.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { accessTo } from '../running.ts'

let dns: NameServer
let teal: Teal
const service = accessTo(() => teal)

beforeAll(async () => {
  dns = await startNameServer()
  dns.texts.set('_dmarc.good.test', ['v=DMARC1; p=none; rua=mailto:dmarc@good.test'])
  dns.texts.set('good.test', ['v=spf1 -all'])
  const smtp = { unjudged: [], dnsServers: [dns.address] }
  teal = await startTeal({ threads: 2, smtp, dkim: { automatic: false } }, { strict: true })
  await service.user('anna')
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  await dns.close()
})

test('mail in the name of a domain is counted, over connections to either thread', async () => {
  const sent = 12
  for (let at = 0; at < sent; at++) {
    const smtp = await Dialogue.open(service.at('smtp'))
    await smtp.reply()
    await smtp.ask('EHLO there.test')
    const message = `From: a@good.test\r\nTo: anna@example.com\r\nSubject: ${at}\r\nMessage-ID: <${at}@t>\r\n\r\nHi\r\n`
    const [reply = ''] = await deliver(smtp, 'a@good.test', ['anna@example.com'], Buffer.from(message))
    expect(reply).toMatch(/^250/)
    smtp.close()
  }
  const counted = async () =>
    (
      await teal.core.read.all<{ count: number; kind: string }>(
        "SELECT count, kind FROM report_count WHERE domain = 'good.test'",
      )
    ).reduce((sum, { count }) => sum + count, 0)
  await expect.poll(counted, { timeout: 20_000 }).toBe(sent)
})

test('what comes back is noted from there, too', async () => {
  const wire = await Dialogue.open(service.at('lmtp'))
  await wire.reply()
  await wire.ask('LHLO there')
  const bounce =
    'From: MAILER-DAEMON@far.test\r\nSubject: failed\r\nMessage-ID: <b@t>\r\n\r\n<gone@far.test>: user unknown\r\n'
  const [reply = ''] = await deliver(wire, '', ['anna@example.com'], Buffer.from(bounce))
  expect(reply).toMatch(/^250/)
  wire.close()
  const read = async () =>
    (await teal.core.read.one<{ state: string }>("SELECT state FROM task WHERE kind = 'bounce.read'"))?.state
  await expect.poll(read, { timeout: 20_000 }).toBe('done')
})
