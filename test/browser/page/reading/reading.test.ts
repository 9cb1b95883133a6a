// What is behind a message and beside it, in a real browser: header fields, source, why it is here, attachments looked at, invitations,
// seals, paper; a filter made from it, and the message sent on as it is.

import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Account, account, mail } from '../../../http/api/mail-world.ts'
import type { Kind } from '../../chromium.ts'
import { look, shoot, usePage } from '../page.ts'

const pages = usePage()
const { service } = pages
let reader: Account

const pdf = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj
trailer<</Root 1 0 R>>
%%EOF
`
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const calendar = [
  'BEGIN:VCALENDAR',
  'METHOD:REQUEST',
  'BEGIN:VEVENT',
  'UID:1@example.net',
  'SUMMARY:The plan\\, at last',
  'DTSTART;TZID=Europe/Berlin:20240502T100000',
  'DURATION:PT1H30M',
  'LOCATION:Room 5',
  'ORGANIZER;CN="Olga: Organizer":mailto:olga@example.net',
  'RRULE:FREQ=WEEKLY',
  'BEGIN:VALARM',
  'SUMMARY:not this',
  'END:VALARM',
  'END:VEVENT',
  'END:VCALENDAR',
].join('\r\n')

const part = (head: string, body: string) => `--b\r\n${head}\r\n\r\n${body}\r\n`
const named = (type: string, name: string) =>
  `Content-Type: ${type}; name="${name}"\r\nContent-Disposition: attachment; filename="${name}"`
const base64 = '\r\nContent-Transfer-Encoding: base64'

const everything = [
  'From: Olga <olga@example.net>\r\nTo: reader@example.com\r\nSubject: Everything\r\nX-Odd: a\u202eb\r\n  folded\r\n',
  'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n',
  part('Content-Type: text/html', '<p>See what is attached.</p>'),
  part(`${named('image/png', 'dot.png')}${base64}`, png),
  part(named('application/pdf', 'paper.pdf'), pdf),
  part(named('application/pdf', 'not.pdf'), '<script>top.ran=1</script>'),
  part(named('text/csv', 'table.csv'), 'a,b\u202ec'),
  part(named('text/html', 'page.html'), '<script>top.ran=1</script>'),
  part(named('application/octet-stream', 'thing.bin'), 'MZ'),
  part('Content-Type: text/calendar; method=REQUEST; charset=utf-8', calendar),
  '--b--\r\n',
].join('')

const signed =
  'Subject: Sealed\r\nContent-Type: multipart/signed; protocol="application/pgp-signature"; boundary=b\r\n\r\n' +
  `${part('Content-Type: text/plain', 'signed words')}${part('Content-Type: application/pgp-signature', 'x')}--b--\r\n`
const encrypted =
  'Subject: Locked\r\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\r\n\r\nMIAG\r\n'

async function bring(source: string): Promise<number> {
  const answer = await service.raw('POST', `/users/${reader.id}/mailboxes/${reader.box('INBOX')}/messages`, {
    headers: { 'content-type': 'message/rfc822' },
    body: Buffer.from(source),
  })
  return ((await answer.json()) as { message: { id: number } }).message.id
}

beforeAll(async () => {
  reader = await account(service, 'reader')
})

async function open(uid: number, as = 'reader', box = reader.box('INBOX'), kind: Kind = 'shell'): Promise<Page> {
  const page = await pages.visit(`/app/mail/${box}?m=${uid}`, { as, kind })
  await page.locator('.mail-message h2').waitFor()
  return page
}

describe('what is behind a message', () => {
  test('its fields, its source and why it is here are one click away', async () => {
    const page = await open(await bring(everything))
    await page.getByRole('button', { name: 'Header fields' }).click()
    const fields = page.getByRole('region', { name: 'Header fields' })
    await fields.getByText('a<U+202E>b folded').waitFor()
    await look(page)
    await page.getByRole('button', { name: 'Source' }).click()
    const source = page.getByRole('region', { name: 'Source' })
    await source.getByText('SUMMARY:not this').waitFor()
    const saved = page.waitForEvent('download')
    await source.getByRole('link', { name: /Download/ }).click()
    expect((await saved).suggestedFilename()).toBe('Everything.eml')
    await shoot(page, 'source')
    await page.getByRole('button', { name: 'Why is it here' }).click()
    await page.getByText('Message-ID', { exact: true }).waitFor()
    expect(await source.count()).toBe(0)
  })

  test('an invitation says what, when and where', async () => {
    const page = await open(await bring(everything))
    const card = page.getByRole('region', { name: 'Invitation' })
    await card.getByRole('heading', { name: 'The plan, at last' }).waitFor()
    // Ten in Berlin; the browser of the test lives in the time of the machine.
    const at = new Intl.DateTimeFormat('en', { timeStyle: 'short' }).format(new Date('2024-05-02T08:00:00Z'))
    const said = ((await card.textContent()) ?? '').replaceAll('\u202f', ' ')
    expect(said).toContain(at.replaceAll('\u202f', ' ').replace(/ [AP]M/, ''))
    for (const text of ['2 May 2024', 'Room 5', 'Olga: Organizer', 'Repeats']) expect(said).toContain(text)
    await page.locator('.mail-html[aria-busy=false]').waitFor()
    await shoot(page, 'invitation')
    await look(page)
  })

  test('what is signed or encrypted is named', async () => {
    const page = await open(await bring(signed))
    await page.getByText('This message is signed.').waitFor()
    const other = await open(await bring(encrypted))
    await other.getByText('This message is encrypted.').waitFor()
    expect(await other.getByText('This message is signed.').count()).toBe(0)
  })
})

describe('attachments', () => {
  test('pictures, PDF and text are looked at in front of the page, and nothing of them runs', async () => {
    const page = await open(await bring(everything), 'reader', reader.box('INBOX'), 'whole')
    const dialog = page.getByRole('dialog')
    const close = () => dialog.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Look at dot.png' }).click()
    await expect.poll(() => page.evaluate(`document.querySelector('.mail-picture')?.naturalWidth`)).toBe(1)
    await look(page)
    await close()
    await page.getByRole('button', { name: 'Look at table.csv' }).click()
    await dialog.getByText('a,b<U+202E>c').waitFor()
    await close()
    await page.getByRole('button', { name: 'Look at page.html' }).click()
    await dialog.getByText('<script>top.ran=1</script>').waitFor()
    await close()
    const viewer = page.waitForEvent('request', request => request.url().startsWith('chrome-extension:'))
    await page.getByRole('button', { name: 'Look at paper.pdf' }).click()
    await viewer
    expect(await dialog.locator('iframe').getAttribute('src')).toMatch(/^blob:/)
    await shoot(page, 'pdf')
    await close()
    await page.getByRole('button', { name: 'Look at not.pdf' }).click()
    await dialog.getByText('This browser cannot show it').waitFor()
    await close()
    expect(await page.getByRole('button', { name: 'Look at thing.bin' }).count()).toBe(0)
    expect(await page.evaluate('globalThis.ran')).toBeUndefined()
  })

  test('on paper there is the letter alone, as long as it is', async () => {
    const long = Array.from({ length: 200 }, (_, n) => `<p>Line ${n} of a long letter</p>`).join('')
    const page = await open(await bring(`Subject: Long letter\r\nContent-Type: text/html\r\n\r\n${long}`))
    await page.locator('.mail-html[aria-busy=false]').waitFor()
    await page.emulateMedia({ media: 'print' })
    for (const gone of ['.top', '.mail-side', '.mail-middle', '.mail-actions', '.mail-behind'])
      expect(await page.locator(gone).first().isVisible(), gone).toBe(false)
    await page.getByRole('heading', { name: 'Long letter' }).waitFor()
    const sheets = (await page.pdf({ format: 'A4' })).toString('latin1').match(/\/Type\s*\/Page\b/g)
    expect(sheets?.length).toBeGreaterThan(4)
  })
})

test('a filter is made from a message, tried on what is there, and takes it along', async () => {
  const user = await account(service, 'filer')
  const news = { from: { name: 'News', address: 'news@example.net' } }
  for (const n of [1, 2, 3]) await user.put('INBOX', mail(`News ${n}`, 'x', news))
  const other = await user.put('INBOX', mail('Other', 'x'))
  const first = await user.put('INBOX', mail('News 4', 'x', news))
  const { body: made } = await user.call('POST', '/mailboxes', { path: 'News' })
  const page = await open(first, 'filer', user.box('INBOX'))
  await page.getByRole('button', { name: 'Always file these' }).click()
  const dialog = page.getByRole('dialog', { name: 'Always file these' })
  expect(await dialog.getByLabel('From has').inputValue()).toBe('news@example.net')
  await dialog.getByText('Such messages here already: 4 of 5.').waitFor()
  await shoot(page, 'filing')
  await look(page)
  await dialog.getByRole('button', { name: 'Make filter' }).click()
  await dialog.getByText('Choose where it goes').waitFor()
  await dialog.getByLabel('Folder').selectOption('News')
  await dialog.getByLabel('Move those in “Inbox”, too').check()
  await dialog.getByRole('button', { name: 'Make filter' }).click()
  await page.getByText('From now on they go into News.').waitFor()
  const { body } = await user.call('GET', '/filters')
  expect(body.results).toMatchObject([
    { originalQuery: { from: 'news@example.net' }, originalAction: { mailbox: made.id } },
  ])
  expect((await user.call('GET', `/mailboxes/${made.id}`)).body.total).toBe(4)
  const left = (await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages`)).body.results
  expect(left.map((one: { id: number }) => one.id)).toEqual([other])
})

