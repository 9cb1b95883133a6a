// Folders as their owner keeps them, in a real browser: made, renamed, put into each other, emptied, deleted; what the service
// refuses; and a folder that is deleted while somebody looks at it.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { account, mail } from '../../../http/api/mail-world.ts'
import { look, shoot, usePage } from '../page.ts'

const pages = usePage()
const { service } = pages

const line = (page: Page, name: string) => page.locator('.mail-folders li', { hasText: name })

/** Opens what can be changed of a folder. */
async function change(page: Page, name: string) {
  await line(page, name).getByRole('link').hover()
  await page.getByRole('button', { name: `Change folder: ${name}` }).click()
  return page.getByRole('dialog', { name: `Change folder: ${name}` })
}

test('a folder is made in another one, renamed and moved with what is below it', async () => {
  const user = await account(service, 'keeper')
  await user.call('POST', '/mailboxes', { path: 'Work' })
  const page = await pages.visit('/app/mail', { as: 'keeper' })
  pages.expectErrors('400 (Bad Request)')
  await page.getByRole('button', { name: 'New folder' }).click()
  const making = page.getByRole('dialog', { name: 'New folder' })
  await making.getByLabel('Name of the folder').fill('Work')
  await making.getByRole('button', { name: 'Create' }).click()
  await making.getByText('There is such a folder already.').waitFor()
  await making.getByLabel('Name of the folder').fill('Plans')
  await making.getByLabel('Lies in').selectOption('Work')
  await making.getByRole('button', { name: 'Create' }).click()
  await line(page, 'Plans').waitFor()

  const changing = await change(page, 'Work')
  await shoot(page, 'folder')
  await look(page)
  expect(await changing.getByLabel('Lies in').locator('option').allTextContents()).toEqual(['(no other folder)'])
  await changing.getByLabel('Name of the folder').fill('Office')
  await changing.getByLabel('Delete messages after').fill('some')
  await changing.getByRole('button', { name: 'Save' }).click()
  await changing.getByText('A whole number of days').waitFor()
  await changing.getByLabel('Delete messages after').fill('30')
  await changing.getByLabel('Shown in mail programs').uncheck()
  await changing.getByRole('button', { name: 'Save' }).click()
  await line(page, 'Office').waitFor()
  const { body } = await user.call('GET', '/mailboxes')
  const kept = body.results.filter(({ path }: { path: string }) => path.startsWith('Office'))
  kept.sort((a: { path: string }, b: { path: string }) => a.path.length - b.path.length)
  expect(kept).toMatchObject([
    { path: 'Office', subscribed: false, retention: 30 * 86_400_000 },
    { path: 'Office/Plans', subscribed: true },
  ])

  const moving = await change(page, 'Plans')
  await moving.getByLabel('Lies in').selectOption('(no other folder)')
  await moving.getByRole('button', { name: 'Save' }).click()
  await expect
    .poll(async () => (await user.call('GET', '/mailboxes')).body.results.map((one: { path: string }) => one.path))
    .toContain('Plans')
})

test('a folder says what is in it before it goes, with the filters that file into it', async () => {
  const user = await account(service, 'cleaner')
  const { body: made } = await user.call('POST', '/mailboxes', { path: 'Old' })
  await user.call('POST', '/filters', { query: { from: 'x' }, action: { mailbox: made.id } })
  for (const n of [1, 2, 3]) await user.put('Old', mail(`Paper ${n}`, 'x', { unseen: n === 1 }))
  const page = await pages.visit(`/app/mail/${made.id}`, { as: 'cleaner' })
  await page.locator('.mail-row', { hasText: 'Paper 1' }).waitFor()
  await (await change(page, 'Old')).getByRole('button', { name: 'Delete …' }).click()
  const asking = page.getByRole('dialog', { name: 'Delete folder: Old' })
  await asking.getByText('deleted along: 3, unread: 1').waitFor()
  await asking.getByText('Filters that file into it and end with it: 1').waitFor()
  await look(page)
  await asking.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Delete …' }).click()
  await asking.getByRole('button', { name: 'Delete folder' }).click()
  await page.getByText('Old was deleted.').waitFor()
  await page.locator('.mail-folders [aria-current]', { hasText: 'Inbox' }).waitFor()
  const { body } = await user.call('GET', '/mailboxes')
  expect(body.results.map((one: { path: string }) => one.path)).not.toContain('Old')
})

test('junk and trash are emptied at once, after a question; folders of special use stay', async () => {
  const user = await account(service, 'sweeper')
  for (const n of [1, 2]) await user.put('Junk', mail(`Spam ${n}`, 'x'))
  const page = await pages.visit(`/app/mail/${user.box('Junk')}`, { as: 'sweeper' })
  await page.locator('.mail-row', { hasText: 'Spam 2' }).waitFor()
  await shoot(page, 'folders')
  await look(page)
  await page.getByRole('button', { name: 'Empty folder: Junk' }).click()
  const asking = page.getByRole('dialog', { name: 'Empty folder: Junk' })
  await asking.getByText('Messages that are deleted: 2.').waitFor()
  await asking.getByRole('button', { name: 'Delete all messages' }).click()
  await page.getByText('Nothing here').waitFor()
  expect((await user.call('GET', `/mailboxes/${user.box('Junk')}`)).body.total).toBe(0)
  const changing = await change(page, 'Inbox')
  await changing.getByRole('button', { name: 'Save' }).waitFor()
  expect(await changing.getByLabel('Name of the folder').count()).toBe(0)
  expect(await changing.getByRole('button', { name: 'Delete …' }).count()).toBe(0)
})

test('a folder that is deleted elsewhere leads back to the inbox', async () => {
  const user = await account(service, 'elsewhere')
  const { body: made } = await user.call('POST', '/mailboxes', { path: 'Gone' })
  const page = await pages.visit(`/app/mail/${made.id}`, { as: 'elsewhere' })
  await page.locator('.mail-folders [aria-current]', { hasText: 'Gone' }).waitFor()
  await user.call('DELETE', `/mailboxes/${made.id}`)
  await page.locator('.mail-folders [aria-current]', { hasText: 'Inbox' }).waitFor()
  expect(await line(page, 'Gone').count()).toBe(0)
})

test('what lies in a folder stands right below it, whatever others are called', async () => {
  const user = await account(service, 'sorter')
  for (const path of ['Work-old', 'Work/Plans', 'Work 2', 'Work', 'Work/Plans/Late', 'Work/Bills'])
    await user.call('POST', '/mailboxes', { path })
  const page = await pages.visit('/app/mail', { as: 'sorter' })
  await line(page, 'Work 2').waitFor()
  const shown = await page.getByRole('navigation', { name: 'Folders' }).getByRole('link').allTextContents()
  expect(shown.slice(-6)).toEqual(['Work', 'Bills', 'Plans', 'Late', 'Work 2', 'Work-old'])
})
