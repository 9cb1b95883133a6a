// Names and numbers that nobody means well with, in a real browser: folders, subjects, people and files that are far too long, too many, or
// called what they are not. Each is shown for what it is, within its own line, and the page stays of use.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { type Account, account, mail } from '../../../http/api/mail-world.ts'
import { look, shoot, usePage } from '../page.ts'

const pages = usePage()
const { service } = pages

/** Signs that turn letters round or cannot be seen. */
const turning = /[\u202a-\u202e\u2066-\u2069\u200b-\u200f]/

async function bring(user: Account, source: string): Promise<number> {
  const place = `/users/${user.id}/mailboxes/${user.box('INBOX')}/messages`
  const headers = { 'content-type': 'message/rfc822' }
  const answer = await service.raw('POST', place, { headers, body: Buffer.from(source) })
  return ((await answer.json()) as { message: { id: number } }).message.id
}

/** Nothing reaches beyond the window, and a letter can still be begun. */
async function ofUse(page: Page): Promise<void> {
  const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  expect(over).toBeLessThanOrEqual(0)
  expect(await page.evaluate('globalThis.ran')).toBeUndefined()
  await page.getByRole('button', { name: 'New message' }).click()
  await page.locator('.mail-writer').getByLabel('Subject').fill('Still of use')
  await page.locator('.mail-writer').getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('dialog', { name: 'Discard this draft?' }).getByRole('button', { name: 'Discard' }).click()
  await expect.poll(() => page.locator('.mail-writer').count()).toBe(0)
}

test('folders with long names that turn letters round keep to their lines, wherever they are named', async () => {
  const user = await account(service, 'filer')
  // As long as the service takes them: 63 signs of four bytes do for 250 letters.
  const names = [
    '\u202eknaB\u2066'.padEnd(200, 'x'),
    `<img src=x onerror=top.ran=1>${'W'.repeat(150)}`,
    'ב'.repeat(100),
  ]
  for (const path of names) {
    const { body } = await user.call('POST', '/mailboxes', { path })
    expect(body, path).toMatchObject({ success: true })
  }
  await user.put('INBOX', mail('Any', 'x'))
  const page = await pages.visit('/app/mail', { as: 'filer' })
  const lines = page.locator('.mail-folders li')
  await expect.poll(() => lines.count()).toBeGreaterThan(7)
  for (const line of await lines.all()) {
    const box = await line.boundingBox()
    expect(box?.height).toBeLessThan(60)
  }
  expect(await page.locator('.mail-folders').textContent()).not.toMatch(turning)
  await page.locator('.mail-row input').first().click()
  const options = await page.getByRole('toolbar').getByRole('combobox').locator('option').allTextContents()
  expect(options.join('')).not.toMatch(turning)
  await look(page)
  await shoot(page, 'long-folders')
  // Moved there and searched for: named in what is said, and as a mark of a row.
  const index = options.findIndex(text => text.includes('knaB'))
  await page.getByRole('toolbar').getByRole('combobox').selectOption({ index })
  await page.locator('.mail-undo .notice').waitFor()
  expect(await page.locator('.mail-undo').textContent()).not.toMatch(turning)
  await page.locator('.mail-folders a', { hasText: 'knaB' }).click()
  await page.locator('.mail-tools h2', { hasText: 'knaB' }).waitFor()
  expect(await page.locator('.mail-middle').textContent()).not.toMatch(turning)
  await page.locator('#mail-search').fill('Any')
  await page.locator('.mail-row .tag, .mail-row').first().waitFor()
  await page.locator('.mail-folders li', { hasText: 'knaB' }).getByRole('button').last().click()
  await page.getByRole('dialog').waitFor()
  expect(await page.getByRole('dialog').textContent()).not.toMatch(turning)
  await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).click()
  await ofUse(page)
})

test('a subject of a hundred thousand letters is cut in the list and above the message, and answered', async () => {
  const user = await account(service, 'wordy')
  const id = await bring(user, `From: a@b.test\r\nSubject: Long ${'wort '.repeat(20_000)}\r\n\r\ntext\r\n`)
  const page = await pages.visit(`/app/mail/${user.box('INBOX')}?m=${id}`, { as: 'wordy' })
  await page.locator('.mail-text, .mail-html').first().waitFor()
  expect((await page.locator('.mail-message h2').textContent())?.length).toBeLessThanOrEqual(500)
  expect((await page.locator('.mail-row').first().boundingBox())?.height).toBeLessThan(80)
  await page.getByRole('button', { name: 'Reply', exact: true }).click()
  const writer = page.locator('.mail-writer')
  await writer.getByLabel('What you write').fill('short')
  await writer.getByText('Draft saved').waitFor()
  await writer.getByRole('button', { name: 'Send', exact: true }).click()
  await expect.poll(() => writer.count()).toBe(0)
  await ofUse(page)
})

