// Dialogs and questions while what they do takes long: left with Escape, closed by the answer, answered while something else is asked. The
// keyboard goes on from where they were opened.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { usePage } from './page.ts'

const pages = usePage({ outbound: { relay: 'smtp://127.0.0.1:1' }, network: { allowPrivate: ['127.0.0.0/8'] } })
const { service } = pages
const { call } = service
const token = () => service.teal.rootToken

/** What has the keyboard, by its name. */
const focused = (page: Page) =>
  page.evaluate<string>(`(() => {
    const one = document.activeElement
    return one === document.body ? 'nothing' : one.getAttribute('aria-label') ?? one.textContent.trim()
  })()`)

/** Keeps calls waiting until `go`. */
async function hold(
  page: Page,
  method: string,
  path: RegExp,
): Promise<{ go(): Promise<void>; asked: Promise<unknown> }> {
  const held = Promise.withResolvers<void>()
  const asked = page.waitForRequest(request => request.method() === method && path.test(request.url()))
  await page.route(path, async route => {
    if (route.request().method() === method) await held.promise
    await route.continue().catch(() => {})
  })
  return {
    asked,
    async go() {
      held.resolve()
      await page.unroute(path)
      await page.waitForLoadState('networkidle')
    },
  }
}

test('a dialog whose form is under way is left with Escape, and the keyboard is where it was opened', async () => {
  const page = await pages.visit('/app/service/webhooks', { token: token() })
  const add = page.getByRole('button', { name: 'Add a webhook' })
  const wait = await hold(page, 'POST', /\/webhooks$/)
  await add.press('Enter')
  await page.getByRole('dialog').getByLabel('Address').fill('http://127.0.0.1:1/slow')
  await page.keyboard.press('Enter')
  await wait.asked
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(await focused(page)).toBe('Add a webhook')
  await wait.go()
  // What was under way is done all the same, and shown.
  await page.getByRole('link', { name: 'http://127.0.0.1:1/slow' }).waitFor()
  expect(await focused(page)).toBe('Add a webhook')
})

test('Escape that is pressed twice leaves the dialog and nothing else', async () => {
  const page = await pages.visit('/app/service/webhooks', { token: token() })
  const wait = await hold(page, 'POST', /\/webhooks$/)
  const add = page.getByRole('button', { name: 'Add a webhook' })
  await add.press('Enter')
  await page.getByRole('dialog').getByLabel('Address').fill('http://127.0.0.1:1/twice')
  await page.keyboard.press('Enter')
  await wait.asked
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  expect(await focused(page)).toBe('Add a webhook')
  await wait.go()
  await add.press('Enter')
  await page.getByRole('dialog').getByLabel('Address').waitFor()
})

test('after a question that does something the keyboard is at what asked, or near what is gone', async () => {
  const id = await service.user('asked')
  const page = await pages.visit(`/app/service/users/${id}`, { token: token() })
  const wait = await hold(page, 'PUT', /\/users\/\w+$/)
  await page.getByRole('button', { name: 'Suspend' }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).press('Enter')
  await wait.asked
  expect(await focused(page)).toBe('Suspend')
  await wait.go()
  await page.getByRole('button', { name: 'Lift the suspension' }).waitFor()
  expect(await focused(page)).toBe('Lift the suspension')
  await call('POST', '/addresses/forwarded', { address: 'first@example.com', targets: ['a@example.org'] })
  await call('POST', '/addresses/forwarded', { address: 'second@example.com', targets: ['a@example.org'] })
  await page.goto(`${pages.origin}/app/service/addresses`)
  await page.getByRole('button', { name: 'Remove first@example.com' }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).press('Enter')
  await page.getByRole('row').filter({ hasText: 'first@example.com' }).waitFor({ state: 'detached' })
  // What came in the place of the row that is gone.
  await expect.poll(() => focused(page)).toContain('second@example.com')
  await page.getByRole('button', { name: 'Remove second@example.com' }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).press('Enter')
  await page.getByRole('row').filter({ hasText: 'second@example.com' }).waitFor({ state: 'detached' })
  // It was the last row: the one above it.
  await expect.poll(() => focused(page)).toBe('asked')
})

test('a password that is asked for once more while its answer is under way is left with Escape', async () => {
  pages.expectErrors('status of 403')
  const id = await service.user('fresh')
  const page = await pages.visit('/app/account/factors', { as: 'fresh' })
  await page.route(/\/2fa\/totp\/setup$/, async route => {
    const asks = !(route.request().postData() ?? '').includes('existingPassword')
    if (asks) return route.fulfill({ status: 403, json: { error: 'Say it once more', code: 'FreshLoginRequired' } })
    await held.promise
    await route.continue().catch(() => {})
  })
  const held = Promise.withResolvers<void>()
  await page.getByRole('button', { name: 'Set up' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Is it you?' })
  await dialog.getByLabel('Password').fill('secret of fresh')
  const asked = page.waitForRequest(/\/2fa\/totp\/setup$/)
  await page.keyboard.press('Enter')
  await asked
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await focused(page)).toBe('Set up')
  held.resolve()
  await page.waitForLoadState('networkidle')
  expect(await focused(page)).toBe('Set up')
  expect((await call('GET', `/users/${id}`)).body.enabled2fa).toEqual([])
})
