// Looking after one domain in a real browser: who looks after it, its limits, its catch-all, its keys and what DNS has of them.

import { generateKeyPairSync } from 'node:crypto'
import type { Locator, Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { startNameServer } from '../../net/name-server.ts'
import { look, shoot, usePage } from './page.ts'

const names = await startNameServer()
const pages = usePage({
  hostname: 'mail.example.com',
  network: { dnsServers: names.address, allowPrivate: ['127.0.0.0/8'] },
})
const { service } = pages
const { call } = service

afterAll(() => names.close())

async function open(domain: string): Promise<Page> {
  const page = await pages.visit(`/app/service/domains/${domain}`, { token: service.teal.rootToken })
  await page.getByRole('heading', { name: domain, level: 1 }).waitFor()
  return page
}

const cardOf = (page: Page, heading: string): Locator =>
  page.locator('.card').filter({ has: page.getByRole('heading', { name: heading, exact: true }) })

test('those who look after a domain are found by typing, named, and let go', async () => {
  await service.user('minder', { name: 'Mina Minder', address: 'minder@kept.example' })
  const page = await open('kept.example')
  const card = cardOf(page, 'Looked after by')
  await card.getByText('Nobody but those').waitFor()
  await card.getByRole('button', { name: 'Add' }).click()
  await card.getByText('Pick an account').waitFor()
  await card.getByRole('combobox').fill('Mina')
  await card.getByRole('option').filter({ hasText: 'minder' }).waitFor()
  await look(page)
  await page.keyboard.press('Enter')
  expect(await card.getByRole('combobox').inputValue()).toBe('minder')
  await card.getByRole('button', { name: 'Add' }).click()
  await card.getByRole('link', { name: 'minder' }).waitFor()
  const named = async () => (await call('GET', '/domains/kept.example')).body.admins.length
  expect(await named()).toBe(1)
  await card.getByRole('button', { name: 'Remove minder' }).click()
  await card.getByText('Nobody but those').waitFor()
  expect(await named()).toBe(0)
})

test('limits, what users get, catch-all and aliases of a domain are set; it is closed, opened and forgotten', async () => {
  await service.user('catcher', { address: 'catcher@held.example' })
  await call('POST', '/domains', { name: 'held.example' })
  const page = await open('held.example')
  const limits = cardOf(page, 'Limits')
  await limits.getByLabel('Users at most').fill('')
  await limits.getByRole('button', { name: 'Save' }).click()
  await limits.getByText('Give a whole number').waitFor()
  await limits.getByLabel('Users at most').fill('7')
  await limits.getByLabel('Tags').fill('paid, north')
  await limits.getByLabel('Storage of all users').fill('2048')
  await limits.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').first().waitFor()
  const defaults = cardOf(page, 'What its users get')
  await defaults.getByLabel('Recipients a day').fill('55')
  await defaults.getByLabel('Storage in megabytes').fill('512')
  await defaults.getByLabel('Megabytes read over IMAP a day').fill('100')
  await defaults.getByRole('button', { name: 'Save' }).click()
  const domain = async () => (await call('GET', '/domains/held.example')).body
  await expect.poll(async () => (await domain()).defaultQuota).toBe(512 * 1024 ** 2)
  expect(await domain()).toMatchObject({
    ...{ maxUsers: 7, tags: ['paid', 'north'], quota: 2048 * 1024 ** 2 },
    defaultLimits: { recipients: 55, imapMaxDownload: 100 * 1024 ** 2 },
  })

  const all = cardOf(page, 'Catch-all')
  await all.getByLabel('Goes to').selectOption('user')
  await all.getByRole('combobox', { name: 'User' }).fill('catcher')
  await all.getByRole('option', { name: /catcher/ }).click()
  await all.getByRole('button', { name: 'Save' }).click()
  await expect.poll(async () => (await domain()).catchAll.user).toMatch(/^[0-9a-f]{24}$/)
  await all.getByLabel('Goes to').selectOption('targets')
  await all.getByLabel('Forward to').fill('a@example.org\nb@example.org')
  await all.getByRole('button', { name: 'Save' }).click()
  await expect.poll(async () => (await domain()).catchAll.targets).toEqual(['a@example.org', 'b@example.org'])
  await all.getByLabel('Goes to').selectOption('nobody')
  await all.getByRole('button', { name: 'Save' }).click()
  await expect.poll(async () => (await domain()).catchAll).toBe(false)

  const aliases = cardOf(page, 'Aliases')
  await aliases.getByLabel('Other domain').fill('also.example')
  await aliases.getByRole('button', { name: 'Add' }).click()
  await aliases.getByRole('button', { name: 'Remove also.example' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await aliases.getByText('none').waitFor()
  await look(page)
  await shoot(page, 'admin-domain-limits')

  await page.getByRole('button', { name: 'Close the domain' }).click()
  await page.getByRole('dialog').getByLabel('Why').fill('not paid')
  await page.getByRole('dialog').getByRole('button', { name: 'Close the domain' }).click()
  await page.getByText('not paid').waitFor()
  expect(await domain()).toMatchObject({ disabled: true, disabledReason: 'not paid' })
  await page.getByRole('button', { name: 'Open the domain' }).click()
  await page.getByRole('button', { name: 'Close the domain' }).waitFor()
  pages.expectErrors('status of')
  await page.getByRole('button', { name: 'Forget the domain' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Forget the domain' }).click()
  await page.locator('.notice.failed').waitFor()
  expect((await domain()).success).toBe(true)
})

test('keys are made, a key is put in by hand, moved to another selector and removed, each with its record and what DNS has', async () => {
  await service.user('signer', { address: 'signer@signed.example' })
  const page = await open('signed.example')
  const own = cardOf(page, 'DKIM keys')
  await own.getByRole('button', { name: 'Make new keys' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Make new keys' }).click()
  await own.getByText('waits for DNS').first().waitFor()
  const { results } = (await call('GET', '/domainkeys?domain=signed.example')).body
  expect(results).toHaveLength(2)
  const german = await pages.visit('/app/service/domains/signed.example', {
    token: service.teal.rootToken,
    locale: 'de',
  })
  await german
    .getByText(/^Das DNS (wurde noch nicht gefragt|zeigt ihn nicht|hat nicht geantwortet)\.$/)
    .first()
    .waitFor()
  await look(german)
  for (const { dnsTxt } of results) {
    await own.getByText(dnsTxt.name).waitFor()
    await own.getByText(dnsTxt.value).waitFor()
    names.texts.set(dnsTxt.name, [dnsTxt.value])
  }
  await own.getByRole('button', { name: 'Ask DNS for the keys' }).click()
  await own.getByText('in use').nth(1).waitFor()
  await look(page)
  await shoot(page, 'admin-domain-keys')

  const hand = cardOf(page, 'Key put in by hand')
  await hand.getByRole('button', { name: 'Put in a key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Selector').fill('old2019')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('Paste the key here').waitFor()
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  names.texts.set('old2019._domainkey.signed.example', ['v=DKIM1; p=AAAA'])
  await dialog.getByLabel('Private key').fill(String(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  await look(page)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await hand.getByText('old2019', { exact: true }).waitFor()
  expect(await page.content()).not.toContain('PRIVATE KEY')
  const [key] = (await call('GET', '/dkim?query=signed.example')).body.results
  const { dnsTxt } = (await call('GET', `/dkim/${key.id}`)).body
  await hand.getByText(dnsTxt.value).waitFor()
  await hand.getByRole('button', { name: 'Change the selector' }).click()
  await dialog.getByLabel('Selector').fill('new2026')
  await dialog.getByText('new2026._domainkey.signed.example').first().waitFor()
  await dialog.getByRole('button', { name: 'Change the selector' }).click()
  await hand.getByText('new2026', { exact: true }).waitFor()
  expect((await call('GET', `/dkim/${key.id}`)).body).toMatchObject({
    selector: 'new2026',
    fingerprint: key.fingerprint,
  })
  await hand.getByRole('button', { name: 'Remove the key' }).click()
  await dialog.getByRole('button', { name: 'Remove the key' }).click()
  await hand.getByText('none', { exact: true }).waitFor()
  expect((await call('GET', '/dkim?query=signed.example')).body.total).toBe(0)
})
