// The page without a network, in a real browser: it comes up with what was seen last, what is written goes when the service answers
// again, and nothing of one account is there for another.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { account, mail } from '../../http/api/mail-world.ts'
import { isKept, keptIn } from './kept.ts'
import { look, setOffline, shoot, usePage } from './page.ts'

const pages = usePage({}, { hasWorker: true })
const { service } = pages

const rows = (page: Page) => page.locator('.mail-row a')
const writer = (page: Page) => page.locator('.mail-writer')
const letter = (page: Page) => page.frameLocator('.mail-html')
const lost = ['ERR_', 'Failed to load', 'net::', 'status of 403', 'MIME type'] as const

/** Makes an account with some mail, opens its list and waits until the browser has kept it. */
async function kept(name: string, subjects: readonly string[]) {
  const user = await account(service, name)
  for (const subject of subjects) await user.put('INBOX', mail(subject, `text of ${subject}`))
  const page = await pages.visit('/app/mail', { as: name })
  await rows(page)
    .nth(subjects.length - 1)
    .waitFor()
  await isKept(page, 'list ')
  pages.expectErrors(...lost)
  return { user, page, context: page.context() }
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^You: / }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
}

async function signIn(page: Page, name: string): Promise<void> {
  await page.getByLabel('Address or username').fill(name)
  await page.getByLabel('Password').fill(`secret of ${name}`)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

const signInPage = (page: Page) => page.getByRole('heading', { name: 'Sign in to your mail' })

test('a page that is opened without a network shows what was seen last, and catches up', async () => {
  const { user, page, context } = await kept('traveller', ['First', 'Second'])
  await rows(page).filter({ hasText: 'Second' }).click()
  await letter(page).getByText('text of Second').waitFor()
  await isKept(page, 'message ')
  await setOffline(context, true)
  await page.reload()
  await letter(page).getByText('text of Second').waitFor()
  await page.locator('.mail-offline').waitFor()
  expect(await rows(page).count()).toBe(2)
  await look(page)
  await shoot(page, 'offline')
  await rows(page).filter({ hasText: 'First' }).click()
  await page.getByText('The service does not answer. Is there a connection?').waitFor()
  await page.getByRole('button', { name: 'New message' }).click()
  await writer(page).getByLabel('To', { exact: true }).fill('friend@example.net')
  await writer(page).getByLabel('Subject').fill('From the train')
  await writer(page).getByLabel('What you write').fill('no network here')
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('It will be sent').waitFor()
  await page.reload()
  await rows(page).first().waitFor()
  await user.put('INBOX', mail('Third', 'came meanwhile'))
  await setOffline(context, false)
  await rows(page).filter({ hasText: 'Third' }).waitFor()
  await page.locator('.mail-offline').waitFor({ state: 'detached' })
  const waiting = async () => (await user.call('GET', '/outbound')).body.total
  await expect.poll(waiting).toBe(1)
  await expect.poll(async () => (await user.call('GET', `/mailboxes/${user.box('Drafts')}`)).body.total).toBe(0)
  await page.reload()
  await rows(page).filter({ hasText: 'Third' }).waitFor()
  expect(await waiting()).toBe(1)
})

test('a letter goes from another window when the one that was to send it is closed', async () => {
  const { user, page, context } = await kept('hasty', ['Any'])
  const other = await context.newPage()
  await other.goto(`${pages.origin}/app/mail`)
  await rows(other).first().waitFor()
  await setOffline(context, true)
  await page.getByRole('button', { name: 'New message' }).click()
  await writer(page).getByLabel('To', { exact: true }).fill('friend@example.net')
  await writer(page).getByLabel('Subject').fill('Closed at once')
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('It will be sent').waitFor()
  await page.close()
  await setOffline(context, false)
  await expect.poll(async () => (await user.call('GET', '/outbound')).body.total).toBe(1)
  await expect.poll(() => other.evaluate('JSON.stringify(localStorage)')).not.toContain('Closed at once')
})

test('a session that was ended elsewhere shows nothing any more once that is known', async () => {
  const { user, page, context } = await kept('ended', ['Private'])
  await setOffline(context, true)
  await user.call('DELETE', '/sessions')
  await page.reload()
  await rows(page).filter({ hasText: 'Private' }).waitFor()
  await setOffline(context, false)
  await signInPage(page).waitFor()
  await expect.poll(() => keptIn(page)).toEqual([])
  await setOffline(context, true)
  await expect(page.goto(`${pages.origin}/app/mail`)).rejects.toThrow('ERR_INTERNET_DISCONNECTED')
})

test('whoever signs out leaves nothing, and the next one sees only their own, with a network and without', async () => {
  const { page, context } = await kept('first', ['Of the first'])
  const second = await account(service, 'second')
  await second.put('INBOX', mail('Of the second', 'x'))
  await signOut(page)
  await signInPage(page).waitFor()
  await expect.poll(() => keptIn(page)).toEqual([])
  await signIn(page, 'second')
  await rows(page).filter({ hasText: 'Of the second' }).waitFor()
  await isKept(page, 'list ')
  await setOffline(context, true)
  await page.reload()
  await rows(page).filter({ hasText: 'Of the second' }).waitFor()
  expect(await page.getByText('Of the first').count()).toBe(0)
  expect((await keptIn(page)).filter(key => / /.test(key) && !key.startsWith(second.id))).toEqual([])
})

test('another session in the same browser takes everything of the one before away', async () => {
  const { page, context } = await kept('replaced', ['Of the replaced'])
  await account(service, 'replacing')
  const headers = { 'x-teal-page': '1', origin: pages.origin }
  const data = { username: 'replacing', password: 'secret of replacing' }
  await context.request.post(`${pages.origin}/session`, { headers, data })
  await page.goto(`${pages.origin}/app/mail`)
  await page.getByText('Nothing here').waitFor()
  await isKept(page, 'list ')
  await setOffline(context, true)
  await page.reload()
  await page.locator('.mail-offline').waitFor()
  expect(await page.getByText('Of the replaced').count()).toBe(0)
})

test('signing out in one window signs out the others', async () => {
  const { page, context } = await kept('twice', ['In both'])
  const other = await context.newPage()
  await other.goto(`${pages.origin}/app/mail`)
  await rows(other).first().waitFor()
  await signOut(other)
  await signInPage(page).waitFor()
  expect(await rows(page).count()).toBe(0)
})

test('signing out without a network removes what is here, and ends the session as soon as it can be', async () => {
  const { user, page, context } = await kept('hurried', ['Secret'])
  await setOffline(context, true)
  await signOut(page)
  await signInPage(page).waitFor()
  await expect.poll(() => keptIn(page)).toEqual([])
  await setOffline(context, false)
  await expect.poll(async () => (await user.call('GET', '/sessions')).body.results.length).toBe(0)
  await page.reload()
  await signInPage(page).waitFor()
})

test('a session that ends with the browser keeps nothing longer, and without an answer that is said', async () => {
  const { page, context } = await kept('visitor', ['Seen once'])
  // As a browser does that is closed.
  await context.clearCookies()
  await setOffline(context, true)
  await page.reload()
  await page.getByRole('heading', { name: 'The service does not answer.' }).waitFor()
  await expect.poll(async () => (await keptIn(page)).filter(key => / /.test(key))).toEqual([])
  await look(page)
  await shoot(page, 'unreached')
  await setOffline(context, false)
  await signInPage(page).waitFor()
})

test('letters that the service has not are asked about before somebody signs out', async () => {
  const { user, page, context } = await kept('forgetful', ['Any'])
  await setOffline(context, true)
  await page.getByRole('button', { name: 'New message' }).click()
  await writer(page).getByLabel('Subject').fill('Only here')
  await writer(page).getByText('kept in this browser').waitFor()
  await signOut(page)
  const asked = page.getByRole('dialog', { name: 'Sign out, and lose what is not saved?' })
  await look(page)
  await asked.getByRole('button', { name: 'Cancel' }).click()
  await writer(page).waitFor()
  await setOffline(context, false)
  await signOut(page)
  await signInPage(page).waitFor()
  const { body } = await user.call('GET', `/mailboxes/${user.box('Drafts')}/messages`)
  expect(body.results).toMatchObject([{ subject: 'Only here' }])
  expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('Only here')
})
