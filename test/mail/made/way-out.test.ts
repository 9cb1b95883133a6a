// Rewritten senders, the header that finds circles, and reports.

import { describe, expect, test } from 'vitest'
import { isRewritten, readRewritten, rewriteSender } from '#mail/address/srs.ts'
import { Header } from '#mail/header/header.ts'
import { composeReport } from '#mail/made/dsn.ts'
import { isLooping, loopHeader } from '#mail/made/loop.ts'
import { scanMime } from '#mail/mime/mime.ts'
import { outline } from '#mail/mime/outline.ts'
import { readBounce } from '#mail/report/bounce.ts'

const key = { domain: 'our.test', secret: 'a secret of some length' }
const day = 24 * 60 * 60 * 1000
const at = Date.UTC(2026, 0, 1)

describe('SRS', () => {
  test.each([
    ...['anna@remote.test', 'a=b=c@remote.test', 'Anna.B+x@remote.test', 'SRS0=x=yy=far.test=bob@remote.test'],
    ...[
      '"a b<c>"@remote.test',
      '"@"@remote.test',
      'grün@remote.test',
      '=61@remote.test',
      'x@[192.0.2.1]',
      'a..b@remote.test',
    ],
  ])('%s comes back', sender => {
    const rewritten = rewriteSender(sender, key, at)
    // One word that every host takes without quotes.
    expect(rewritten).toMatch(
      /^SRS0=[^\x00-\x20"(),:;<>@[\\\].\x7f-\uffff]+(?:\.[^\x00-\x20"(),:;<>@[\\\].\x7f-\uffff]+)*@our\.test$/,
    )
    expect(isRewritten(rewritten, 'OUR.test')).toBe(true)
    expect(readRewritten(rewritten, key, at + 20 * day)?.sender).toBe(sender)
    expect(readRewritten(rewritten.toLowerCase(), key, at)?.sender.toLowerCase()).toBe(sender.toLowerCase())
  })

  test('what nobody rewrote here, changed, or is old, is nobody', () => {
    const rewritten = rewriteSender('anna@remote.test', key, at)
    expect(readRewritten(rewritten.replace('anna', 'eve'), key, at)?.sender).toBeUndefined()
    expect(readRewritten(rewritten, { ...key, secret: 'another one' }, at)?.sender).toBeUndefined()
    expect(readRewritten(rewritten, key, at + 40 * day)?.sender).toBeUndefined()
    expect(readRewritten('SRS0=@our.test', key, at)?.sender).toBeUndefined()
    expect(readRewritten('anna@our.test', key, at)?.sender).toBeUndefined()
  })

  test('one that is too long for a local part names its message alone', () => {
    const sender = `${'b'.repeat(60)}@remote.test`
    const rewritten = rewriteSender(sender, key, at, 4711)
    expect(rewritten).toMatch(/^SRS0=[a-z2-7]{8}=[a-z2-7]{5}@our\.test$/)
    expect(readRewritten(rewritten.toLowerCase(), key, at)).toEqual({ sender: '', message: 4711 })
    expect(readRewritten(rewritten.replace(/.@/, 'z@'), key, at)).toBeUndefined()
    expect(readRewritten(rewritten, key, at + 40 * day)).toBeUndefined()
    // Without a number it is the sender alone that says whose it is.
    expect(readRewritten(rewriteSender(sender, key, at), key, at)?.sender).toBe(sender)
    expect(readRewritten('SRS0=aaaaaaaa=aa@our.test', key, at)).toBeUndefined()
  })

  test('null senders and our own stay', () => {
    expect(rewriteSender('', key, at)).toBe('')
    expect(rewriteSender('me@our.test', key, at)).toBe('me@our.test')
  })
})

test('the loop header is found by who made it, for whom it was made', () => {
  const header = new Header(Buffer.from(`${loopHeader('secret', 'one')}Subject: x\r\n\r\n`))
  expect(isLooping(header, 'secret', 'one')).toBe(true)
  expect(isLooping(header, 'secret', 'two')).toBe(false)
  expect(isLooping(header, 'other', 'one')).toBe(false)
  const hops = new Header(Buffer.from('Received: x\r\n'.repeat(30)))
  expect(isLooping(hops, 'secret', 'one')).toBe(true)
})

