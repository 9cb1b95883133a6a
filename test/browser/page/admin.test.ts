// Looking after the service as an admin does, in a real browser: the overview, users, domains, the queue, the log.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { advanceClock, shiftClock } from '#lib/clock.ts'
import { deliver, openLmtp } from '../../dialogue.ts'
import { startNameServer } from '../../net/name-server.ts'
import { look, shoot, usePage } from './page.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-admin-'))
const names = await startNameServer()
const pages = usePage({
  hostname: 'mail.example.com',
  log: { level: 'info', file: join(folder, 'log') },
  network: { dnsServers: names.address, allowPrivate: ['127.0.0.0/8'] },
  // Nobody listens there: what is sent waits.
  outbound: { relay: 'smtp://127.0.0.1:1' },
})
const { service } = pages
const { call } = service

beforeAll(async () => {
  names.records.set('MX example.com', ['10 mail.example.com'])
  names.texts.set('example.com', ['v=spf1 mx -all'])
  names.texts.set('_dmarc.example.com', ['nonsense'])
})
afterAll(async () => {
  shiftClock(0)
  rmSync(folder, { recursive: true, force: true })
  await names.close()
})

/** A window of somebody with the service's root token. */
async function asRoot(path: string, more: { locale?: string } = {}): Promise<Page> {
  return pages.visit(path, { token: service.teal.rootToken, ...more })
}

test('the overview shows the last day and what needs a look', async () => {
  await service.user('figures')
  const lmtp = await openLmtp(service.at('lmtp'))
  for (let n = 0; n < 40; n++) {
    if (n % 3 !== 0)
      await deliver(lmtp, 'a@example.org', ['figures@example.com'], Buffer.from(`Subject: ${n}\r\n\r\nx\r\n`))
    await call('POST', '/authenticate', { username: 'figures', password: n % 5 === 0 ? 'wrong' : 'secret of figures' })
    if (n % 2 === 0) {
      advanceClock(600_000)
      await new Promise(resolve => setTimeout(resolve, 60))
    }
  }
  lmtp.close()
  const page = await asRoot('/app/service')
  await page.getByText('No backups are taken').waitFor()
  const mail = page.locator('figure', { hasText: 'Mail' }).first()
  await mail.getByText('Received').waitFor()
  expect(await mail.locator('canvas').count()).toBe(1)
  await look(page)
  await shoot(page, 'admin-overview')

  const along = mail.getByRole('slider', { name: 'Mail: along the time' })
  await along.hover()
  await along.press('End')
  const said = async () => (await along.getAttribute('aria-valuetext')) ?? ''
  expect(await said()).toMatch(/: Received \d+, Sent 0, Refused 0, Put off 0,? and Failed 0$/)
  const atEnd = await said()
  await along.press('ArrowLeft')
  expect(await said()).not.toBe(atEnd)
  await along.press('Escape')
  expect(await said()).toBe('')
  const box = await along.boundingBox()
  await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + 40)
  await expect.poll(said).not.toBe('')
  await mail.getByText('As a table').click()
  const table = mail.getByRole('table', { name: 'Mail' })
  expect(await table.getByRole('row').count()).toBeLessThanOrEqual(25)
  const counts = await table.locator('tbody td:first-of-type').allTextContents()
  expect(counts.reduce((sum, text) => sum + (Number(text) || 0), 0)).toBe(26)
  await look(page)
  await page.getByLabel('Span').selectOption('week')
  await mail.getByText('Received').waitFor()
})

