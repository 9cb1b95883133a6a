// Files on their way into a letter, in a real browser: they survive a page that is loaded anew, with a network and without, and a session
// that ends; go with the letter and whoever signs out; and where there is no room for them that is said before the page is left.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { type Account, account } from '../../http/api/mail-world.ts'
import { filesKept, isKept } from './kept.ts'
import { look, setOffline, shoot, usePage } from './page.ts'

const pages = usePage({}, { hasWorker: true })
const { service } = pages

const writer = (page: Page) => page.locator('.mail-writer')
const field = (page: Page, label: string) => writer(page).getByLabel(label, { exact: true })
const storage = '**/storage?*'

async function write(page: Page, subject: string): Promise<void> {
  await page.getByRole('button', { name: 'New message' }).click()
  await field(page, 'To').fill('friend@example.net')
  await field(page, 'Subject').fill(subject)
}

async function choose(page: Page, ...names: readonly string[]): Promise<void> {
  const files = names.map(name => ({ name, mimeType: 'text/plain', buffer: Buffer.from(`text of ${name}`) }))
  await writer(page).locator('input[type=file]').setInputFiles(files)
}

async function sent(page: Page, user: Account): Promise<unknown> {
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await expect.poll(() => writer(page).count()).toBe(0)
  const place = `/users/${user.id}/mailboxes/${user.box('Sent Mail')}/messages/1`
  const { attachments } = (await (await service.raw('GET', place)).json()) as {
    attachments: { id: string; filename: string }[]
  }
  const read = async ({ id, filename }: { id: string; filename: string }) => [
    filename,
    await (await service.raw('GET', `${place}/attachments/${id}`)).text(),
  ]
  return Promise.all(attachments.map(read))
}

/** Nothing of uploads is answered. */
async function hang(page: Page): Promise<void> {
  await page.route(storage, () => {})
}

test('files that are on their way when the page is loaded anew go on, in their order and once', async () => {
  const user = await account(service, 'reloader')
  const page = await pages.visit('/app/mail', { as: 'reloader' })
  pages.expectErrors('ERR_', 'Failed to load')
  await write(page, 'With three')
  await choose(page, 'first.txt')
  await writer(page).getByRole('button', { name: 'Remove first.txt' }).waitFor()
  await hang(page)
  await choose(page, 'second.txt', 'third.txt')
  await expect.poll(() => filesKept(page)).toEqual(['second.txt', 'third.txt'])
  await page.reload()
  await expect.poll(() => writer(page).getByRole('progressbar').count()).toBe(2)
  expect(await field(page, 'Subject').inputValue()).toBe('With three')
  await page.unroute(storage)
  await page.reload()
  await writer(page).getByRole('button', { name: 'Remove third.txt' }).waitFor()
  await expect.poll(() => filesKept(page)).toEqual([])
  await expect.poll(() => writer(page).getByRole('progressbar').count()).toBe(0)
  expect(await sent(page, user)).toEqual(['first', 'second', 'third'].map(n => [`${n}.txt`, `text of ${n}.txt`]))
})

test('a page that is opened without a network has the files still, and brings them when there is one', async () => {
  const user = await account(service, 'commuter')
  const page = await pages.visit('/app/mail', { as: 'commuter' })
  pages.expectErrors('ERR_', 'Failed to load', 'net::')
  await page.getByText('Nothing here').waitFor()
  await isKept(page, 'list ')
  await setOffline(page.context(), true)
  await page.getByRole('button', { name: 'New message' }).click()
  // Nothing but the file: it is a letter, too.
  await choose(page, 'ticket.txt')
  await expect.poll(() => filesKept(page)).toEqual(['ticket.txt'])
  await page.reload()
  await writer(page).getByText('Uploading ticket.txt').waitFor()
  await field(page, 'To').fill('friend@example.net')
  await setOffline(page.context(), false)
  await writer(page).getByRole('button', { name: 'Remove ticket.txt' }).waitFor()
  await expect.poll(() => writer(page).getByRole('progressbar').count()).toBe(0)
  expect(await sent(page, user)).toEqual([['ticket.txt', 'text of ticket.txt']])
  expect(await filesKept(page)).toEqual([])
})

