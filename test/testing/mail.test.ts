// A mail service in a test: what arrives is there at once, is waited for by what it is, and is shown as it was sent.

import { createTransport } from 'nodemailer'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startTesting } from '#testing/testing.ts'
import type { Testing } from '../../src/testing.d.ts'

let mail: Testing
beforeAll(async () => {
  mail = await startTesting()
})
afterEach(async () => {
  expect(await mail.check()).toEqual([])
})
afterAll(() => mail.close())

/** What the application under test has. */
function transport(more: object = {}) {
  return createTransport({ ...mail.smtp, tls: { rejectUnauthorized: false }, ...more })
}

describe('what arrives', () => {
  test('any recipient at any domain is taken, and is there when its sender hears that it is', async () => {
    const sent = {
      from: 'shop@example.org',
      to: 'anna@example.com',
      bcc: 'secret@elsewhere.example',
      subject: 'Welcome',
    }
    await transport().sendMail({ ...sent, text: 'Hello', html: '<p>Hello</p>' })
    const [seen] = await mail.all.list({ to: 'anna@example.com' })
    expect(seen).toMatchObject({ subject: 'Welcome', text: 'Hello', html: '<p>Hello</p>' })
    expect(seen?.envelope).toEqual({ from: 'shop@example.org', to: ['anna@example.com', 'secret@elsewhere.example'] })
    expect(seen?.headers.bcc).toBeUndefined()
    expect(seen?.from).toEqual({ name: '', address: 'shop@example.org' })
  })

  test('bytes are those that were sent, attachments are decoded', async () => {
    const inbox = await mail.inbox('files')
    const content = Buffer.from([0, 1, 2, 255, 254, 13, 10])
    const attachments = [{ filename: 'Rechnung ä.pdf', content, contentType: 'application/pdf' }]
    await transport().sendMail({ from: 'a@example.com', to: inbox.address, subject: 'Bill', text: 'x', attachments })
    const got = await inbox.wait()
    expect(got.attachments).toHaveLength(1)
    expect(got.attachments[0]).toMatchObject({ filename: 'Rechnung ä.pdf', contentType: 'application/pdf', size: 7 })
    expect(got.attachments[0]?.content.equals(content)).toBe(true)
    expect(got.raw.toString()).toMatch(/^Content-Type: multipart\/mixed/m)
    expect(got.raw.toString()).not.toContain('Delivered-To')
  })

  test('a client that looks at certificates sends without a setting for that', async () => {
    const inbox = await mail.inbox()
    const message = { from: 'a@example.com', to: inbox.address, text: 'x' }
    await createTransport({ url: mail.env('nodemailer').SMTP_URL }).sendMail(message)
    expect((await inbox.wait()).session).toMatchObject({ tls: null, login: 'test', protocol: 'ESMTPA' })
  })

  test('how it came is told: TLS, the login, the name', async () => {
    const mail = await startTesting({ starttls: true })
    const inbox = await mail.inbox()
    const transport = (more: object = {}) =>
      createTransport({ ...mail.smtp, tls: { rejectUnauthorized: false }, ...more })
    const message = { from: 'a@example.com', to: inbox.address, text: 'x' }
    await transport({ ignoreTLS: true }).sendMail(message)
    expect((await inbox.wait()).session).toMatchObject({ tls: null, login: null, protocol: 'ESMTP' })
    await transport({ auth: { user: 'apikey', pass: 'anything' } }).sendMail({ ...message, subject: 'two' })
    const second = await inbox.wait()
    expect(second.session).toMatchObject({ login: 'apikey', protocol: 'ESMTPSA' })
    expect(second.session?.tls?.protocol).toMatch(/^TLSv1/)
    await transport({ ...mail.smtps, secure: true }).sendMail({ ...message, subject: 'three' })
    expect((await inbox.wait()).session?.tls).not.toBeNull()
    expect(await mail.check()).toEqual([])
    await mail.close()
  })

  test('links and codes are found as a person would', async () => {
    const inbox = await mail.inbox()
    const text =
      'On 2026-11-22 you asked. Call 0800 123456.\nYour code is 482 913.\nOr see https://x.example/v?t=1234567.'
    const html = '<a class=b href="https://x.example/v?t=1&amp;u=2">Go</a> <a href=#top>up</a>'
    await mail.send({ to: inbox.address, subject: 'Verify', text, html })
    const got = await inbox.wait()
    expect(got.links()).toEqual(['https://x.example/v?t=1&u=2', 'https://x.example/v?t=1234567'])
    expect(got.link(/u=/)).toBe('https://x.example/v?t=1&u=2')
    expect(() => got.link('nowhere')).toThrow(/No link that matches "nowhere".*https:\/\/x\.example/)
    expect(got.code()).toBe('482913')
    expect(got.code(/Call (\d+)/)).toBe('0800')
  })

  test('a large mail is read from where it is stored', async () => {
    const inbox = await mail.inbox()
    const content = Buffer.alloc(3_000_000, 'teal ')
    await transport().sendMail({ from: 'a@example.com', to: inbox.address, attachments: [{ filename: 'b', content }] })
    const got = await inbox.wait()
    expect(got.attachments[0]?.content.equals(content)).toBe(true)
  })

  test('the same mail sent twice is there twice', async () => {
    const inbox = await mail.inbox()
    const message = {
      from: 'a@example.com',
      to: inbox.address,
      messageId: '<1@example.com>',
      date: new Date(0),
      text: 'x',
    }
    await transport().sendMail(message)
    await transport().sendMail(message)
    expect(await inbox.wait({}, { count: 2 })).toHaveLength(2)
  })
})

