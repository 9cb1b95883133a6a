// One service for several processes: each has its own inboxes, sees what arrives, and leaves nothing behind when it ends.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import setup from '#testing/global.ts'
import { connectTesting } from '#testing/testing.ts'

let end: () => Promise<void>
beforeAll(async () => {
  end = await setup()
})
afterAll(async () => {
  await end()
  expect(process.env.TEAL_TESTING).toBeUndefined()
  await expect(connectTesting()).rejects.toThrow(/globalSetup/)
})

test('all that a test may do with a service, it may over a connection', async () => {
  const mail = await connectTesting()
  const inbox = await mail.inbox('over a line')
  const wanted = inbox.wait({ subject: /^hello/i })
  const attachments = [{ filename: 'a.bin', content: Buffer.from([0, 1, 255]) }]
  const transport = createTransport({ ...mail.smtp, ignoreTLS: true })
  const sent = { from: 'a@example.com', to: inbox.address, text: 'Your code is 123456', attachments }
  await transport.sendMail({ ...sent, subject: 'Hello' })
  const got = await wanted
  expect([got.code(), got.attachments[0]?.content]).toEqual(['123456', Buffer.from([0, 1, 255])])
  expect(got.session?.tls).toBeNull()
  const failing = await mail.fail({ at: 'rcpt', to: /over/, times: 1, reply: '451 4.3.0 Later' })
  await expect(mail.send({ to: inbox.address })).rejects.toMatchObject({ response: '451 4.3.0 Later' })
  expect(await failing.hits()).toBe(1)
  await failing.stop()
  await expect(mail.fail({ at: 'nowhere', drop: true })).rejects.toThrow(/SMTP has no step/)
  await inbox.full()
  await expect(mail.send({ to: inbox.address })).rejects.toMatchObject({ responseCode: 552 })
  await inbox.full(false)
  await inbox.seed({ messages: [{ subject: 'Seeded' }, { mail: Buffer.from('Subject: Bytes\r\n\r\nx') }] })
  const before = mail.clock.now()
  await mail.clock.advance(60_000)
  expect(mail.clock.now() - before).toBeGreaterThanOrEqual(60_000)
  await expect(inbox.wait({ subject: 'never' }, { timeout: 1 })).rejects.toThrow(/subject is 'Hello'/)
  await inbox.clear()
  expect(await inbox.list()).toEqual([])
  await mail.close()
  await expect(inbox.list()).rejects.toThrow(/is gone/)
})

test('what one connection wants to fail ends with it', async () => {
  const [one, other] = [await connectTesting(), await connectTesting()]
  await one.fail({ at: 'mail', reply: '451 4.3.0 Mine' })
  await expect(other.send({ to: 'a@example.com' })).rejects.toMatchObject({ response: '451 4.3.0 Mine' })
  await one.close()
  await expect
    .poll(() =>
      other.send({ to: 'a@example.com' }).then(
        () => 'sent',
        () => 'refused',
      ),
    )
    .toBe('sent')
  await other.close()
})

test('a process that connects ends by itself; one that does not know the secret hears nothing', async () => {
  const entry = new URL('../../src/testing/testing.ts', import.meta.url).href
  const program = `
    const { connectTesting } = await import(${JSON.stringify(entry)})
    const mail = await connectTesting()
    const inbox = await mail.inbox()
    await mail.send({ to: inbox.address, subject: 'Elsewhere' })
    console.log((await inbox.wait()).subject)`
  const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '--no-warnings', '-e', program])
  expect((await run()).stdout).toBe('Elsewhere\n')
  const [port] = (process.env.TEAL_TESTING ?? '').split('/')
  await expect(connectTesting(`${port}/${'0'.repeat(64)}`)).rejects.toThrow(/is gone/)
  await expect(connectTesting('somewhere')).rejects.toThrow(/no place/)
})
