// The service itself as an admin looks after it, in a real browser: addresses, certificates, webhooks, tokens, audits, settings, backups.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { advanceClock, now, shiftClock } from '#lib/clock.ts'
import { look, shoot, usePage } from './page.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-admin-'))
const pages = usePage({ backup: { folder: join(folder, 'points') }, network: { allowPrivate: ['127.0.0.0/8'] } })
const { service } = pages
const { call } = service
let posted = 0
let status = 500
const hooks = createServer((_, response) => {
  posted += 1
  response.writeHead(status).end()
}).listen(0, '127.0.0.1')

afterAll(() => {
  shiftClock(0)
  hooks.close()
  rmSync(folder, { recursive: true, force: true })
})

const asRoot = (path: string, more: object = {}) => pages.visit(path, { token: service.teal.rootToken, ...more })

test('an address that only forwards is made, switched off and removed', async () => {
  const page = await asRoot('/app/service/addresses')
  await page.getByRole('button', { name: 'Add a forwarding address' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Address', { exact: true }).fill('info@example.com')
  await dialog.getByLabel(/^Targets/).fill('one@example.org\ntwo@example.org')
  await dialog.getByRole('button', { name: 'Save' }).click()
  const row = page.getByRole('row').filter({ hasText: 'info@example.com' })
  await row.getByText('one@example.org, two@example.org').waitFor()
  await look(page)
  await shoot(page, 'admin-addresses')
  await row.getByRole('button', { name: 'Switch off info@example.com' }).click()
  await row.getByText('switched off').waitFor()
  await row.getByRole('button', { name: 'Remove info@example.com' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await row.waitFor({ state: 'detached' })
  expect((await call('GET', '/addresses')).body.total).toBe(0)
})

test('a token is made with a role, shown once, and ended', async () => {
  const page = await asRoot('/app/service/tokens')
  await page.getByRole('button', { name: 'Make a token' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('What for').fill('nightly')
  await dialog.getByLabel('Role').selectOption('manager')
  await dialog.getByRole('button', { name: 'Make a token' }).click()
  const token = await page.locator('output').textContent()
  await look(page)
  expect((await call('GET', '/users', undefined, token)).status).toBe(200)
  expect((await call('GET', '/settings', undefined, token)).status).toBe(403)
  await page.getByRole('button', { name: 'Close' }).last().click()
  const row = page.getByRole('row').filter({ hasText: 'nightly' })
  expect(await page.content()).not.toContain(token)
  await look(page)
  await shoot(page, 'admin-tokens')
  await row.getByRole('button', { name: /^End/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'End' }).click()
  await row.waitFor({ state: 'detached' })
  expect((await call('GET', '/users', undefined, token)).status).toBe(403)
})

test('a setting is found, changed, and put back', async () => {
  const page = await asRoot('/app/service/settings')
  await page.getByRole('searchbox').fill('max:filters')
  const row = page.getByRole('row').filter({ hasText: 'const:max:filters' })
  await row.getByText('default').waitFor()
  await row.getByRole('button', { name: 'Change const:max:filters' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('In force').fill('12')
  await page.keyboard.press('Enter')
  await row.getByText('changed here').waitFor()
  expect((await call('GET', '/settings/const:max:filters')).body.value).toBe(12)
  await look(page)
  await shoot(page, 'admin-settings')
  await row.getByRole('button', { name: 'Change const:max:filters' }).click()
  await dialog.getByRole('button', { name: 'Back to the default' }).click()
  await row.getByText('default').waitFor()
})

test('a list that is asked for by other words while a change is on its way is shown', async () => {
  const page = await asRoot('/app/service/settings')
  const row = page.getByRole('row').filter({ hasText: 'const:max:filters' })
  await row.getByRole('button', { name: 'Change const:max:filters' }).click()
  const asked = page.waitForResponse(/configuration\?filter=/)
  await page.route(/settings.const/, async route => {
    await asked
    await route.continue()
  })
  await page.getByRole('dialog').getByLabel('In force').fill('13')
  await page.keyboard.press('Enter')
  // The dialog is above it: as if the words had been written just before.
  await page.evaluate(`{
    const input = document.querySelector('input[type=search]')
    input.value = 'max:filters'
    input.dispatchEvent(new Event('input', { bubbles: true }))
  }`)
  await row.getByText('changed here').waitFor()
  await row.getByRole('button', { name: 'Change const:max:filters' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Back to the default' }).click()
  await row.getByText('default').waitFor()
})

test('a webhook is made, and what it did not take is sent again', async () => {
  const page = await asRoot('/app/service/webhooks')
  await page.getByRole('button', { name: 'Add a webhook' }).click()
  const dialog = page.getByRole('dialog')
  const url = `http://127.0.0.1:${(hooks.address() as AddressInfo).port}/hook`
  await dialog.getByLabel('Address').fill(url)
  await dialog.getByLabel('Events').fill('user.created')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: url }).click()
  await page.getByRole('heading', { name: url }).waitFor()
  await service.user('announced')
  await expect.poll(() => posted).toBeGreaterThan(0)
  await page.reload()
  await page.getByRole('row').filter({ hasText: 'user.created' }).waitFor()
  await look(page)
  await shoot(page, 'admin-webhook')
  await page.getByRole('row').filter({ hasText: 'user.created' }).getByText('is retried').waitFor()
  await page.getByRole('button', { name: 'Send all that were given up again' }).click()
  await page.getByText('Sent again: 0').waitFor()
  await page.getByRole('button', { name: 'Go on now' }).click()
  await page.getByText('It goes on').waitFor()
  status = 200
  advanceClock(600_000)
  await page.getByRole('row').filter({ hasText: 'user.created' }).waitFor()
  await expect
    .poll(
      async () => {
        await page.getByLabel('State').selectOption('retrying')
        await page.getByLabel('State').selectOption('')
        return page.getByText('Nothing here yet').count()
      },
      { timeout: 20_000 },
    )
    .toBe(1)
})

test('a delivery that was given up is found, and sent again', async () => {
  status = 500
  const url = `http://127.0.0.1:${(hooks.address() as AddressInfo).port}/dead`
  const { id } = (await call('POST', '/webhooks', { type: ['user.created'], url })).body
  await service.user('given-up')
  await expect
    .poll(
      async () => {
        const [one] = (await call('GET', `/webhooks/${id}/deliveries`)).body.results
        if (one?.state === 'retrying') advanceClock(Math.max(0, Date.parse(one.nextAttempt) - now() + 1000))
        // Failures in a row hold all of it up.
        await call('POST', `/webhooks/${id}/resume`)
        return one?.state
      },
      { timeout: 100_000 },
    )
    .toBe('dead')
  const page = await asRoot(`/app/service/webhooks/${id}`)
  await page.getByLabel('State').selectOption('retrying')
  await page.getByText('Nothing here yet').waitFor()
  await page.getByLabel('State').selectOption('dead')
  const row = page.getByRole('row').filter({ hasText: 'given up' })
  await row.getByText('status 500').waitFor()
  await look(page)
  await shoot(page, 'admin-webhook-dead')
  status = 200
  const before = posted
  await row.getByRole('button', { name: 'Send again: user.created' }).click()
  await page.getByText('Sent again: 1').waitFor()
  await row.waitFor({ state: 'detached' })
  await expect.poll(() => posted).toBeGreaterThan(before)
})

test('a backup is taken on demand; a certificate is added', async () => {
  const page = await asRoot('/app/service/backups')
  await page.getByRole('row').nth(1).waitFor()
  await new Promise(resolve => setTimeout(resolve, 1100))
  await page.getByRole('button', { name: 'Take one now' }).click()
  await page.getByRole('row').nth(2).waitFor()
  await look(page)
  await shoot(page, 'admin-backups')
  await page.goto(`${pages.origin}/app/service/certificates`)
  await page.getByRole('button', { name: 'Add a certificate' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Host name').fill('mx.example.com')
  await look(page)
  await dialog.getByLabel('Have it fetched by ACME').check()
  await dialog.getByRole('button', { name: 'Add a certificate' }).click()
  const row = page.getByRole('row').filter({ hasText: 'mx.example.com' })
  await row.getByText('being fetched').waitFor()
  await look(page)
  await shoot(page, 'admin-certificates')
})

test('who has a token for audits sees audits alone', async () => {
  await service.user('watched')
  const { token } = await service.teal.core.access.provision('office', 'audit')
  const page = await pages.visit('/app/service/audits', { token, locale: 'de' })
  await page.getByRole('heading', { name: 'Prüfungen' }).waitFor()
  await page.getByRole('button', { name: 'Prüfung beginnen' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Prüfung beginnen' }).click()
  await dialog.getByText('Wählen Sie ein Konto').waitFor()
  await dialog.getByRole('combobox', { name: 'Konto' }).fill('watch')
  await dialog.getByRole('option').filter({ hasText: 'watched@example.com' }).waitFor()
  await look(page)
  await page.keyboard.press('Enter')
  await dialog.getByLabel('Bis', { exact: true }).fill('2020-01-31')
  await dialog.getByLabel('Aufbewahrt bis').fill(new Date(now() + 9e8).toISOString().slice(0, 10))
  await dialog.getByLabel('Notizen').fill('Fall 7')
  await dialog.getByRole('button', { name: 'Prüfung beginnen' }).click()
  const row = page.getByRole('row').filter({ hasText: 'Fall 7' })
  await row.getByText('watched').waitFor()
  await row.getByText('31. Januar 2020').waitFor()
  await row.getByText('vollständig').waitFor()
  expect(await page.getByRole('link', { name: 'Benutzer' }).count()).toBe(0)
  await look(page)
  await shoot(page, 'admin-audits')
  const download = page.waitForEvent('download')
  await row.getByRole('link').click()
  expect((await download).suggestedFilename()).toMatch(/mbox/)
})
