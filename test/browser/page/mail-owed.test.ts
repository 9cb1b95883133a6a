// What is done to messages while the service does not answer, in a real browser: shown at once, kept, done once and in order when it answers
// again; what cannot be done any more is said; and nothing of it is left behind by whoever signs out.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { type Account, account, mail } from '../../http/api/mail-world.ts'
import { isKept } from './kept.ts'
import { look, setOffline, shoot, usePage } from './page.ts'

const pages = usePage({}, { hasWorker: true })
const { service } = pages

const row = (page: Page, subject: string) => page.locator('.mail-row', { hasText: subject })
const rows = (page: Page) => page.locator('.mail-list').getAttribute('data-rows')
const lost = ['ERR_', 'Failed to load', 'net::', 'status of 404', 'MIME type'] as const

const named = async (user: Account, path: string): Promise<{ subject: string; seen: boolean; flagged: boolean }[]> => {
  // What was made meanwhile, too.
  const { results } = (await user.call('GET', '/mailboxes')).body
  const box = results.find((one: { path: string }) => one.path === path)?.id
  if (box === undefined) return []
  const found = (await user.call('GET', `/mailboxes/${box}/messages`)).body.results
  return found.map(({ subject, seen, flagged }: { subject: string; seen: boolean; flagged: boolean }) => ({
    subject,
    seen,
    flagged,
  }))
}

const subjects = async (user: Account, path: string) => (await named(user, path)).map(one => one.subject).sort()

async function opened(name: string, letters: readonly string[], more: Record<string, unknown> = {}) {
  const user = await account(service, name)
  for (const subject of letters) await user.put('INBOX', mail(subject, `text of ${subject}`, more))
  const page = await pages.visit('/app/mail', { as: name })
  await expect.poll(() => rows(page)).toBe(String(letters.length))
  await isKept(page, 'list ')
  pages.expectErrors(...lost)
  return { user, page, context: page.context() }
}

async function act(page: Page, subject: string, button: string): Promise<void> {
  await page.getByRole('checkbox', { name: `Select: ${subject}` }).click()
  await page
    .getByRole('toolbar', { name: /selected/ })
    .getByRole('button', { name: button, exact: true })
    .click()
}

/** What is asked of the service that changes something. */
function changing(page: Page): string[] {
  const asked: string[] = []
  page.on('request', request => {
    if (['PUT', 'DELETE'].includes(request.method()) && request.url().includes('/messages'))
      asked.push(`${request.method()} ${request.postData() ?? ''}`)
  })
  return asked
}

const deeds = (page: Page) =>
  page.evaluate<number>(`Object.keys(localStorage).filter(key => key.startsWith('teal.deed.')).length`)

test('messages are marked, filed and deleted without a network: shown at once, kept, and done once when there is one', async () => {
  const { user, page, context } = await opened('tunnel', ['Old', 'Bill', 'Trip', 'Junk mail', 'News'], { unseen: true })
  const inbox = page.locator('.mail-folders li', { hasText: 'Inbox' })
  await expect.poll(() => inbox.textContent()).toContain('5 unread')
  await setOffline(context, true)
  await act(page, 'Bill', 'Mark as read')
  await expect.poll(() => row(page, 'Bill').getAttribute('class')).not.toContain('unread')
  await row(page, 'Bill').getByRole('button', { name: 'Flag' }).click()
  // The first one that goes there: the folder is not made yet.
  await act(page, 'Bill', 'Archive')
  await page.getByText('this is done when the service answers again').waitFor()
  await act(page, 'Old', 'Delete')
  await act(page, 'Junk mail', 'Junk')
  await row(page, 'News').getByRole('button', { name: 'Flag' }).click()
  await expect.poll(() => rows(page)).toBe('2')
  await expect.poll(() => inbox.textContent()).toContain('2 unread')
  await page.reload()
  await expect.poll(() => rows(page)).toBe('2')
  await row(page, 'News').locator('.star.on').waitFor()
  await row(page, 'Trip').waitFor()
  await expect.poll(() => inbox.textContent()).toContain('2 unread')
  await page.getByText('Changes that wait: 6').waitFor()
  await look(page)
  await shoot(page, 'owed')
  expect(await subjects(user, 'INBOX')).toHaveLength(5)
  const asked = changing(page)
  await setOffline(context, false)
  await expect.poll(() => deeds(page)).toBe(0)
  expect(await named(user, 'Archive')).toEqual([{ subject: 'Bill', seen: true, flagged: true }])
  expect(await subjects(user, 'Trash')).toEqual(['Old'])
  expect(await subjects(user, 'Junk')).toEqual(['Junk mail'])
  expect((await named(user, 'INBOX')).sort((a, b) => (a.subject < b.subject ? -1 : 1))).toEqual([
    { subject: 'News', seen: false, flagged: true },
    { subject: 'Trip', seen: false, flagged: false },
  ])
  expect(asked).toHaveLength(6)
  await expect.poll(() => inbox.textContent()).toContain('2 unread')
  await expect.poll(() => rows(page)).toBe('2')
})

