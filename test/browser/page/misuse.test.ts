// What people do that was not meant: a file that is no mail, one that is broken, and one that is stopped on its way.
//
// Nothing of it is stored that is no mail, and each is said in words.

import { expect, test } from 'vitest'
import { account } from '../../http/api/mail-world.ts'
import { look, usePage } from './page.ts'

const pages = usePage()
const { service } = pages

const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)

test('a file that is no mail is not brought in, and one that is broken as far as it goes', async () => {
  const user = await account(service, 'bringer')
  const page = await pages.visit('/app/account/data', { as: 'bringer' })
  const choose = (name: string, buffer: Buffer, mimeType = 'application/octet-stream') =>
    page.getByLabel('Files', { exact: true }).setInputFiles({ name, mimeType, buffer })
  const said = async (text: string) => {
    const notice = page.locator('.notice', { hasText: text })
    await notice.waitFor()
    await notice.getByRole('button', { name: 'Close' }).click()
    await notice.waitFor({ state: 'detached' })
  }
  await choose('holiday.png', picture, 'image/png')
  await said('This is no mail')
  await choose('empty.mbox', Buffer.alloc(0))
  await said('This file is empty.')
  await choose('table.csv', Buffer.from('one,two\n1,2\n'))
  await said('This is no mail')
  const total = async () => (await user.call('GET', `/mailboxes/${user.box('INBOX')}`)).body.total
  expect(await total()).toBe(0)

  // An envelope without a message, one that is cut off, bytes that are no text.
  const broken = Buffer.concat([
    Buffer.from('From a@b Mon Nov 23 10:00:00 2026\n\nFrom a@b Mon Nov 23 10:00:00 2026\nSubject: One\n\nx\n\n'),
    Buffer.from('From a@b Mon Nov 23 10:00:00 2026\nSubject: Two\nContent-Type: multipart/mixed; boundary="x\n\n--x\n'),
    Buffer.from([0xff, 0xfe, 0x00, 0x01]),
  ])
  await choose(`${'x'.repeat(200)}.mbox`, broken, 'application/mbox')
  await said('brought in')
  expect(await total()).toBeGreaterThanOrEqual(2)
  await page
    .getByRole('row')
    .filter({ hasText: 'Inbox' })
    .getByText(String(await total()))
    .waitFor()
  await choose('one.eml', Buffer.from('Subject: Three\n\nx\n'), 'message/rfc822')
  await said('1 brought in')

  // Somebody stops it while it is on its way.
  const held = Promise.withResolvers<void>()
  await page.route('**/import/file*', async route => {
    await held.promise
    await route.continue().catch(() => {})
  })
  await choose('slow.eml', Buffer.from('Subject: Four\n\nx\n'), 'message/rfc822')
  await page.getByText('Bringing it in').or(page.getByText('It is here')).waitFor()
  await look(page)
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
  pages.expectErrors('net::ERR')
  held.resolve()
  expect(await page.getByLabel('Files', { exact: true }).isEnabled()).toBe(true)
})
