// What each role sees: its pages and no others, nothing on them that it may not ask for, and a word where there is nothing.
//
// A call that is refused stands in the console as an error, which fails the test: what is shown asks only for what the role may have.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { type Role, roles } from '#http/guard/access.ts'
import { account, mail } from '../../http/api/mail-world.ts'
import { look, settled, usePage } from './page.ts'

const pages = usePage({ outbound: { relay: 'smtp://127.0.0.1:1' }, network: { allowPrivate: ['127.0.0.0/8'] } })
const { service } = pages
const { call } = service

/** Pages of the service that each role finds; of the others there is none. */
const found: Readonly<Partial<Record<Role, readonly string[]>>> = {
  root: [
    ...['', '/users', '/domains', '/addresses', '/queue', '/trace', '/log', '/certificates', '/webhooks', '/tokens'],
    ...['/settings', '/backups'],
  ],
  manager: ['', '/users', '/domains', '/addresses', '/queue', '/trace', '/certificates', '/webhooks', '/tokens'],
  settings: ['', '/queue', '/trace', '/settings'],
  audit: ['/audits'],
  auditclient: ['/audits'],
}

/** Roles that belong to an account. */
const ofAccounts: ReadonlySet<Role> = new Set(['user', 'impersonated', 'domain'])

const base = '/app/service'

/** Goes to a page of the service, on which nothing fails. */
async function well(page: Page, path: string): Promise<void> {
  await settled(page, path)
  expect(await page.locator('main [role=alert]:not(:empty)').count(), path).toBe(0)
}

async function menuOf(page: Page): Promise<string[]> {
  const links = await page.locator('nav.side a').evaluateAll(all => all.map(one => one.getAttribute('href') ?? ''))
  return links.map(link => link.replace(base, ''))
}

test('each role finds its pages, which ask for nothing that it may not have', async () => {
  const user = await account(service, 'shown')
  await call('POST', '/domains', { name: 'kept.example' })
  await call('POST', `/users/${user.id}/submit`, { to: [{ address: 'a@far.example' }], subject: 'x', text: 'x' })
  const { body: hook } = await call('POST', '/webhooks', { type: ['*'], url: 'http://127.0.0.1:1/' })
  const details = [`/users/${user.id}`, '/domains/kept.example', `/webhooks/${hook.id}`]
  for (const role of roles.filter(one => !ofAccounts.has(one))) {
    const { token } = await service.teal.core.access.provision(`of ${role}`, role)
    const page = await pages.visit(found[role] === undefined ? '/app' : base, { token })
    const wanted = found[role] ?? []
    if (wanted.length === 0) {
      await page.getByRole('heading', { level: 1, name: 'Nothing to see here' }).waitFor()
      expect(await page.getByRole('navigation').count()).toBe(0)
      await page.context().close()
      continue
    }
    await page.locator('nav.side a').first().waitFor()
    expect((await menuOf(page)).toSorted(), role).toEqual(wanted.toSorted())
    for (const path of wanted) await well(page, base + path)
    for (const path of details.filter(one => wanted.includes(one.slice(0, one.lastIndexOf('/'))) && role !== 'audit'))
      await well(page, base + path)
    await page.context().close()
  }
})

test('who has nothing to see here is told so, in each language', async () => {
  const { token } = await service.teal.core.access.provision('program', 'downloader')
  for (const locale of ['en', 'de', 'ar']) {
    const page = await pages.visit('/app', { token, locale })
    await page.getByRole('heading', { level: 1 }).waitFor()
    await look(page)
  }
})

test('a page that a role may not see says so, and changes nothing', async () => {
  pages.expectErrors('status of 403')
  const { token } = await service.teal.core.access.provision('asking', 'manager')
  const page = await pages.visit(`${base}/settings`, { token })
  await page.getByRole('alert').getByText('You may not do this.').waitFor()
  await look(page)
})

test('whoever looks after a domain finds it, its users and their addresses, and is refused nothing that is offered', async () => {
  const keeper = await service.user('keeper', { address: 'keeper@kept2.example' })
  const kept = await account(service, 'kept', { address: 'kept@kept2.example' })
  await kept.put('INBOX', mail('x', 'x'))
  await call('POST', '/domains', { name: 'kept2.example', admins: [keeper] })
  const page = await pages.visit(base, { as: 'keeper' })
  await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
  expect(await menuOf(page)).toEqual(['/users', '/domains', '/addresses'])
  for (const path of ['/users', '/domains', '/addresses', '/domains/kept2.example', `/users/${kept.id}`])
    await well(page, base + path)
  for (const absent of ['Act as this user', 'Temporary password', 'End all sessions'])
    expect(await page.getByRole('button', { name: absent }).count(), absent).toBe(0)
  await page.getByLabel('Recipients a day').fill('50')
  await page.locator('.card', { hasText: 'Recipients a day' }).getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  await page.getByRole('button', { name: 'Suspend' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
  await page.getByRole('button', { name: 'Lift the suspension' }).waitFor()
  await look(page)
  expect((await call('GET', `/users/${kept.id}`)).body).toMatchObject({ suspended: true })
})