test('all of a list cannot be changed without a network: that is said, what was chosen stays so, and goes when there is one', async () => {
  const { user, page, context } = await opened('whole', ['One', 'Two'])
  await setOffline(context, true)
  await page.getByRole('checkbox', { name: 'Select all' }).click()
  await page.getByRole('toolbar').getByRole('button', { name: 'Junk' }).click()
  await page.getByText('can be changed only while the service answers').waitFor()
  await page.getByText('All 2 selected').waitFor()
  await setOffline(context, false)
  await page.getByRole('toolbar').getByRole('button', { name: 'Junk' }).click()
  await expect.poll(() => subjects(user, 'Junk')).toEqual(['One', 'Two'])
})

test('what was done without a network is taken back before it was done at all, and afterwards', async () => {
  const { user, page, context } = await opened('wavering', ['Stay', 'Go'])
  await setOffline(context, true)
  await act(page, 'Stay', 'Delete')
  await expect.poll(() => rows(page)).toBe('1')
  await page.getByRole('button', { name: 'Undo' }).click()
  await row(page, 'Stay').waitFor()
  expect(await deeds(page)).toBe(0)
  await act(page, 'Go', 'Delete')
  // It stays as long as somebody points at it.
  await page.getByRole('button', { name: 'Undo' }).hover()
  await setOffline(context, false)
  await expect.poll(() => subjects(user, 'Trash')).toEqual(['Go'])
  await expect.poll(() => deeds(page)).toBe(0)
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(() => subjects(user, 'INBOX')).toEqual(['Go', 'Stay'])
  await row(page, 'Go').waitFor()
})

test('what cannot be done any more is said, the rest is done, and the list shows how it is', async () => {
  const { user, page, context } = await opened('late', ['Gone', 'Homeless', 'Fine'])
  const { body: made } = await user.call('POST', '/mailboxes', { path: 'Short-lived' })
  // It may not listen yet to what is new.
  await page.reload()
  await page.getByRole('link', { name: 'Short-lived' }).waitFor()
  await setOffline(context, true)
  await act(page, 'Gone', 'Delete')
  await page.getByRole('checkbox', { name: 'Select: Homeless' }).click()
  await page.getByRole('toolbar').getByRole('combobox', { name: 'Move to…' }).selectOption('Short-lived')
  await act(page, 'Fine', 'Junk')
  await expect.poll(() => rows(page)).toBe('0')
  expect((await user.call('DELETE', `/mailboxes/${user.box('INBOX')}/messages/1`)).body).toMatchObject({
    success: true,
  })
  expect((await user.call('DELETE', `/mailboxes/${made.id}`)).body).toMatchObject({ success: true })
  await setOffline(context, false)
  await page.getByText('could not be done: This message is not there any more.').waitFor()
  await page.getByText('could not be done: This folder is not there any more.').waitFor()
  await row(page, 'Homeless').waitFor()
  await expect.poll(() => rows(page)).toBe('1')
  expect(await subjects(user, 'Junk')).toEqual(['Fine'])
  expect(await deeds(page)).toBe(0)
})

test('what is moved without a network stands where it goes at once, can be read and changed there, and goes on from there', async () => {
  const { user, page, context } = await opened('mover', ['Quick', 'Slow', 'Rest'], { unseen: true })
  await user.put('Junk', mail('Was here', 'before'))
  const folder = (name: string) => page.getByRole('navigation').getByRole('link', { name })
  const open = async (name: string, count: string) => {
    await folder(name).click()
    await page.getByRole('heading', { level: 2, name }).waitFor()
    await expect.poll(() => rows(page)).toBe(count)
  }
  await open('Junk', '1')
  await isKept(page, 'list ')
  await open('Inbox', '3')
  await row(page, 'Quick').getByRole('link').click()
  await page.getByRole('article').getByRole('heading', { name: 'Quick' }).waitFor()
  await isKept(page, 'message ')
  await setOffline(context, true)
  await page.getByRole('checkbox', { name: 'Select: Slow' }).click()
  await act(page, 'Quick', 'Junk')
  await page.getByText('this is done when the service answers again').waitFor()
  await open('Junk', '3')
  await row(page, 'Quick').getByText('Waiting').waitFor()
  await look(page)
  await shoot(page, 'owed-there')
  // Also in a window that was opened since.
  await page.reload()
  await expect.poll(() => rows(page)).toBe('3')
  await row(page, 'Quick').getByRole('link').click()
  await page.getByRole('article').getByRole('heading', { name: 'Quick' }).waitFor()
  await row(page, 'Quick').getByRole('button', { name: 'Flag' }).click()
  await row(page, 'Quick').locator('.star.on').waitFor()
  await act(page, 'Slow', 'Delete')
  await expect.poll(() => rows(page)).toBe('2')
  await open('Trash', '1')
  await row(page, 'Slow').waitFor()
  await setOffline(context, false)
  await expect.poll(() => deeds(page)).toBe(0)
  const junk = (await named(user, 'Junk')).sort((a, b) => (a.subject < b.subject ? -1 : 1))
  expect(junk).toMatchObject([{ subject: 'Quick', seen: true, flagged: true }, { subject: 'Was here' }])
  expect(await named(user, 'Trash')).toEqual([{ subject: 'Slow', seen: false, flagged: false }])
  expect(await subjects(user, 'INBOX')).toEqual(['Rest'])
  expect(await page.locator('.notice.failed').count()).toBe(0)
  await expect.poll(() => rows(page)).toBe('1')
  await expect.poll(() => page.getByText('Waiting').count()).toBe(0)
})