test('five thousand people in the head are named as far as anybody reads them, and all are answered', async () => {
  const user = await account(service, 'crowded')
  const people = Array.from({ length: 5000 }, (_, n) => `"Person ${n}" <p${n}@example.org>`).join(',\r\n ')
  const id = await bring(user, `From: a@b.test\r\nSubject: Crowd\r\nTo: ${people}\r\n\r\nhello\r\n`)
  const page = await pages.visit(`/app/mail/${user.box('INBOX')}?m=${id}`, { as: 'crowded' })
  const to = page.locator('.mail-people')
  await to.getByRole('button', { name: /more/ }).click()
  await expect.poll(() => to.locator('bdi').count()).toBe(500)
  await page.getByRole('button', { name: 'Reply to all' }).click()
  const writer = page.locator('.mail-writer')
  await writer.getByLabel('What you write').fill('to all of you')
  await writer.getByText('Draft saved').waitFor()
  const { results } = (await user.call('GET', `/mailboxes/${user.box('Drafts')}/messages`)).body
  const draft = (await user.call('GET', `/mailboxes/${user.box('Drafts')}/messages/${results[0].id}`)).body
  // All of them, and who wrote to them.
  expect(draft.to).toHaveLength(5001)
  await writer.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('dialog', { name: 'Discard this draft?' }).getByRole('button', { name: 'Discard' }).click()
  await ofUse(page)
})

test('a thousand attachments are all within reach, and none of their names is more than a name', async () => {
  const user = await account(service, 'loaded')
  const name = (n: number) => (n === 0 ? '../../x<img src=y onerror=top.ran=1>.pdf' : `part-${n}.txt`)
  const parts = Array.from(
    { length: 1000 },
    (_, n) =>
      `--b\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename="${name(n)}"\r\n\r\nfile ${n}\r\n`,
  )
  const head =
    'From: a@b.test\r\nSubject: Loaded\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n'
  const id = await bring(user, `${head}--b\r\nContent-Type: text/plain\r\n\r\nsee\r\n${parts.join('')}--b--\r\n`)
  const page = await pages.visit(`/app/mail/${user.box('INBOX')}?m=${id}`, { as: 'loaded' })
  const files = page.locator('.mail-attachments a')
  await expect.poll(() => files.count()).toBeGreaterThan(0)
  const first = (await files.first().locator('bdi').textContent()) ?? ''
  expect(first).toContain('<img src=y onerror=top.ran=1>.pdf')
  const saving = page.waitForEvent('download')
  await files.first().click()
  expect((await saving).suggestedFilename()).not.toMatch(/[/\\]|^\./)
  // Some at first, and the others for who asks.
  const more = page.locator('.mail-attachments').getByRole('button', { name: /more/ })
  const { body } = await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages/${id}`)
  const total = body.attachments.length
  expect(total).toBeGreaterThan(500)
  while ((await more.count()) > 0) await more.click()
  await expect.poll(() => files.count()).toBe(total)
  await look(page)
  await ofUse(page)
})

test('a name that is the address of somebody else is not believed, in the list, above the message and in an answer', async () => {
  const user = await account(service, 'phished')
  const source = (from: string, subject: string) =>
    `From: ${from}\r\nSubject: ${subject}\r\nTo: x@y.test\r\n\r\nhello\r\n`
  const forms = [
    ['"support@bank.example" <thief@evil.test>', 'plain'],
    ['"support@bank.example <support@bank.example>" <thief@evil.test>', 'both'],
    ['=?utf-8?q?support=EF=BC=A0bank.example?= <thief@evil.test>', 'wide'],
    ['=?utf-8?q?support=EF=B9=ABbank.example?= <thief@evil.test>', 'small'],
    ['=?utf-8?q?support=E2=80=8B@bank.example?= <thief@evil.test>', 'unseen'],
  ] as const
  const page = await pages.visit('/app/mail', { as: 'phished' })
  for (const [from, subject] of forms) {
    const id = await bring(user, source(from, subject))
    const row = page.locator('.mail-row', { hasText: subject })
    await row.waitFor()
    expect(await row.locator('.who').textContent(), subject).toBe('thief@evil.test')
    await row.getByRole('link').click()
    await page.locator('.mail-message h2', { hasText: subject }).waitFor()
    expect(await page.locator('.mail-message strong').first().textContent(), subject).toBe('thief@evil.test')
    await page.getByRole('button', { name: 'Reply', exact: true }).click()
    const to = page.locator('.mail-writer').getByLabel('To', { exact: true })
    await expect.poll(() => to.inputValue()).toContain('thief@evil.test')
    await page.locator('.mail-writer').getByRole('button', { name: 'Save and close' }).click()
    await expect.poll(() => page.locator('.mail-writer').count()).toBe(0)
    expect(id).toBeGreaterThan(0)
  }
  // One that is its own stays a name.
  await bring(user, source('"Honest Person" <honest@good.test>', 'honest'))
  const honest = page.locator('.mail-row', { hasText: 'honest' })
  await honest.waitFor()
  expect(await honest.locator('.who').textContent()).toBe('Honest Person')
})
