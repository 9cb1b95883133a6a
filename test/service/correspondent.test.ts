// Who has points in his favour for being known: whom the account wrote to or took out of Junk, and never he who only wrote.

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Teal } from '#service'
import { Dialogue, stuffed } from '../dialogue.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { accessTo, type Body, startOnEngine } from '../running.ts'

let dns: NameServer
let teal: Teal
let anna = ''
const service = accessTo(() => teal)

beforeAll(async () => {
  dns = await startNameServer()
  teal = await startOnEngine(
    {
      hostname: 'mx.example.com',
      smtp: { dnsServers: [dns.address], unjudged: [] },
      dkim: { automatic: false },
    },
    { strict: true },
  )
  anna = await service.user('anna')
  for (const domain of ['pen.test', 'shop.test']) {
    dns.texts.set(domain, ['v=spf1 ip4:127.0.0.1 -all'])
    dns.texts.set(`_dmarc.${domain}`, ['v=DMARC1; p=none'])
  }
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  await dns.close()
})

let count = 0

async function send(from: string): Promise<void> {
  count += 1
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  // A helo that is no name of a host, so that there always is a score.
  await smtp.ask('EHLO there')
  for (const line of [`MAIL FROM:<${from}>`, 'RCPT TO:<anna@example.com>', 'DATA']) await smtp.ask(line)
  smtp.send(stuffed(Buffer.from(`From: ${from}\r\nMessage-ID: <c${count}@far.test>\r\n\r\nHello ${count}\r\n`)))
  expect(await smtp.reply()).toMatch(/^250/)
  smtp.close()
}

const folder = async (path: string): Promise<string> =>
  (await service.call('GET', `/users/${anna}/mailboxes/resolve?path=${encodeURIComponent(path)}`)).body.id

/** Parts of the score of the message that came last. */
async function parts(): Promise<string[]> {
  const messages = `/users/${anna}/mailboxes/${await folder('INBOX')}/messages`
  const rows: Body[] = (await service.call('GET', messages)).body.results
  const row = rows.find(({ messageId }) => messageId === `<c${count}@far.test>`)
  const { body } = await service.call('GET', `${messages}/${row?.id}`)
  return body.spam.parts.map(({ name }: Body) => name)
}

async function move(from: string, to: string): Promise<void> {
  const [source, target] = [await folder(from), await folder(to)]
  const what = { message: '1:*', moveTo: target }
  expect((await service.call('PUT', `/users/${anna}/mailboxes/${source}/messages`, what)).body.success).toBe(true)
}

/** What is noted beside mail is there when it can be found. */
async function registered(address: string): Promise<void> {
  const path = `/users/${anna}/addressregister?query=${encodeURIComponent(address)}`
  await expect.poll(async () => (await service.call('GET', path)).body.results, { timeout: 15_000 }).toHaveLength(1)
}

test('whoever writes twice is no better known for it', async () => {
  await send('win@shop.test')
  await registered('win@shop.test')
  await send('win@shop.test')
  expect(await parts()).not.toContain('correspondent')
})

test('whom the account wrote to with a mail program is known, and who was in copy only there is', async () => {
  await send('pal@pen.test')
  expect(await parts()).not.toContain('correspondent')
  const smtp = await Dialogue.open(service.at('submission'))
  await smtp.reply()
  await smtp.ask('EHLO there')
  await smtp.ask(`AUTH PLAIN ${Buffer.from('\0anna\0secret of anna').toString('base64')}`)
  for (const line of ['MAIL FROM:<anna@example.com>', 'RCPT TO:<pal@pen.test>', 'DATA']) await smtp.ask(line)
  const head = 'From: anna@example.com\r\nTo: Pal <pal@pen.test>, other@pen.test\r\nMessage-ID: <w@example.com>'
  smtp.send(stuffed(Buffer.from(`${head}\r\n\r\nHello\r\n`)))
  expect(await smtp.reply()).toMatch(/^250/)
  smtp.close()
  await registered('pal@pen.test')
  await expect
    .poll(
      async () => {
        await send('pal@pen.test')
        return parts()
      },
      { timeout: 15_000 },
    )
    .toContain('correspondent')
  await send('other@pen.test')
  expect(await parts()).not.toContain('correspondent')
})

test('who is taken out of Junk is known, and put there no more', async () => {
  await send('news@shop.test')
  await move('INBOX', 'Junk')
  await move('Junk', 'INBOX')
  await send('news@shop.test')
  expect(await parts()).toContain('correspondent')
  await move('INBOX', 'Junk')
  await send('news@shop.test')
  expect(await parts()).not.toContain('correspondent')
  await send('pal@pen.test')
  expect(await parts()).not.toContain('correspondent')
})
