// What is said of a mail beside its checks: which of its HTML mail programs do not show, and what filters hold against it.

import { expect, test } from 'vitest'
import type { Draft } from '../../src/testing.d.ts'
import { useDev } from './running.ts'

const on = useDev()
const strict = useDev({ dns: { 'shop.example': 'v=spf1 -all', '_dmarc.shop.example': 'v=DMARC1; p=reject' } })

/** A mail by its fields. */
type Fields = Partial<Exclude<Draft, Uint8Array | string>>

interface Named {
  readonly name: string
}

async function arrived(draft: Fields, where = on): Promise<string> {
  await where.call('DELETE', '/dev/v1/mails')
  await where.send({ to: 'anna@example.com', ...draft } as Draft, 'anna@example.com')
  return (await where.call('GET', '/dev/v1/mails/latest')).body.id
}

async function featuresOf(html: string) {
  const id = await arrived({ subject: 'Looked at', text: 'x', html })
  const { features } = (await on.call('GET', `/dev/v1/mails/${id}/programs`)).body
  return new Map<string, { count: number; support: Record<string, string> }>(
    features.map((one: { slug: string }) => [one.slug, one]),
  )
}

test('what of its HTML and CSS is not shown everywhere is told, each with the programs', async () => {
  const found = await featuresOf(`<head><style>
      /* position: absolute */ @import url("https://example.com/a.css");
      @media (prefers-color-scheme: dark) { a:hover, a:focus-visible { COLOR: red } }
      .box::before { content: "}" } .box { display: grid; inset: 0; width: min(10rem, 50vw); --x: 1 }
    </style></head><body><!-- <video></video> --><div style='position:absolute;background:url(a;b);gap:1px'>
    <VIDEO src=x></VIDEO><img src="a.webp?x=1" srcset="b.webp 2x"><img src="data:image/png;base64,AAAA"><svg></svg>
    <p title="<form>">Words</p></div></body>`)
  expect([...found.keys()]).toEqual(
    expect.arrayContaining([
      ...['css-at-import', 'css-at-media', 'css-at-media-prefers-color-scheme', 'css-pseudo-class-hover', 'css-inset'],
      ...[
        'css-pseudo-element-before',
        'css-display-grid',
        'css-function-min',
        'css-unit-rem',
        'css-unit-vw',
        'css-gap',
      ],
      ...['css-position', 'html-video', 'image-webp', 'image-base64', 'html-srcset', 'html-svg'],
    ]),
  )
  for (const absent of ['html-form', 'css-pseudo-class-focus', 'css-display-flex', 'css-filter', 'css-unit-vh'])
    expect(found.has(absent), absent).toBe(false)
  expect(found.get('css-position')?.count).toBe(1)
  expect(found.get('html-video')).toMatchObject({
    count: 1,
    support: { 'Apple Mail, macOS': 'shown', 'Gmail, web': 'not', 'Outlook, Windows': 'not' },
  })
})

test('plain HTML is shown by all; broken HTML is looked through as far as it goes', async () => {
  expect((await featuresOf('<h1>Hello</h1><p style="color:red">Words</p>')).size).toBe(0)
  for (const broken of ['<video ', '<style>a{display:flex', '<div style="gap:1px', '<a b="', '<!--', '<style>/*', '<'])
    await featuresOf(`<p>${broken}`)
  expect((await featuresOf('<p><style>a{display:flex')).has('css-display-flex')).toBe(true)
  const id = await arrived({ subject: 'Text', text: 'x' })
  expect((await on.call('GET', `/dev/v1/mails/${id}/programs`)).body.features).toEqual([])
})