test('a service that is busy for a while gets it later, and the list is asked for again by itself', async () => {
  const user = await account(service, 'patient')
  await user.put('INBOX', mail('Later', 'text'))
  pages.expectErrors(...lost, 'status of 503')
  const page = await pages.visit('/app/account', { as: 'patient' })
  let isBusy = true
  const busy = { status: 503, json: { error: 'The service is busy, try again', code: 'Overloaded' } }
  await page.route('**/messages**', route => (isBusy ? route.fulfill(busy) : route.continue()))
  await page.getByRole('link', { name: 'Mail', exact: true }).click()
  await page.getByRole('alert').getByText('busy').waitFor()
  isBusy = false
  await row(page, 'Later').waitFor()
  isBusy = true
  await act(page, 'Later', 'Delete')
  await page.getByText('this is done when the service answers again').waitFor()
  isBusy = false
  await expect.poll(() => deeds(page), { timeout: 40_000 }).toBe(0)
  expect(await subjects(user, 'Trash')).toEqual(['Later'])
  expect(await page.locator('.notice.failed').count()).toBe(0)
})

test('an answer that is lost on its way is no reason to do it twice, or to say that it failed', async () => {
  const { user, page } = await opened('echo', ['Moved', 'Other'])
  let isLost = false
  await page.route('**/messages', async route => {
    if (route.request().method() !== 'PUT' || isLost) return route.continue()
    isLost = true
    await route.fetch()
    return route.abort()
  })
  await act(page, 'Moved', 'Delete')
  await page.getByText('this is done when the service answers again').waitFor()
  await expect.poll(() => deeds(page), { timeout: 40_000 }).toBe(0)
  expect(await subjects(user, 'Trash')).toEqual(['Moved'])
  expect(await subjects(user, 'INBOX')).toEqual(['Other'])
  expect(await page.locator('.notice.failed').count()).toBe(0)
  await expect.poll(() => rows(page)).toBe('1')
})

test('what waits in one window is shown in the other, which does it, and once', async () => {
  const { user, page, context } = await opened('pair', ['Shared', 'Rest'])
  const broken = '**/users/**'
  // Not the whole context, whose second window has its connection.
  await page.route(broken, route => route.abort())
  await act(page, 'Shared', 'Delete')
  await page.getByText('this is done when the service answers again').waitFor()
  const other = await context.newPage()
  const asked = changing(other)
  await other.goto(`${pages.origin}/app/mail`)
  await expect.poll(() => rows(other)).toBe('1')
  await expect.poll(() => subjects(user, 'Trash')).toEqual(['Shared'])
  expect(await deeds(other)).toBe(0)
  const further = changing(page)
  await page.unroute(broken)
  // The first one tries again, and finds nothing to do.
  await act(page, 'Rest', 'Mark as unread')
  await expect.poll(async () => (await named(user, 'INBOX'))[0]?.seen).toBe(false)
  expect([asked.length, further.length]).toEqual([1, 1])
  expect(await page.locator('.notice.failed').count()).toBe(0)
})

test('whoever signs out is asked about what waits, and leaves nothing of it', async () => {
  const { user, page, context } = await opened('leaver', ['Keep me', 'Me, too'])
  await setOffline(context, true)
  await act(page, 'Keep me', 'Delete')
  await expect.poll(() => rows(page)).toBe('1')
  const leave = async () => {
    await page.getByRole('button', { name: /^You: / }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    return page.getByRole('dialog', { name: 'Sign out, and lose what is not saved?' })
  }
  const asked = await leave()
  await asked.getByText('Changes to messages that the service has not done yet: 1.').waitFor()
  await asked.getByRole('button', { name: 'Cancel' }).click()
  expect(await deeds(page)).toBe(1)
  // Also where mail is not shown.
  await page.goto(`${pages.origin}/app/account`)
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await (await leave()).getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to your mail' }).waitFor()
  expect(await deeds(page)).toBe(0)
  expect(await subjects(user, 'INBOX')).toEqual(['Keep me', 'Me, too'])
})
