// What goes wrong while somebody works, in a real browser: a session that ends, files that are too large, storage that is full, a folder
// that is deleted elsewhere, two windows and a letter that waits for a connection. Nothing that was written is lost, and each is said.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { type Account, account, mail } from '../../../http/api/mail-world.ts'
import { look, setOffline, usePage } from '../page.ts'

const pages = usePage({}, { hasWorker: true })
const { service } = pages

const writer = (page: Page) => page.locator('.mail-writer')
const field = (page: Page, label: string) => writer(page).getByLabel(label, { exact: true })

async function write(page: Page, subject: string): Promise<void> {
  await page.getByRole('button', { name: 'New message' }).click()
  await field(page, 'To').fill('friend@example.net')
  await field(page, 'Subject').fill(subject)
}

const drafts = async (user: Account) =>
  (await user.call('GET', `/mailboxes/${user.box('Drafts')}/messages`)).body.results

const waiting = async (user: Account) => (await user.call('GET', '/outbound')).body.total

test('a session that ends while one writes costs nothing of what was written', async () => {
  const user = await account(service, 'sudden')
  const page = await pages.visit('/app/mail', { as: 'sudden' })
  pages.expectErrors('status of 403', 'MIME type')
  await write(page, 'Half')
  await writer(page).getByText('Draft saved').waitFor()
  await field(page, 'What you write').fill('the other half')
  const { body } = await user.call('DELETE', '/sessions')
  expect(body).toMatchObject({ success: true })
  await page.getByRole('heading', { name: 'Sign in to your mail' }).waitFor()
  await page.getByLabel('Address or username').fill('sudden')
  await page.getByLabel('Password').fill('secret of sudden')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await writer(page).waitFor()
  expect(await field(page, 'What you write').inputValue()).toBe('the other half')
  await writer(page).getByText('Draft saved').waitFor()
  await expect.poll(() => drafts(user)).toMatchObject([{ subject: 'Half', intro: 'the other half' }])
})

test('files that are too large are named, the others go along, and nothing is sent before they are there', async () => {
  const user = await account(service, 'hauler')
  const page = await pages.visit('/app/mail', { as: 'hauler' })
  await write(page, 'Large')
  // Made in the page, since it is too much to hand over.
  await page.evaluate(`{
    const files = new DataTransfer()
    files.items.add(new File([new Uint8Array(65 * 2 ** 20)], 'huge.bin'))
    files.items.add(new File(['small'], 'small.txt'))
    const at = document.querySelector('.mail-writer')
    at.dispatchEvent(new DragEvent('dragover', { dataTransfer: files, bubbles: true, cancelable: true }))
    at.dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true }))
  }`)
  await page.getByText('huge.bin: This is too large.').waitFor()
  await writer(page).getByRole('button', { name: 'Remove small.txt' }).waitFor()
  await writer(page).getByRole('progressbar').waitFor({ state: 'detached' })
  let go = () => {}
  const held = new Promise<void>(resolve => {
    go = resolve
  })
  await page.route('**/storage?*', async route => {
    await held
    await route.continue()
  })
  await writer(page)
    .locator('input[type=file]')
    .setInputFiles([{ name: 'late.txt', mimeType: 'text/plain', buffer: Buffer.from('late') }])
  await writer(page).getByRole('progressbar').waitFor()
  await look(page)
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await writer(page).getByRole('alert').getByText('still on their way').waitFor()
  go()
  await writer(page).getByRole('button', { name: 'Remove late.txt' }).waitFor()
  await expect.poll(() => writer(page).getByRole('progressbar').count()).toBe(0)
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await expect.poll(() => writer(page).count()).toBe(0)
  const { attachments } = (await user.call('GET', `/mailboxes/${user.box('Sent Mail')}/messages/1`)).body
  expect(attachments.map((one: { filename: string }) => one.filename)).toEqual(['small.txt', 'late.txt'])
})

test('a file waits for a connection that broke', async () => {
  await account(service, 'broken')
  const page = await pages.visit('/app/mail', { as: 'broken' })
  pages.expectErrors('ERR_', 'Failed to load')
  await write(page, 'Later')
  await setOffline(page.context(), true)
  await writer(page)
    .locator('input[type=file]')
    .setInputFiles([{ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('plan') }])
  await writer(page).getByRole('progressbar').waitFor()
  await writer(page).getByText('kept in this browser').waitFor()
  await setOffline(page.context(), false)
  await expect.poll(() => writer(page).getByRole('progressbar').count(), { timeout: 30_000 }).toBe(0)
  await writer(page).getByText('plan.txt').waitFor()
})

test('where storage is full that is said, what was written stays, and is saved when there is room', async () => {
  const user = await account(service, 'fuller')
  const page = await pages.visit('/app/mail', { as: 'fuller' })
  pages.expectErrors('status of 400')
  await write(page, 'No room')
  await writer(page).getByText('Draft saved').waitFor()
  await user.put('INBOX', mail('Heavy', 'x'.repeat(20_000)))
  expect((await user.call('PUT', '', { quota: 5000 })).body).toMatchObject({ success: true })
  await field(page, 'What you write').fill('important words')
  await writer(page).getByText('Your storage is full. What you wrote is kept in this browser.').waitFor()
  expect((await user.call('PUT', '', { quota: 5_000_000 })).body).toMatchObject({ success: true })
  await field(page, 'What you write').press('End')
  await field(page, 'What you write').pressSequentially('!')
  await writer(page).getByText('Draft saved').waitFor()
  await expect.poll(() => drafts(user)).toMatchObject([{ intro: 'important words!' }])
})

test('a folder that is deleted elsewhere leaves its reader in the inbox', async () => {
  const user = await account(service, 'evicted')
  const { body: made } = await user.call('POST', '/mailboxes', { path: 'Short-lived' })
  await user.put('INBOX', mail('At home', 'x'))
  await user.put('Short-lived', mail('Soon gone', 'x'))
  const page = await pages.visit(`/app/mail/${made.id}?m=1`, { as: 'evicted' })
  await page.getByRole('heading', { name: 'Soon gone' }).waitFor()
  expect((await user.call('DELETE', `/mailboxes/${made.id}`)).body).toMatchObject({ success: true })
  await page.locator('.mail-row', { hasText: 'At home' }).waitFor()
  expect(await page.getByRole('link', { name: 'Short-lived' }).count()).toBe(0)
})

test('a letter that waits for the connection in one window is not sent by another one', async () => {
  const user = await account(service, 'double')
  const one = await pages.visit('/app/mail', { as: 'double' })
  pages.expectErrors('ERR_', 'Failed to load')
  await write(one, 'Only once')
  await writer(one).getByText('Draft saved').waitFor()
  // Not the whole context, whose second window has its connection.
  const broken = '**/users/**'
  await one.route(broken, route => route.abort())
  await writer(one).getByRole('button', { name: 'Send', exact: true }).click()
  await one.getByText('It will be sent').waitFor()
  const two = await one.context().newPage()
  await two.goto(`${pages.origin}/app/mail`)
  await two.getByText('Nothing here').waitFor()
  await one.unroute(broken)
  await expect.poll(() => waiting(user), { timeout: 40_000 }).toBe(1)
  await expect.poll(() => drafts(user)).toEqual([])
  await two.reload()
  await two.getByText('Nothing here').waitFor()
  expect(await waiting(user)).toBe(1)
})
