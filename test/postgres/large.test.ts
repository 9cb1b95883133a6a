// Large parts in a database behind an address: they are rows, of which what is asked for is read.

import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { Client } from '../imap/client.ts'
import { useTeal } from '../running.ts'

const running = useTeal()

test('a large attachment comes whole, in part, and as it was after others went', async () => {
  const id = await running.user('anna')
  const { body } = await running.call('GET', `/users/${id}/mailboxes`)
  const place = `/users/${id}/mailboxes/${body.results[0].id}/messages`
  const content = randomBytes(5_000_000)
  const text = content.toString('base64').replace(/.{76}/g, '$&\r\n')
  const message = (subject: string) =>
    `Message-ID: <${subject}@example.com>\r\nSubject: ${subject}\r\nMIME-Version: 1.0\r\n` +
    'Content-Type: application/octet-stream; name=a.bin\r\nContent-Disposition: attachment; filename=a.bin\r\n' +
    `Content-Transfer-Encoding: base64\r\n\r\n${text}\r\n`
  for (const subject of ['one', 'two']) {
    const headers = { 'content-type': 'message/rfc822' }
    expect((await running.raw('POST', place, { headers, body: message(subject) })).status).toBe(200)
  }
  const [row] = await running.teal.core.read.all(
    'SELECT count(*) AS n, sum(stored) AS stored, max(file) AS file FROM part',
  )
  expect(row).toMatchObject({ n: 1, file: 0 })
  expect((row as { stored: number }).stored).toBeGreaterThan(content.length)

  const source = async (number: number) => (await running.raw('GET', `${place}/${number}/message.eml`)).text()
  expect(await source(1)).toBe(message('one'))
  const { body: shown } = await running.call('GET', `${place}/2`)
  const file = await running.raw('GET', `${place}/2/attachments/${shown.attachments[0].id}`)
  expect(Buffer.from(await file.arrayBuffer()).equals(content)).toBe(true)

  const client = await Client.login(running.at('imap'), 'anna')
  await client.ok('SELECT INBOX')
  const answer = await client.ok('FETCH 2 BODY.PEEK[1]<4000000.100>')
  expect(JSON.stringify(answer)).toContain(JSON.stringify(text.slice(4_000_000, 4_000_100)).slice(1, -1))
  expect((await running.call('DELETE', `${place}/1`)).status).toBe(200)
  expect(await source(2)).toBe(message('two'))
})