test('a mail as it should be has no points; each sign of spam has some, and a reason', async () => {
  const good = {
    subject: 'Your order 17',
    text: 'Thank you for your order. It is on its way.',
    html: '<p>Thank you for your order. It is on its way: <a href="https://shop.example.com/17">shop.example.com</a></p>',
  }
  const fine = await arrived(good)
  expect((await on.call('GET', `/dev/v1/mails/${fine}/spam`)).body).toEqual({ points: 0, junkFrom: 5, parts: [] })
  const signsOf = async (draft: Fields) => {
    const id = await arrived({ ...good, ...draft })
    const { parts } = (await on.call('GET', `/dev/v1/mails/${id}/spam`)).body
    return parts.map(({ name }: Named) => name)
  }
  const cases: readonly (readonly [Fields, string])[] = [
    [{ text: undefined }, 'HTML alone'],
    [{ html: '<img src="cid:a" alt="">' }, 'Pictures for words'],
    [{ html: `${good.html}<form></form>` }, 'Active HTML'],
    [{ subject: '' }, 'Subject'],
    [{ subject: 'BUY THIS 17' }, 'Subject in capitals'],
    [{ subject: 'Only today!!' }, 'Subject that shouts'],
    [{ subject: 'Pay\u200bPal' }, 'Letters that are not seen'],
    [{ from: '"bank@bank.example" <app@example.com>' }, 'Another address as a name'],
    [{ headers: { 'Reply-To': 'else@elsewhere.example' } }, 'Answers go elsewhere'],
    [{ headers: { 'List-Id': '<a.example>' } }, 'No way to unsubscribe'],
    [
      { html: '<p>Sign in at <a class=x href="https://evil.example/bank">www.bank.example</a></p>' },
      'A link that shows another host',
    ],
    [{ text: 'See http://203.0.113.9/x' }, 'A link to a number'],
    [{ text: 'See https://bit.ly/x' }, 'A shortened link'],
    [{ attachments: [{ filename: 'bill.pdf.exe', content: 'x' }] }, 'A file that runs'],
    [{ text: 'Act now, risk free: you have been selected' }, 'Worn phrases'],
    [{ text: 'LOOK AT ALL OF THIS '.repeat(20), html: undefined }, 'Text in capitals'],
  ]
  for (const [draft, sign] of cases) expect(await signsOf(draft), sign).toContain(sign)
  // No sender's records are known here, so that nothing unproven counts.
  expect(await signsOf({ from: 'app@shop.example' })).toEqual([])
})

test('a raw mail without what each should have gets its points, in the list, too', async () => {
  await on.call('DELETE', '/dev/v1/mails')
  const raw = `Subject: a\r\n\r\n${'x'.repeat(1200)}\r\n`
  await on.call('POST', '/dev/v1/mails?to=anna@example.com', raw, { 'content-type': 'message/rfc822' })
  const { body } = await on.call('GET', '/dev/v1/mails/latest')
  const spam = (await on.call('GET', `/dev/v1/mails/${body.id}/spam`)).body
  const names = spam.parts.map(({ name }: Named) => name)
  expect(names).toEqual(expect.arrayContaining(['Date', 'Message-ID', 'From', 'Nobody named', 'Lines too long']))
  expect(spam.points).toBeGreaterThanOrEqual(5)
  expect((await on.call('GET', '/dev/v1/lines')).body.lines[0].spam).toBe(spam.points)
})

test('where the records of senders are known, what is not proven counts', async () => {
  const id = await arrived({ from: 'app@shop.example', subject: 'Order', text: 'Thank you' }, strict)
  const { parts } = (await strict.call('GET', `/dev/v1/mails/${id}/spam`)).body
  expect(parts.map(({ name }: Named) => name)).toEqual(expect.arrayContaining(['DMARC', 'DKIM', 'SPF']))
})

test('Mailpit’s calls for both answer in its shapes', async () => {
  const id = await arrived({ subject: 'FREE GIFT!!', html: '<video></video><div style="display:flex">Act now</div>' })
  const { body: html } = await on.call('GET', `/api/v1/message/${id}/html-check`)
  expect(html.Total).toMatchObject({ Tests: expect.any(Number), Nodes: 2, Unsupported: expect.any(Number) })
  expect(html.Warnings.map(({ Slug }: { Slug: string }) => Slug)).toEqual(['html-video', 'css-display-flex'])
  expect(html.Warnings[0]).toMatchObject({
    ...{ Title: '<video>', Category: 'html', URL: 'https://www.caniemail.com/features/html-video/' },
    Results: expect.arrayContaining([expect.objectContaining({ Family: 'Gmail', Name: 'Gmail, web', Support: 'no' })]),
    Score: { Found: 1, Supported: expect.any(Number), Partial: expect.any(Number), Unsupported: expect.any(Number) },
  })
  const { body: spam } = await on.call('GET', `/api/v1/message/${id}/sa-check`)
  expect(spam).toMatchObject({ Error: '', IsSpam: false, Score: expect.any(Number) })
  expect(spam.Rules).toContainEqual({ Name: 'HTML alone', Score: 1, Description: expect.any(String) })
  for (const call of ['html-check', 'sa-check'])
    expect((await on.call('GET', `/api/v1/message/nothing/${call}`)).status).toBe(404)
})