describe('reports', () => {
  const recipient = { address: 'bob@remote.test', action: 'failed', status: 550, response: '5.1.1 nobody' } as const
  const report = {
    ...{ hostname: 'our.test', to: 'anna@our.test', now: at, arrived: at, whole: false },
    recipients: [recipient],
    original: Buffer.from('Subject: hello\r\n\r\n'),
  }

  test('have three parts that programs understand', () => {
    const message = composeReport(report)
    const root = scanMime(message)
    expect(root.type.value).toBe('multipart/report')
    expect(root.children.map(({ type }) => type.value)).toEqual([
      'text/plain',
      'message/delivery-status',
      'text/rfc822-headers',
    ])
    expect(outline(root).summary.subject).toBe('Delivery has failed')
    expect(message.toString()).toContain('\r\nStatus: 5.1.1\r\n')
    expect(message.toString()).not.toMatch(/[^\r]\n/)
  })

  test.each([
    ['failed', 550, '5.1.1 nobody', '5.1.1'],
    ['failed', 450, '4.2.0 busy', '4.2.0'],
    ['failed', 550, '4.2.0 busy', '5.0.0'],
    ['failed', 451, 'later', '4.0.0'],
    ['failed', null, 'nobody answered', '5.4.1'],
    ['delayed', 450, '4.2.0 busy', '4.2.0'],
    ['delayed', null, 'nobody answered', '4.4.1'],
    ['relayed', 250, '2.0.0 taken', '2.0.0'],
  ] as const)('%s after %j %s has the status %s', (action, status, response, wanted) => {
    const text = composeReport({ ...report, recipients: [{ ...recipient, action, status, response }] }).toString()
    expect(text).toContain(`\r\nAction: ${action}\r\nStatus: ${wanted}\r\n`)
    expect(text).toContain(`    ${response}\r\n`)
    if (status !== null) expect(text).toContain(`Diagnostic-Code: smtp; ${status} ${response}\r\n`)
  })

  test('their fields are ASCII, and what they name comes back (RFC 3464 2.1, RFC 6533 3)', () => {
    const address = 'jõ+a@jõgeva.test'
    const message = composeReport({ ...report, recipients: [{ ...recipient, address, response: '5.1.1 tundmatu õ' }] })
    const status = scanMime(message).children[1]
    const text = message.toString('latin1', status?.headerEnd, status?.bodyEnd)
    expect(text).toMatch(/^[\r\n\x20-\x7e]*$/)
    expect(text).toContain('Final-Recipient: utf-8; j\\x{F5}\\x{2B}a@j\\x{F5}geva.test\r\n')
    expect(readBounce(message)?.recipients).toMatchObject([{ address, status: '5.1.1' }])
  })

  test('what no host said is not said to be of SMTP', () => {
    const told = (more: object) =>
      /^Diagnostic-Code.*/m.exec(composeReport({ ...report, recipients: [{ ...recipient, ...more }] }).toString())?.[0]
    expect(told({ ours: true })).toBe('Diagnostic-Code: x-teal; 5.1.1 nobody')
    expect(told({ status: null, response: 'no host: timeout' })).toBe('Diagnostic-Code: x-teal; no host: timeout')
    expect(told({ ours: true, action: 'delivered', status: 250, response: 'delivered here' })).toBeUndefined()
  })

  test('the code that a host said stands there once', () => {
    const response = '550 5.1.1 nobody'
    const text = composeReport({ ...report, recipients: [{ ...recipient, status: 550, response }] }).toString()
    expect(text).toContain('Diagnostic-Code: smtp; 550 5.1.1 nobody\r\n')
  })

  test('a server cannot write lines of its own into one', () => {
    const response = 'no\r\nBcc: victim@remote.test\r\n\r\nX'
    const text = composeReport({ ...report, recipients: [{ ...recipient, response }] }).toString()
    expect(text).not.toMatch(/^Bcc:/m)
    expect(text).toContain('Diagnostic-Code: smtp; 550 no Bcc: victim@remote.test X')
  })
})
