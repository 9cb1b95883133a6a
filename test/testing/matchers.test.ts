// What a test says of a mail in one word is true where it should be, and says what there was instead where not; signatures
// are judged by the records of the test and by nobody else's.

import { generateKeyPairSync } from 'node:crypto'
import { createTransport } from 'nodemailer'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { matchers, startTesting } from '#testing/testing.ts'
import type { Mail, Testing } from '../../src/testing.d.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'der' },
})

let mail: Testing
beforeAll(async () => {
  mail = await startTesting({
    starttls: true,
    dns: {
      's1._domainkey.example.com': `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`,
      'example.com': 'v=spf1 ip4:127.0.0.1 -all',
      '_dmarc.example.com': 'v=DMARC1; p=reject',
    },
  })
})
afterEach(async () => {
  expect(await mail.check()).toEqual([])
})
afterAll(() => mail.close())

async function sent(more: object = {}): Promise<Mail> {
  const inbox = await mail.inbox()
  const transport = createTransport({
    ...mail.smtp,
    ...(more as { transport?: object }).transport,
    tls: { rejectUnauthorized: false },
  })
  await transport.sendMail({
    from: 'Shop <shop@example.com>',
    to: inbox.address,
    subject: 'Hi',
    text: 'Code: 123456',
    ...more,
  })
  return inbox.wait()
}

test('each matcher says yes and no, and why', async () => {
  const html = '<a href="https://shop.example/verify?t=1">Verify</a>'
  const attachments = [{ filename: 'bill.pdf', content: 'x' }]
  const got = await sent({ html, attachments })
  const yes = [
    matchers.toHaveSubject(got, 'hi'),
    matchers.toHaveText(got, /^Code: \d+$/),
    matchers.toHaveLink(got, 'verify?t='),
    matchers.toHaveCode(got, '123456'),
    matchers.toHaveAttachment(got, { filename: 'bill.pdf', contentType: /pdf/ }),
    matchers.toHaveRecipient(got, got.envelope.to[0] ?? ''),
    matchers.toBeFrom(got, 'shop@example.com'),
    matchers.toBeSentOverTls(got),
  ]
  expect(yes.map(({ pass }) => pass)).toEqual(yes.map(() => true))
  const no = [
    [matchers.toHaveLink(got, 'reset'), /should have a link "reset"\. Its links: https:\/\/shop/],
    [matchers.toHaveCode(got, '1'), /Its code is 123456/],
    [matchers.toHaveAttachment(got, /zip/), /Its attachments: bill\.pdf \(application\/pdf\)/],
    [matchers.toBeFrom(got, 'example.com'), /It is from: shop@example\.com/],
    [matchers.toBeSignedBy(got, 'example.com'), /It has no DKIM-Signature/],
  ] as const
  for (const [{ pass, message }, text] of no) {
    expect(pass).toBe(false)
    expect(message()).toMatch(text)
  }
})

test('they extend expect', async () => {
  expect.extend(matchers)
  const got = await sent()
  const extended = () => expect(got) as unknown as { not: { toHaveLink(): void }; toHaveLink(): void }
  extended().not.toHaveLink()
  expect(() => extended().toHaveLink()).toThrow('Its links: none')
})

test('signature, host and policy are judged by the records of the test', async () => {
  const dkim = { domainName: 'example.com', keySelector: 's1', privateKey }
  const signed = await sent({ dkim })
  expect(signed).toMatchObject({ dkim: 'example.com', spf: 'example.com', dmarc: 'example.com' })
  expect(matchers.toBeSignedBy(signed, 'example.com').pass).toBe(true)
  const other = await sent({ dkim: { ...dkim, keySelector: 'unknown' }, from: 'a@other.example' })
  expect(other).toMatchObject({ dkim: false, spf: false, dmarc: undefined })
  expect(matchers.toBeSignedBy(other, 'example.com').message()).toMatch(/not valid, or its key is not in `dns`/)
})
