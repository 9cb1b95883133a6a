// Filters, autoreply, forwarding, storage, export and import: as the owner of an account sets them.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { account } from '../../http/api/mail-world.ts'
import { look, shoot, usePage } from './page.ts'

const pages = usePage({ network: { allowPrivate: ['127.0.0.0/8', '::1/128'] } })
const { service } = pages

async function store(id: string, subject: string, from: string): Promise<void> {
  const { body } = await service.call('GET', `/users/${id}/mailboxes`)
  const inbox = body.results.find(({ path }: { path: string }) => path === 'INBOX').id
  const raw = `From: ${from}\r\nTo: me@example.com\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@x>\r\n\r\nHello\r\n`
  const init = { method: 'POST', headers: { 'content-type': 'message/rfc822' }, body: raw }
  expect((await service.raw('POST', `/users/${id}/mailboxes/${inbox}/messages`, init)).status).toBe(200)
}

test('a filter is made with a form, tried on what is there, switched off, changed and removed', async () => {
  const id = await service.user('filters')
  await store(id, 'Invoice 1', 'shop@example.org')
  await store(id, 'Hello', 'friend@example.org')
  const page = await pages.visit('/app/account/filters', { as: 'filters' })
  await page.getByText('No filters yet').waitFor()
  await look(page)
  await page.getByRole('button', { name: 'New filter' }).click()
  await page.getByLabel('Name').fill('Shops')
  await page.getByLabel('From', { exact: true }).fill('shop@example.org')
  await page.getByLabel('Folder', { exact: true }).selectOption({ label: 'Trash' })
  await page.getByLabel('Mark as read').check()
  await page.getByRole('button', { name: 'Try on the inbox' }).click()
  await page.getByText('It fits 1 of the last 2 messages').waitFor()
  await page.getByText('Invoice 1').waitFor()
  await look(page)
  await shoot(page, 'filter-form')
  await page.getByLabel('Larger than').fill('many')
  await page.getByRole('button', { name: 'Save filter' }).click()
  await page.getByText('This is no number.').waitFor()
  await page.getByLabel('Larger than').fill('')
  await page.getByRole('button', { name: 'Save filter' }).click()
  await page.getByText('When: From “shop@example.org”').waitFor()
  await page.getByText(/Then: move to “Trash”/).waitFor()
  await look(page)
  await shoot(page, 'filters')
  await page.getByRole('button', { name: 'Turn off' }).click()
  await page.getByRole('button', { name: 'Turn on' }).waitFor()
  await page.getByRole('button', { name: 'Edit: Shops' }).click()
  await page.getByLabel('From', { exact: true }).fill('')
  await page.getByLabel('Subject', { exact: true }).fill('Invoice')
  await page.getByRole('button', { name: 'Save filter' }).click()
  await page.getByText('When: Subject “Invoice”').waitFor()
  const kept = (await service.call('GET', `/users/${id}/filters`)).body.results
  expect(kept).toMatchObject([
    { name: 'Shops', disabled: true, originalQuery: { subject: 'Invoice' }, originalAction: { seen: true } },
  ])
  expect(kept[0].originalQuery.from).toBeUndefined()
  await page.getByRole('button', { name: 'Remove: Shops' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByText('No filters yet').waitFor()
})

test('the autoreply is written with its days', async () => {
  const id = await service.user('away')
  const page = await pages.visit('/app/account/autoreply', { as: 'away' })
  await page.getByLabel('Answer mail').check()
  await page.getByLabel('From').fill('2031-05-10')
  await page.getByLabel('Until').fill('2031-05-01')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Something has to be said.').waitFor()
  await page.getByLabel('Text').fill('I am away.')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('This is before the first day.').waitFor()
  await look(page)
  await page.getByLabel('Until').fill('2031-05-20')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The autoreply is on.').waitFor()
  const { body } = await service.call('GET', `/users/${id}/autoreply`)
  expect(body).toMatchObject({ status: true, text: 'I am away.' })
  expect(Date.parse(body.end) - Date.parse(body.start)).toBe(11 * 86_400_000 - 1000)
  await page.reload()
  await page.getByRole('heading', { name: 'Autoreply' }).waitFor()
  expect(await page.getByLabel('Until').inputValue()).toBe('2031-05-20')
  await shoot(page, 'autoreply')
})

test('mail is sent on to others, whose addresses are checked', async () => {
  const id = await service.user('forwards')
  const page = await pages.visit('/app/account/forwarding', { as: 'forwards' })
  pages.expectErrors('status of 400')
  await page.getByLabel('Send on to').fill('not an address')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').getByText(/./).waitFor()
  await page.getByLabel('Send on to').fill('a@example.net\nb@example.net')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  await look(page)
  expect((await service.call('GET', `/users/${id}`)).body.targets).toEqual(['a@example.net', 'b@example.net'])
})

test('storage is seen by folder, mail comes in from a file and a folder goes along as one', async () => {
  const id = await service.user('data')
  await store(id, 'Kept', 'a@example.org')
  const page = await pages.visit('/app/account/data', { as: 'data' })
  await page.getByRole('rowheader', { name: 'Inbox' }).waitFor()
  await look(page)
  await shoot(page, 'data')
  const mbox =
    'From a@example.org Mon Nov 23 10:00:00 2026\nFrom: a@example.org\nSubject: Brought\nMessage-ID: <brought@x>\n\nText\n\n'
  await page
    .getByLabel('File')
    .setInputFiles({ name: 'old.mbox', mimeType: 'application/mbox', buffer: Buffer.from(mbox) })
  await page.getByText('1 brought in, 0 were here already.').waitFor()
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download Inbox' }).click()
  const text = readFileSync(await (await downloading).path(), 'latin1')
  expect(text).toMatch(/Subject: Kept/)
  expect(text).toMatch(/Subject: Brought/)
})

test('mail is fetched from another server, and the page says how it goes', async () => {
  const there = await service.user('there')
  await store(there, 'From there', 'a@example.org')
  const id = await service.user('fetched')
  const page = await pages.visit('/app/account/data', { as: 'fetched' })
  const fetchIt = async (password: string) => {
    await page.getByLabel('Server', { exact: true }).fill('127.0.0.1')
    await page.getByLabel('Port').fill(String(service.at('imap').port))
    await page.getByLabel('Encryption').selectOption('none')
    await page.getByLabel('Username there').fill('there')
    await page.getByLabel('Password there').fill(password)
    await page.getByRole('button', { name: 'Begin' }).click()
    await page.getByText('The import has begun.').first().waitFor()
  }
  await fetchIt('secret of there')
  await page.getByText('1 brought in, 0 were here already.').waitFor()
  await page.getByText('Done', { exact: true }).waitFor()
  await fetchIt('wrong')
  await page.getByText('Failed', { exact: true }).waitFor()
  await look(page)
  await shoot(page, 'data')
  const { body } = await service.call('GET', `/users/${id}/mailboxes?counters=true`)
  expect(body.results.find(({ path }: { path: string }) => path === 'INBOX').total).toBe(1)
})

test('a filter and an autoreply that another program wrote keep what the forms do not show', async () => {
  const user = await account(service, 'older')
  const query = { from: 'boss', ha: true, size: -5000 }
  const action = { seen: false, flag: false, delete: false, spam: false, mailbox: user.box('Trash') }
  const { id } = (await user.call('POST', '/filters', { name: 'Theirs', query, action })).body
  const away = { status: true, subject: 'Away', text: '', html: '<p>I am <b>away</b></p>' }
  await user.call('PUT', '/autoreply', away)
  const page = await pages.visit('/app/account/filters', { as: 'older' })
  await page.getByRole('button', { name: 'Edit: Theirs' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Attachments').selectOption('')
  await form.getByLabel('Flag').check()
  await form.getByRole('button', { name: 'Save filter' }).click()
  await expect.poll(() => form.count()).toBe(0)
  const kept = (await user.call('GET', `/filters/${id}`)).body
  expect(kept).toMatchObject({ query: { from: 'boss', size: -5000 }, action: { ...action, flag: true } })
  expect(kept.query.ha).toBeUndefined()
  await page.goto(`${pages.origin}/app/account/autoreply`)
  await page.getByLabel('Subject').fill('Still away')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The autoreply is on').waitFor()
  expect((await user.call('GET', '/autoreply')).body).toMatchObject({ ...away, subject: 'Still away' })
  await page.getByRole('textbox', { name: 'Text' }).fill('Back on Monday')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect
    .poll(async () => (await user.call('GET', '/autoreply')).body)
    .toMatchObject({ text: 'Back on Monday', html: '' })
})
