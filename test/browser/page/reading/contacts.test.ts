// Contacts in a real browser: added, found, changed, made one, deleted, brought as a file of ten thousand and taken along; and whom the
// account has written to or heard from.

import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { account } from '../../../http/api/mail-world.ts'
import { look, shoot, usePage } from '../page.ts'

const pages = usePage()
const { service } = pages

const rows = (page: Page) => page.locator('.contact')
const row = (page: Page, name: string) => page.locator('.contact', { hasText: name })

test('contacts are added, changed, made one and deleted', async () => {
  const user = await account(service, 'keeper')
  const page = await pages.visit('/app/contacts', { as: 'keeper' })
  await page.getByText('No contacts yet').waitFor()
  await look(page)
  for (const [name, address, group] of [
    ['Anna Able', 'anna@example.net', 'Friends, Work'],
    ['A. Able', 'able@example.org', 'Work'],
    ['Bert', 'bert@example.net', ''],
  ] as const) {
    await page.getByRole('button', { name: 'New contact' }).click()
    const dialog = page.getByRole('dialog', { name: 'New contact' })
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel('Addresses').fill('nobody')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('This is no address: nobody').waitFor()
    await dialog.getByLabel('Addresses').fill(address)
    await dialog.getByLabel('Groups').fill(group)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row(page, name).waitFor()
  }
  await shoot(page, 'contacts')
  await look(page)
  await page.getByRole('combobox', { name: 'Group' }).selectOption('Work')
  await expect.poll(() => rows(page).count()).toBe(2)
  await page.getByRole('checkbox', { name: 'Select: Anna Able' }).check()
  await page.getByRole('checkbox', { name: 'Select: A. Able' }).check()
  await page.getByRole('button', { name: 'Make one of them' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Make one of them' }).click()
  await expect.poll(() => rows(page).count()).toBe(1)
  const { body } = await user.call('GET', '/contacts')
  expect(body.results).toMatchObject([
    { emails: [{ value: 'able@example.org' }, { value: 'anna@example.net' }], groups: ['Work', 'Friends'] },
    { name: 'Bert' },
  ])
  await page.getByRole('combobox', { name: 'Group' }).selectOption('')
  await row(page, 'Bert').getByRole('button').click()
  await page.getByRole('dialog', { name: 'Bert' }).getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog', { name: 'Delete' }).getByRole('button', { name: 'Delete' }).click()
  await expect.poll(() => rows(page).count()).toBe(1)
})

test('ten thousand are brought as a file, scrolled through, found, and taken along', async () => {
  await account(service, 'popular')
  const page = await pages.visit('/app/contacts', { as: 'popular' })
  const card = (n: number) => {
    const name = `Person ${String(n).padStart(5, '0')}`
    return `BEGIN:VCARD\r\nVERSION:4.0\r\nUID:${n}\r\nFN:${name}\r\nEMAIL:p${n}@example.net\r\nEND:VCARD\r\n`
  }
  const buffer = Buffer.from(Array.from({ length: 10_000 }, (_, n) => card(n)).join(''))
  await page.getByRole('button', { name: 'vCard files' }).click()
  await look(page)
  await page.getByLabel('Bring contacts from a file').setInputFiles({ name: 'all.vcf', mimeType: 'text/vcard', buffer })
  await page.getByText('Contacts added: 10,000, replaced: 0.').waitFor({ timeout: 90_000 })
  await row(page, 'Person 00000').waitFor()
  expect(await rows(page).count()).toBeLessThan(500)
  await rows(page).last().scrollIntoViewIfNeeded()
  await row(page, 'Person 00150').waitFor()
  await page.getByRole('searchbox').fill('Person 09876')
  await expect.poll(() => rows(page).count()).toBe(1)
  await row(page, 'Person 09876').waitFor()
  await page.getByRole('button', { name: 'vCard files' }).click()
  const saved = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download all contacts' }).click()
  const text = readFileSync(await (await saved).path(), 'utf8')
  expect(text.match(/BEGIN:VCARD/g)).toHaveLength(10_000)
})

describe('correspondents', () => {
  test('are found, renamed, kept and hidden', async () => {
    const user = await account(service, 'writer')
    await user.call('POST', '/submit', {
      to: [{ name: 'Carla', address: 'carla@example.net' }],
      subject: 'x',
      text: 'x',
    })
    // What was sent is learned from a moment later.
    const known = async () => (await user.call('GET', '/addressregister?query=carla')).body.results
    await expect.poll(known).toHaveLength(1)
    const page = await pages.visit('/app/contacts/people', { as: 'writer' })
    await page.getByText('carla@example.net').waitFor()
    await look(page)
    await page.getByRole('button', { name: 'Change the name: carla@example.net' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Carla C.')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Carla C.').waitFor()
    await page.getByRole('button', { name: 'Keep as a contact: carla@example.net' }).click()
    await page.getByText('Carla C. is a contact now.').waitFor()
    expect((await user.call('GET', '/contacts')).body.results).toMatchObject([{ name: 'Carla C.' }])
    await page.getByRole('button', { name: 'Hide: carla@example.net' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Hide', exact: true }).click()
    await page.getByText('Nobody yet').waitFor()
  })

  test('an address of a contact begins a letter', async () => {
    const user = await account(service, 'starter')
    await user.call('POST', '/contacts', { name: 'Dora', emails: [{ value: 'dora@example.net' }] })
    const page = await pages.visit('/app/contacts', { as: 'starter' })
    await page.getByRole('link', { name: 'dora@example.net' }).click()
    await page
      .getByRole('dialog')
      .getByText('dora@example.net')
      .or(page.getByRole('combobox', { name: 'To' }))
      .first()
      .waitFor()
    expect(await page.getByRole('combobox', { name: 'To' }).inputValue()).toContain('dora@example.net')
  })
})
