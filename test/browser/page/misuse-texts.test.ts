// Far too much text in every field, and lines of the log that were made to look like something else.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { usePage } from './page.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-misuse-'))
const pages = usePage({ log: { level: 'info', file: join(folder, 'log') } })
const { service } = pages
const { call } = service

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const many = 'ä'.repeat(10_000)

/** Puts it into every field of a form, sends it, and waits until it was answered: saved, or said in words what is wrong. */
async function fillAll(page: Page, submit: string): Promise<void> {
  const fields = page.locator(
    'main form :is(textarea, input:not([type=checkbox], [type=radio], [type=file], [type=date], [type=search], [readonly]))',
  )
  for (const field of await fields.all()) {
    const isNumber = (await field.getAttribute('type')) === 'number'
    if (!(await field.isVisible()) || !(await field.isEnabled())) continue
    await field.fill(isNumber ? '9'.repeat(300) : many)
  }
  for (const button of await page.locator('main').getByRole('button', { name: submit, exact: true }).all()) {
    await button.click()
    await page.locator('.notice:visible, .error:visible, [role=alert]:not(:empty):visible').first().waitFor()
  }
  await fits(page)
}

async function fits(page: Page): Promise<void> {
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 800 })
    const over = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    expect(over, `${page.url()} at ${width}`).toBeLessThanOrEqual(0)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  expect(await page.locator('main').textContent()).not.toMatch(/\[object|undefined|NaN/)
}

test('ten thousand letters in each field of an account are taken or refused in words', async () => {
  await service.user('wordy')
  pages.expectErrors('status of')
  const page = await pages.visit('/app/account', { as: 'wordy' })
  for (const [path, submit] of [
    ['', 'Save'],
    ['/password', 'Change password'],
    ['/autoreply', 'Save'],
    ['/forwarding', 'Save'],
    ['/encryption', 'Use this key'],
    ['/data', 'Begin'],
  ] as const) {
    await page.goto(`${pages.origin}/app/account${path}`)
    await page.locator('main form').first().waitFor()
    await fillAll(page, submit)
  }
  expect((await call('GET', '/users?query=wordy')).body.total).toBe(1)
})

test('ten thousand letters in each field of the service are taken or refused in words', async () => {
  const id = await service.user('filled')
  pages.expectErrors('status of')
  const page = await pages.visit('/app/service/users', { token: service.teal.rootToken })
  for (const path of [`/users/${id}`, '/domains/example.com', '/trace']) {
    await page.goto(`${pages.origin}/app/service${path}`)
    await page.locator('main form').first().waitFor()
    await fillAll(page, path === '/trace' ? 'Trace' : 'Save')
  }
  for (const [path, open] of [
    ['users', 'Add a user'],
    ['domains', 'Add a domain'],
    ['addresses', 'Add a forwarding address'],
    ['webhooks', 'Add a webhook'],
    ['certificates', 'Add a certificate'],
    ['tokens', 'Make a token'],
  ] as const) {
    await page.goto(`${pages.origin}/app/service/${path}`)
    await page.getByRole('button', { name: open }).click()
    const dialog = page.getByRole('dialog')
    for (const field of await dialog.locator('textarea, input:not([type=checkbox], [type=radio], [readonly])').all())
      await field.fill((await field.getAttribute('type')) === 'number' ? '9'.repeat(300) : many)
    await dialog.locator('button[type=submit]').click()
    await page.locator('.notice:visible, dialog .error:visible, output:visible').first().waitFor()
    await fits(page)
  }
  expect((await call('GET', `/users/${id}`)).body.limits.quota.allowed).toBeGreaterThan(0)
})

test('lines of the log with control characters and markup are text, and whole', async () => {
  const page = await pages.visit('/app/service/log', { token: service.teal.rootToken })
  const nasty = '\u001b[31mred\u001b[0m <b>bold</b> \u202egnp.exe \u0000\r\nnext'
  service.teal.core.log.warn({ from: nasty, [`<i>${'k'.repeat(300)}`]: 'x'.repeat(3000) }, `control ${nasty}`)
  await page.getByRole('searchbox').fill('control')
  const row = page.getByRole('row').filter({ hasText: '<b>bold</b>' })
  await row.waitFor()
  expect(await row.locator('b, i').count()).toBe(0)
  const shown = (await row.textContent()) ?? ''
  expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/)
  await fits(page)
})