test('a session that ends while a file is on its way is signed in again, and the file goes on', async () => {
  const user = await account(service, 'expired')
  const page = await pages.visit('/app/mail', { as: 'expired' })
  pages.expectErrors('status of 403', 'MIME type', 'ERR_')
  await write(page, 'Kept on')
  await writer(page).getByText('Draft saved').waitFor()
  let ended = false
  await page.route(storage, async route => {
    if (!ended) await user.call('DELETE', '/sessions')
    ended = true
    await route.continue()
  })
  await choose(page, 'long.txt')
  await page.getByText('Your session has ended. Sign in to go on').waitFor()
  await look(page)
  await page.getByLabel('Address or username').fill('expired')
  await page.getByLabel('Password').fill('secret of expired')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await writer(page).getByRole('button', { name: 'Remove long.txt' }).waitFor()
  await expect.poll(() => writer(page).getByRole('progressbar').count()).toBe(0)
  expect(await sent(page, user)).toEqual([['long.txt', 'text of long.txt']])
})

test('what is taken out of a letter, a letter that is discarded and signing out leave no file here', async () => {
  await account(service, 'tidy')
  const page = await pages.visit('/app/mail', { as: 'tidy' })
  pages.expectErrors('ERR_', 'Failed to load')
  await hang(page)
  await write(page, 'Private')
  await choose(page, 'one.txt', 'two.txt')
  await expect.poll(() => filesKept(page)).toEqual(['one.txt', 'two.txt'])
  await writer(page).getByRole('button', { name: 'Remove one.txt' }).click()
  await expect.poll(() => filesKept(page)).toEqual(['two.txt'])
  await writer(page).getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('dialog', { name: 'Discard this draft?' }).getByRole('button', { name: 'Discard' }).click()
  await expect.poll(() => filesKept(page)).toEqual([])
  await write(page, 'Private, too')
  await choose(page, 'three.txt')
  await expect.poll(() => filesKept(page)).toEqual(['three.txt'])
  await writer(page).getByText('Draft saved').waitFor()
  const leave = async () => {
    await page.getByRole('button', { name: /^You: / }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    return page.getByRole('dialog', { name: 'Sign out, and lose what is not saved?' })
  }
  await (await leave()).getByRole('button', { name: 'Cancel' }).click()
  expect(await filesKept(page)).toEqual(['three.txt'])
  await writer(page).getByText('Uploading three.txt').waitFor()
  await (await leave()).getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to your mail' }).waitFor()
  await expect.poll(() => filesKept(page)).toEqual([])
})

test('where there is no room for a file that is said, and the browser asks before the page is left', async () => {
  await account(service, 'heavy')
  const page = await pages.visit('/app/mail', { as: 'heavy' })
  pages.expectErrors('ERR_', 'Failed to load')
  await write(page, 'Two large ones')
  await setOffline(page.context(), true)
  // Made in the page, since it is too much to hand over.
  await page.evaluate(`{
    const files = new DataTransfer()
    for (const name of ['film.bin', 'other.bin']) files.items.add(new File([new Uint8Array(60 * 2 ** 20)], name))
    const at = document.querySelector('.mail-writer')
    at.dispatchEvent(new DragEvent('dragover', { dataTransfer: files, bubbles: true, cancelable: true }))
    at.dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true }))
  }`)
  await writer(page).getByText('There is no room for it in this browser.').waitFor()
  expect(await filesKept(page)).toEqual(['film.bin'])
  await look(page)
  await shoot(page, 'no-room')
  const asked = () => page.evaluate<boolean>(`!dispatchEvent(new Event('beforeunload', { cancelable: true }))`)
  expect(await asked()).toBe(true)
  await writer(page).getByRole('button', { name: 'Remove other.bin' }).click()
  await expect.poll(asked).toBe(false)
})