test('a message is sent on as it is', async () => {
  const target = await account(service, 'target')
  const { address } = (await target.call('GET', '')).body
  const page = await open(await bring(everything))
  await page.getByRole('button', { name: 'Redirect' }).click()
  const dialog = page.getByRole('dialog', { name: 'Redirect' })
  await dialog.getByRole('combobox', { name: 'To' }).fill('nobody')
  await dialog.getByRole('button', { name: 'Redirect' }).click()
  await dialog.getByText('This is no address: nobody').waitFor()
  await look(page)
  await dialog.getByRole('combobox', { name: 'To' }).fill(address)
  await dialog.getByRole('button', { name: 'Redirect' }).click()
  await page.getByText(`Redirected to ${address}.`).waitFor()
  const inbox = async () => (await target.call('GET', `/mailboxes/${target.box('INBOX')}/messages`)).body.results
  await expect.poll(inbox).toMatchObject([{ subject: 'Everything', from: { address: 'olga@example.net' } }])
})

test('a letter keeps the form that its attributes give it: widths, spans, alignment, and from where it is read', async () => {
  const html =
    '<table width="300" cellpadding="9" align="center"><tr><td colspan="2" height="90" valign="bottom" align="right">Wide</td></tr>' +
    '<tr><td>One</td><td>Two</td></tr></table><p dir="rtl">Turned</p><ol start="4"><li>Fourth</li></ol>' +
    '<font color="red" size="5">Red</font>'
  const uid = await reader.put('INBOX', mail('Formed', '', { html }))
  const page = await pages.visit(`/app/mail/${reader.box('INBOX')}?m=${uid}`, { as: 'reader' })
  const frame = page.frameLocator('iframe.mail-html')
  const styled = (what: string, name: string) =>
    page.evaluate<string>(
      `getComputedStyle(document.querySelector('iframe.mail-html').contentDocument.querySelector('${what}')).getPropertyValue('${name}')`,
    )
  await frame.getByText('Turned').waitFor()
  expect(await styled('table', 'width')).toBe('300px')
  expect(await styled('td', 'padding-top')).toBe('9px')
  expect(await styled('td', 'vertical-align')).toBe('bottom')
  expect(await frame.locator('td').first().getAttribute('colspan')).toBe('2')
  expect(await styled('p', 'direction')).toBe('rtl')
  expect(await frame.locator('ol').getAttribute('start')).toBe('4')
  expect(await styled('font', 'color')).toBe('rgb(255, 0, 0)')
})