test('a user is found, made, given limits, suspended and let in again', async () => {
  await service.user('beatrix', { name: 'Beatrix Bell' })
  const page = await asRoot('/app/service')
  await page.getByRole('link', { name: 'Users', exact: true }).click()
  await page.getByRole('heading', { name: 'Users' }).waitFor()
  await page.getByRole('searchbox').fill('beatr')
  await page.getByRole('row').filter({ hasText: 'figures' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'beatrix' }).waitFor()
  await look(page)
  await shoot(page, 'admin-users')

  await page.getByRole('button', { name: 'Add a user' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Username').fill('no such name!')
  await dialog.getByLabel('Password').fill('a good long password')
  pages.expectErrors('status of 400')
  await page.keyboard.press('Enter')
  await dialog.locator('[aria-invalid=true]').waitFor()
  await look(page)
  await dialog.getByLabel('Username').fill('carl')
  await dialog.getByLabel('Main address').fill('carl@example.com')
  await dialog.getByRole('button', { name: 'Add a user' }).click()
  await page.getByRole('heading', { name: 'carl' }).waitFor()

  await page.getByLabel('Storage in megabytes').fill('250')
  await page.getByLabel('Recipients a day').fill('77')
  await page
    .getByRole('region', { name: 'Limits' })
    .or(page.locator('.card', { hasText: 'Recipients a day' }))
    .getByRole('button', { name: 'Save' })
    .click()
  await page.getByText('Saved.').waitFor()
  const [carl] = (await call('GET', '/users?query=carl')).body.results
  const limits = (await call('GET', `/users/${carl.id}`)).body.limits
  expect([limits.quota.allowed, limits.recipients.allowed]).toEqual([250 * 1024 ** 2, 77])

  await page.getByRole('button', { name: 'Suspend' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
  await page.getByRole('button', { name: 'Lift the suspension' }).waitFor()
  expect((await call('GET', `/users/${carl.id}`)).body.suspended).toBe(true)
  await look(page)
  await shoot(page, 'admin-user')
  await page.getByRole('button', { name: 'Lift the suspension' }).click()
  await page.getByRole('button', { name: 'Suspend' }).waitFor()
  await page.getByRole('button', { name: 'Temporary password' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Temporary password' }).click()
  const given = await page.getByRole('dialog').locator('output').textContent()
  const { status } = await call('POST', '/authenticate', { username: 'carl', password: given, scope: 'master' })
  expect(status).toBe(200)
})

test('an admin acts as a user, which stands in the log, and is shut out of what is the user’s alone', async () => {
  const id = await service.user('dora')
  const page = await asRoot(`/app/service/users/${id}`)
  await page.getByRole('button', { name: 'Act as this user' }).click()
  await page.getByRole('dialog').getByLabel('Why').fill('ticket 12')
  await page.getByRole('dialog').getByRole('button', { name: 'Act as this user' }).click()
  await page.waitForURL('**/app/account')
  await page.getByRole('main').getByText('dora@example.com').first().waitFor()
  expect(await page.getByRole('link', { name: 'Service', exact: true }).count()).toBe(0)
  const { results } = (await call('GET', `/users/${id}/authlog?action=impersonate`)).body
  expect(results[0].target).toMatch(/ticket 12/)
  const mark = page.getByRole('region', { name: 'Acting as a user' })
  await mark.getByText('You act as dora@example.com until').waitFor()
  await look(page)
  await shoot(page, 'admin-acting')
  await page.reload()
  await page.goto(`${pages.origin}/app/mail`)
  await page.waitForLoadState('networkidle')
  await mark.getByRole('button', { name: 'Go back' }).click()
  await page.getByRole('heading', { name: 'dora' }).waitFor()
  await page.getByRole('button', { name: 'Act as this user' }).waitFor()
  expect(await mark.count()).toBe(0)
  await page.getByRole('row').filter({ hasText: 'Acting as this user ended: root' }).waitFor()
})

test('a domain is made, and what DNS lacks is seen', async () => {
  const page = await asRoot('/app/service/domains')
  await page.getByRole('row').filter({ hasText: 'example.com' }).getByText('Wrong').waitFor()
  await look(page)
  await shoot(page, 'admin-domains')
  await page.getByRole('link', { name: 'example.com', exact: true }).click()
  const records = page.locator('.card', { hasText: 'DNS records' })
  await records.getByRole('row').filter({ hasText: '_dmarc.example.com' }).getByText('Wrong').waitFor()
  await records.getByRole('row').filter({ hasText: 'example.com MX' }).getByText('Good').waitFor()
  await look(page)
  await shoot(page, 'admin-domain')
  names.texts.set('_dmarc.example.com', ['v=DMARC1; p=none'])
  await new Promise(resolve => setTimeout(resolve, 3100))
  await records.getByRole('button', { name: 'Look at DNS' }).click()
  await records.getByRole('row').filter({ hasText: '_dmarc.example.com' }).getByText('Good').waitFor()
  await page.goto(`${pages.origin}/app/service/domains`)
  await page.getByRole('button', { name: 'Add a domain' }).click()
  await page.getByRole('dialog').getByLabel('Domain').fill('example.net')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'example.net' }).waitFor()
  expect((await call('GET', '/domains/example.net')).status).toBe(200)
})

test('after a page of a list is turned the keyboard goes on at its first row', async () => {
  for (let number = 10; number < 35; number += 1)
    expect((await call('POST', '/domains', { name: `turned${number}.example` })).body.success).toBe(true)
  const page = await asRoot('/app/service/domains')
  const active = (what: string) => page.evaluate<string | null>(`document.activeElement.${what}`)
  await page.getByRole('button', { name: 'Next page' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('row').filter({ hasText: 'turned34.example' }).waitFor()
  await expect.poll(() => active('ariaLabel')).toBe('Domains')
  await page.keyboard.press('Tab')
  expect(await active('textContent')).toBe(await page.locator('tbody a').first().textContent())
  await page.getByRole('button', { name: 'Previous page' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('row').filter({ hasText: 'turned10.example' }).waitFor()
  await expect.poll(() => active('ariaLabel')).toBe('Domains')
  await look(page)
  // Whoever goes elsewhere meanwhile is left there.
  const held = Promise.withResolvers<void>()
  await page.route(/\/domains\?/, async route => {
    await held.promise
    await route.continue()
  })
  await page.getByRole('button', { name: 'Next page' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('searchbox').focus()
  held.resolve()
  await page.getByRole('row').filter({ hasText: 'turned34.example' }).waitFor()
  expect(await active('type')).toBe('search')
  await page.unroute(/\/domains\?/)
})

test('what waits in the queue is tried, held, removed and traced', async () => {
  const id = await service.user('sender')
  for (const to of ['one@far.example', 'two@away.example']) {
    await call('POST', `/users/${id}/submit`, { to: [{ address: to }], subject: `For ${to}`, text: 'hello' })
  }
  const page = await asRoot('/app/service/queue')
  await page.getByRole('row').filter({ hasText: 'sender@example.com' }).first().waitFor()
  await look(page)
  await shoot(page, 'admin-queue')
  const rows = page.getByRole('row').filter({ hasText: 'sender@example.com' })
  const first = rows.first()
  await first.getByRole('button', { name: /^Hold/ }).click()
  await page.getByText('It is held until it is retried').waitFor()
  await first.getByRole('button', { name: /^Try now/ }).click()
  await page.getByText('It is tried now').waitFor()
  await first.getByRole('link').click()
  await page.getByText('How it went on').first().waitFor()
  await look(page)
  await shoot(page, 'admin-trace')
  await page.getByRole('link', { name: 'Queue', exact: true }).first().click()
  await rows
    .first()
    .getByRole('button', { name: /^Remove/ })
    .click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('1 in all').waitFor()
  expect((await call('GET', '/outbound/messages')).body.total).toBe(1)
})

test('the log is searched and followed', async () => {
  const page = await asRoot('/app/service/log')
  service.teal.core.log.warn({ about: 'a test' }, 'something to be found')
  await page.getByRole('searchbox').fill('to be found')
  await page.getByRole('row').filter({ hasText: 'something to be found' }).waitFor()
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  await page.getByRole('button', { name: 'Follow' }).click()
  await page.getByRole('button', { name: 'Stop following' }).waitFor()
  await expect
    .poll(async () => {
      service.teal.core.log.warn('another to be found <b>bold</b>')
      return page.getByRole('row').filter({ hasText: '<b>bold</b>' }).count()
    })
    .toBeGreaterThan(0)
  await look(page)
  await shoot(page, 'admin-log')
})

test('a role sees what it may do, in another language and from the right', async () => {
  const { token } = await service.teal.core.access.provision('panel', 'manager')
  const page = await pages.visit('/app/service/users', { token, locale: 'ar' })
  await page.getByRole('heading', { name: 'المستخدمون' }).waitFor()
  expect(await page.locator('html').getAttribute('dir')).toBe('rtl')
  const menu = page.getByRole('navigation').filter({ has: page.getByRole('link', { name: 'النطاقات' }) })
  expect(await menu.getByRole('link', { name: 'السجل' }).count()).toBe(0)
  expect(await menu.getByRole('link', { name: 'الإعدادات' }).count()).toBe(0)
  await look(page)
  await page.goto(`${pages.origin}/app/service`)
  await page.locator('canvas').first().waitFor()
  await look(page)
  await shoot(page, 'admin-arabic')
})

test('whoever looks after a domain sees that domain and its users alone', async () => {
  const id = await service.user('keeper', { address: 'keeper@kept.example' })
  await service.user('kept', { address: 'kept@kept.example' })
  await call('POST', '/domains', { name: 'kept.example', admins: [id] })
  const page = await pages.visit('/app/service', { as: 'keeper' })
  await page.getByRole('heading', { name: 'Users' }).waitFor()
  await page.getByRole('link', { name: 'kept', exact: true }).waitFor()
  expect(await page.getByRole('main').getByText('@example.com').count()).toBe(0)
  const menu = page.getByRole('navigation').filter({ has: page.getByRole('link', { name: 'Domains' }) })
  expect(await menu.getByRole('link').allTextContents()).toEqual(['Users', 'Domains', 'Addresses and forwarding'])
  await look(page)
  await menu.getByRole('link', { name: 'Domains' }).click()
  await page.getByRole('link', { name: 'kept.example' }).click()
  await page.getByRole('heading', { name: 'kept.example' }).waitFor()
  expect(await page.getByLabel('Users at most').count()).toBe(0)
  await page.getByRole('main').getByLabel('Description').fill('Looked after')
  await page.getByRole('main').getByRole('button', { name: 'Save' }).first().click()
  await page.getByText('Saved.').waitFor()
  expect((await call('GET', '/domains/kept.example')).body.description).toBe('Looked after')
  await look(page)
})