describe('waiting', () => {
  test('it is woken by the arrival and gives each mail out once', async () => {
    const inbox = await mail.inbox()
    const first = inbox.wait({ subject: /^Reset/ })
    const second = inbox.wait({ subject: 'reset' })
    await mail.send({ to: inbox.address, subject: 'Other' })
    await mail.send({ to: inbox.address, subject: 'Reset one' })
    await mail.send({ to: inbox.address, subject: 'Reset two' })
    expect([(await first).subject, (await second).subject]).toEqual(['Reset one', 'Reset two'])
    expect(await inbox.list()).toHaveLength(3)
  })

  test('what did not come is an error that says what came, and why that was not it', async () => {
    const inbox = await mail.inbox()
    await mail.send({ to: inbox.address, subject: 'Welcome', text: 'Hello' })
    const filter = { subject: /Reset/, attachment: 'pdf', headers: { 'x-tag': 'a' } }
    await expect(inbox.wait(filter, { timeout: 20 })).rejects.toThrow(
      /Waited 20 ms for a mail with .*1 arrived:\n {2}'Welcome' .*subject is 'Welcome'; attachments are none; header x-tag is absent/s,
    )
    await inbox.wait()
    await expect(inbox.wait({}, { timeout: 1 })).rejects.toThrow(/an earlier wait got it/)
  })

  test('where nothing came, the error says who got mail instead', async () => {
    const inbox = await mail.inbox()
    await mail.send({ to: 'typo@example.com', subject: 'x' })
    await expect(inbox.wait({}, { timeout: 1 })).rejects.toThrow(
      /Nothing arrived there; mail came to .*typo@example.com/,
    )
  })

  test('a filter with a wrong name is an error and not a filter that lets all through', async () => {
    await expect(mail.all.wait({ subjet: 'x' } as never)).rejects.toThrow(/knows no subjet/)
  })

  test('none is an error where one is there or comes', async () => {
    const inbox = await mail.inbox()
    await inbox.none({}, { within: 1 })
    const none = expect(inbox.none({ subject: 'x' }, { within: 5000 })).rejects.toThrow(/There should be none/)
    await mail.send({ to: inbox.address, subject: 'x' })
    await none
    await inbox.wait()
    await inbox.none({}, { within: 1 })
  })

  test('inboxes do not see each other, and clear forgets', async () => {
    const [one, two] = await Promise.all([mail.inbox('same'), mail.inbox('same')])
    expect(one.address).not.toBe(two.address)
    await Promise.all([mail.send({ to: one.address, subject: '1' }), mail.send({ to: two.address, subject: '2' })])
    expect((await one.wait()).subject).toBe('1')
    await two.clear()
    expect(await two.list()).toEqual([])
    expect(await one.list()).toHaveLength(1)
  })
})
