// Mail in a real browser, as somebody would do the work of a day: read, file, search, undo, two windows, by keys alone, on a phone.

import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Account, account, mail } from '../../http/api/mail-world.ts'
import { look, usePage } from './page.ts'

const pages = usePage({}, { hasWorker: true })
const { service } = pages
let reader: Account

beforeAll(async () => {
  reader = await account(service, 'reader', { name: 'Rita Reader' })
  await reader.put('INBOX', mail('First of all', 'the oldest', { unseen: true, date: '2024-01-01T10:00:00Z' }))
  for (let n = 1; n <= 120; n += 1) {
    const date = new Date(Date.UTC(2024, 1, 1) + n * 3_600_000).toISOString()
    await reader.put('INBOX', mail(`Letter ${n}`, `text of letter ${n}`, { date }))
  }
  await reader.put(
    'INBOX',
    mail('With a plan', 'see below', {
      ...{ unseen: true, flagged: true },
      html: '<h1>The plan</h1><p>see <a href="https://example.com/x">there</a></p>',
      attachments: [{ filename: 'plan.txt', contentType: 'text/plain', content: 'cGxhbg==' }],
    }),
  )
})

const row = (page: Page, subject: string) => page.locator('.mail-row', { hasText: subject })
const listed = (page: Page) => page.locator('.mail-list')

const scroll = (page: Page, top: number) => page.evaluate(`document.querySelector('.mail-list').scrollTop = ${top}`)

/** What is in the frame of a message. */
const frame = (page: Page) => page.frameLocator('iframe.mail-html')

describe('reading', () => {
  test('the list shows what is new, a message opens with its text and files, and is read from then on', async () => {
    const page = await pages.visit('/app/mail', { as: 'reader' })
    await row(page, 'With a plan').waitFor()
    await expect.poll(() => page.locator('.mail-folders [aria-current]').textContent()).toContain('2')
    await look(page)
    await row(page, 'With a plan').getByRole('link').click()
    await frame(page).getByRole('heading', { name: 'The plan' }).waitFor()
    expect(await frame(page).getByRole('link', { name: 'there' }).getAttribute('rel')).toContain('noopener')
    await page.getByRole('link', { name: /plan\.txt/ }).waitFor()
    await expect.poll(() => page.locator('.mail-folders [aria-current] .count').first().textContent()).toContain('1')
    await page.getByRole('button', { name: 'Why is it here' }).click()
    await page.getByText('Message-ID').waitFor()
    await look(page)
    const saved = page.waitForEvent('download')
    await page.getByRole('link', { name: /plan\.txt/ }).click()
    expect((await saved).suggestedFilename()).toBe('plan.txt')
  })

  test('the list scrolls to its end and keeps its place when mail comes', async () => {
    const page = await pages.visit('/app/mail', { as: 'reader' })
    await row(page, 'Letter 120').waitFor()
    await scroll(page, 1e9)
    await row(page, 'First of all').waitFor()
    await scroll(page, 72 * 40)
    const top = page.locator('.mail-row', { hasText: 'Letter 80' })
    await top.waitFor()
    const before = (await top.boundingBox())?.y
    await reader.put('INBOX', mail('Just now', 'new'))
    await expect.poll(() => listed(page).getAttribute('data-rows')).toBe('123')
    await expect.poll(async () => (await top.boundingBox())?.y).toBe(before)
  })

  test('in another language, from the right', async () => {
    const page = await pages.visit('/app/mail', { as: 'reader', locale: 'ar' })
    await row(page, 'With a plan').waitFor()
    await page.getByRole('button', { name: 'رسالة جديدة' }).waitFor()
    expect(await page.locator('html').getAttribute('dir')).toBe('rtl')
  })
})

