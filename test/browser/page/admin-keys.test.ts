// Looking after the service with the keyboard alone: no step here uses a pointer, and what has the focus can be seen.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { usePage } from './page.ts'

const pages = usePage({ outbound: { relay: 'smtp://127.0.0.1:1' }, network: { allowPrivate: ['127.0.0.0/8'] } })
const { service } = pages
const { call } = service

const tabsMax = 120

/** What has the focus, by the name that is read out, and whether it can be seen to have it. */
const focused = (page: Page) =>
  page.evaluate<{ name: string; seen: boolean }>(`(() => {
    const one = document.activeElement
    const label = one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent
    const style = getComputedStyle(one)
    return { name: label.trim(), seen: style.outlineStyle !== 'none' || style.boxShadow !== 'none' }
  })()`)

/** Presses Tab until something of that name has the focus. */
async function tabTo(page: Page, name: string | RegExp, key = 'Tab'): Promise<void> {
  const passed: string[] = []
  for (let tabs = 0; tabs < tabsMax; tabs++) {
    await page.keyboard.press(key)
    const now = await focused(page)
    if (typeof name === 'string' ? now.name === name : name.test(now.name)) {
      expect(now.seen, `the focus on ${name}`).toBe(true)
      return
    }
    passed.push(now.name.slice(0, 30))
  }
  throw new Error(`${name} is not reached, only ${passed.join(', ')}`)
}

const enter = (page: Page) => page.keyboard.press('Enter')

test('an admin signs in, finds a user, sets limits and suspends without a pointer', async () => {
  await service.user('keyed', { name: 'Key Ed' })
  const page = await pages.visit('/app')
  await tabTo(page, 'Use an access token')
  await enter(page)
  await tabTo(page, 'Access token')
  await page.keyboard.type(service.teal.rootToken)
  await enter(page)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await tabTo(page, 'Skip to the page', 'Shift+Tab')
  await tabTo(page, 'Users')
  await enter(page)
  await page.getByRole('heading', { name: 'Users' }).waitFor()
  await tabTo(page, 'Add a user')
  await enter(page)
  await page.getByRole('dialog').waitFor()
  expect((await focused(page)).name).toBe('Username')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect((await focused(page)).name).toBe('Add a user')
  await tabTo(page, 'Name, address or username')
  await page.keyboard.type('keyed')
  await page.getByText('1 in all').waitFor()
  await tabTo(page, 'keyed')
  await enter(page)
  await page.getByRole('heading', { name: 'keyed' }).waitFor()
  await tabTo(page, 'Recipients a day')
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.type('66')
  await enter(page)
  await page.getByText('Saved.').waitFor()
  await tabTo(page, 'Suspend', 'Shift+Tab')
  await enter(page)
  await page.getByRole('dialog').waitFor()
  await tabTo(page, 'Suspend')
  await enter(page)
  await page.getByRole('button', { name: 'Lift the suspension' }).waitFor()
  const [found] = (await call('GET', '/users?query=keyed')).body.results
  expect(found.suspended).toBe(true)
  expect((await call('GET', `/users/${found.id}`)).body.limits.recipients.allowed).toBe(66)
})

test('an admin names who looks after a domain, and holds and removes what is queued, without a pointer', async () => {
  const id = await service.user('quick', { address: 'quick@quick.example' })
  await call('POST', `/users/${id}/submit`, { to: [{ address: 'one@far.example' }], subject: 'Far', text: 'hello' })
  const page = await pages.visit('/app/service/domains/quick.example', { token: service.teal.rootToken })
  await page.getByRole('heading', { name: 'quick.example', level: 1 }).waitFor()
  await tabTo(page, 'Let somebody look after it')
  await page.keyboard.type('quic')
  await page.getByRole('option').first().waitFor()
  await page.keyboard.press('ArrowDown')
  await enter(page)
  await tabTo(page, 'Add')
  await enter(page)
  await page.getByRole('button', { name: 'Remove quick' }).waitFor()
  await tabTo(page, 'Queue', 'Shift+Tab')
  await enter(page)
  await page.getByRole('row').nth(1).waitFor()
  await tabTo(page, /^Hold/)
  await enter(page)
  await page.getByText('It is held').waitFor()
  await tabTo(page, /^Remove/)
  await enter(page)
  await page.getByRole('dialog').waitFor()
  await tabTo(page, 'Remove')
  await enter(page)
  await page.getByText('Nothing waits to be sent').waitFor()
  expect((await call('GET', '/outbound/messages')).body.total).toBe(0)
})