describe('filing', () => {
  test('selected messages are moved, and back again', async () => {
    const user = await account(service, 'filer')
    for (const n of [1, 2, 3]) await user.put('INBOX', mail(`Paper ${n}`, 'x'))
    const page = await pages.visit('/app/mail', { as: 'filer' })
    await page.getByRole('checkbox', { name: 'Select: Paper 1' }).click()
    await page.getByRole('checkbox', { name: 'Select: Paper 3' }).click()
    await page.getByRole('toolbar').getByRole('button', { name: 'Junk' }).click()
    await page.getByText('2 moved to Junk').waitFor()
    await expect.poll(() => page.locator('.mail-row').count()).toBe(1)
    await page.getByRole('button', { name: 'Undo' }).click()
    await row(page, 'Paper 3').waitFor()
    await row(page, 'Paper 1').waitFor()
    const { body } = await user.call('GET', `/mailboxes/${user.box('Junk')}/messages`)
    expect(body.total).toBe(0)
  })

  test('what one window does the other shows', async () => {
    const user = await account(service, 'twofold')
    await user.put('INBOX', mail('Shared', 'x', { unseen: true }))
    const one = await pages.visit('/app/mail', { as: 'twofold' })
    const two = await pages.visit('/app/mail', { as: 'twofold' })
    await row(two, 'Shared').waitFor()
    await row(one, 'Shared').getByRole('button', { name: 'Flag' }).click()
    await two.locator('.mail-row .star[aria-pressed=true]').waitFor()
    await row(one, 'Shared').getByRole('link').click()
    const flag = one.locator('.mail-actions').getByRole('button', { name: 'Flag', pressed: true })
    await row(two, 'Shared').getByRole('button', { name: 'Flag' }).click()
    await flag.waitFor({ state: 'detached' })
    await one.locator('.mail-actions').getByRole('button', { name: 'Flag' }).click()
    await flag.waitFor()
    await two.locator('.mail-row .star[aria-pressed=true]').waitFor()
    await one.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click()
    await two.getByText('Nothing here').waitFor()
  })

  test('a folder is made, and a message is put into it', async () => {
    const user = await account(service, 'maker')
    await user.put('INBOX', mail('To be kept', 'x'))
    const page = await pages.visit('/app/mail', { as: 'maker' })
    await page.getByRole('button', { name: 'New folder' }).click()
    await page.getByLabel('Name of the folder').fill('Plans')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('link', { name: 'Plans' }).waitFor()
    await row(page, 'To be kept').getByRole('link').click()
    await page.locator('.mail-actions').getByLabel('Move to…').selectOption({ label: 'Plans' })
    await page.getByText('1 moved to Plans').waitFor()
    await page.getByRole('link', { name: 'Plans' }).click()
    await row(page, 'To be kept').waitFor()
  })
})

test('a search finds as one types, and ends', async () => {
  await service.indexed()
  const page = await pages.visit('/app/mail', { as: 'reader' })
  await row(page, 'With a plan').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('subject:plan')
  await expect.poll(() => page.locator('.mail-row').count()).toBe(1)
  await row(page, 'With a plan').getByRole('link').click()
  await frame(page).getByRole('heading', { name: 'The plan' }).waitFor()
  await page.getByRole('combobox', { name: 'Search mail' }).press('Escape')
  await row(page, 'Letter 120').waitFor()
})

test('keys alone do for reading and filing', async () => {
  const user = await account(service, 'typist')
  for (const n of [1, 2, 3]) await user.put('INBOX', mail(`Key ${n}`, `text ${n}`, { date: `2024-05-0${n}T00:00:00Z` }))
  const page = await pages.visit('/app/mail', { as: 'typist' })
  await row(page, 'Key 3').waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Key 2' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Key 2' }).waitFor()
  await row(page, 'Key 3').waitFor()
  await page.keyboard.press('j')
  await page.getByRole('heading', { name: 'Key 1' }).waitFor()
  await page.keyboard.press('k')
  await page.getByRole('heading', { name: 'Key 2' }).waitFor()
  await page.keyboard.press('e')
  await page.getByText('1 moved to Archive').waitFor()
  await page.getByRole('heading', { name: 'Key 1' }).waitFor()
  await page.keyboard.press('u')
  await page.getByText('Choose a message').waitFor()
  await page.keyboard.press('z')
  await row(page, 'Key 2').waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
})

test('on a phone the list and the message take turns', async () => {
  const user = await account(service, 'mobile')
  await user.put('INBOX', mail('Small', 'on the way'))
  const page = await pages.visit('/app/mail', { as: 'mobile', width: 380 })
  await row(page, 'Small').getByRole('link').click()
  await page.getByRole('heading', { name: 'Small' }).waitFor()
  expect(await listed(page).isVisible()).toBe(false)
  await page.getByRole('button', { name: 'Back to the list' }).click()
  await row(page, 'Small').waitFor()
  await look(page)
})
