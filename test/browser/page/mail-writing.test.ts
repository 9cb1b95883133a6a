// Writing in a real browser: saved as one types, sent, taken back, answered, with files, and kept through a broken connection.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { type Account, account, mail } from '../../http/api/mail-world.ts'
import { look, setOffline, usePage } from './page.ts'

const pages = usePage({}, { hasWorker: true })
const { service } = pages

const writer = (page: Page) => page.locator('.mail-writer')

async function write(page: Page, fields: { to: string; subject: string; text: string }): Promise<void> {
  await page.getByRole('button', { name: 'New message' }).click()
  await writer(page).getByLabel('To', { exact: true }).fill(fields.to)
  await writer(page).getByLabel('Subject').fill(fields.subject)
  await writer(page).getByLabel('What you write').fill(fields.text)
}

const drafts = async (user: Account) =>
  (await user.call('GET', `/mailboxes/${user.box('Drafts')}/messages`)).body.results

test('a letter is saved as one types, sent, and taken back as the draft it was', async () => {
  const user = await account(service, 'hasty')
  const page = await pages.visit('/app/mail', { as: 'hasty' })
  await write(page, { to: 'Friend <friend@example.net>', subject: 'Too soon', text: 'I think that' })
  await writer(page).getByText('Draft saved').waitFor()
  await look(page)
  expect(await drafts(user)).toMatchObject([{ subject: 'Too soon' }])
  await writer(page).getByLabel('What you write').press('End')
  await writer(page).getByLabel('What you write').pressSequentially(' and more')
  await writer(page).getByText('Draft saved').waitFor()
  await expect
    .poll(async () => (await drafts(user)).map((one: { intro: string }) => one.intro))
    .toEqual([expect.stringContaining('and more')])
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await expect.poll(() => writer(page).count()).toBe(0)
  expect(await drafts(user)).toEqual([])
  await page.getByRole('button', { name: 'Take back' }).click()
  await writer(page).waitFor()
  expect(await writer(page).getByLabel('Subject').inputValue()).toBe('Too soon')
  expect(await drafts(user)).toHaveLength(1)
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  // Not any `Sent`: a folder is called so, too.
  await page.getByRole('button', { name: 'Take back' }).waitFor()
  const waiting = await user.call('GET', '/outbound')
  expect(waiting.body.total).toBe(1)
})

test('a message is answered, with what it said below and the other one marked', async () => {
  const user = await account(service, 'polite')
  const id = await user.put(
    'INBOX',
    mail('Question', 'Why?\nReally?', { cc: [{ name: 'C', address: 'c@example.net' }] }),
  )
  const page = await pages.visit(`/app/mail/${user.box('INBOX')}?m=${id}`, { as: 'polite' })
  await page.getByRole('button', { name: 'Reply to all' }).click()
  expect(await writer(page).getByLabel('To', { exact: true }).inputValue()).toContain('sender@example.net')
  expect(await writer(page).getByLabel('Cc', { exact: true }).inputValue()).toContain('c@example.net')
  expect(await writer(page).getByLabel('Subject').inputValue()).toBe('Re: Question')
  expect(await writer(page).getByLabel('What you write').inputValue()).toContain('> Why?\n> Really?')
  await writer(page).getByLabel('What you write').pressSequentially('Because.')
  await page.keyboard.press('Control+Enter')
  await expect.poll(() => writer(page).count()).toBe(0)
  await page.getByRole('img', { name: 'Answered' }).waitFor()
  const sent = (await user.call('GET', `/mailboxes/${user.box('Sent Mail')}/messages/1`)).body
  expect(sent.text).toMatch(/^Because\./)
  expect(sent.references).toHaveLength(1)
})

test('files are attached and go along', async () => {
  const user = await account(service, 'carrier')
  const page = await pages.visit('/app/mail', { as: 'carrier' })
  await write(page, { to: 'a@example.net', subject: 'Files', text: 'see them' })
  const files = [
    { name: 'größe.txt', mimeType: 'text/plain', buffer: Buffer.from('big') },
    { name: 'b.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(100_000, 7) },
  ]
  await writer(page).locator('input[type=file]').setInputFiles(files)
  await writer(page).getByRole('button', { name: 'Remove b.bin' }).waitFor()
  await writer(page).getByText('Draft saved').waitFor()
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await expect.poll(() => writer(page).count()).toBe(0)
  const { attachments } = (await user.call('GET', `/mailboxes/${user.box('Sent Mail')}/messages/1`)).body
  expect(attachments.map((one: { filename: string }) => one.filename)).toEqual(['größe.txt', 'b.bin'])
  await page.getByRole('button', { name: 'Take back' }).click()
  await writer(page).getByRole('button', { name: 'Remove größe.txt' }).waitFor()
})

test('addresses are completed from whom one has written to', async () => {
  const user = await account(service, 'friendly')
  await user.call('POST', '/contacts', { name: 'Zoë Zebra', emails: [{ value: 'zoe@example.net' }] })
  const page = await pages.visit('/app/mail', { as: 'friendly' })
  await page.getByRole('button', { name: 'New message' }).click()
  const to = writer(page).getByLabel('To', { exact: true })
  await to.pressSequentially('zo')
  await page.getByRole('option', { name: /Zoë Zebra/ }).waitFor()
  await to.press('Enter')
  expect(await to.inputValue()).toBe('Zoë Zebra <zoe@example.net>, ')
})

test('Enter that ends a letter written with several keys takes no suggestion and begins no search', async () => {
  const user = await account(service, 'composer')
  await user.call('POST', '/contacts', { name: 'Zoë Zebra', emails: [{ value: 'zoe@example.net' }] })
  const page = await pages.visit('/app/mail', { as: 'composer' })
  // Whether the page wanted the key for itself.
  const isTaken = (isComposing: boolean) =>
    page.evaluate<boolean>(`!document.activeElement.dispatchEvent(
      new KeyboardEvent('keydown', { key: 'Enter', isComposing: ${isComposing}, bubbles: true, cancelable: true }))`)
  await page.getByRole('combobox', { name: 'Search mail' }).focus()
  expect([await isTaken(true), await isTaken(false)]).toEqual([false, true])
  await page.getByRole('button', { name: 'New message' }).click()
  const to = writer(page).getByLabel('To', { exact: true })
  await to.pressSequentially('zo')
  await page.getByRole('option', { name: /Zoë Zebra/ }).waitFor()
  expect(await isTaken(true)).toBe(false)
  expect(await to.inputValue()).toBe('zo')
  expect(await isTaken(false)).toBe(true)
})

test('what was written survives a broken connection and a closed window, and is sent once', async () => {
  const user = await account(service, 'unlucky')
  const page = await pages.visit('/app/mail', { as: 'unlucky' })
  pages.expectErrors('ERR_', 'Failed to load', 'net::')
  await setOffline(page.context(), true)
  await write(page, { to: 'a@example.net', subject: 'In the tunnel', text: 'no words lost' })
  await writer(page).getByText('kept in this browser').waitFor()
  await setOffline(page.context(), false)
  await page.reload()
  await writer(page).waitFor()
  expect(await writer(page).getByLabel('What you write').inputValue()).toContain('no words lost')
  await setOffline(page.context(), true)
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('It will be sent').waitFor()
  await setOffline(page.context(), false)
  await expect.poll(async () => (await user.call('GET', '/outbound')).body.total, { timeout: 20_000 }).toBe(1)
  await expect.poll(() => drafts(user)).toEqual([])
  await page.waitForTimeout(500)
  expect((await user.call('GET', '/outbound')).body.total).toBe(1)
})

test('a letter that a busy service does not take is kept, saved and sent once when it does', async () => {
  const user = await account(service, 'waiter')
  const page = await pages.visit('/app/mail', { as: 'waiter' })
  pages.expectErrors('status of 503')
  await page.getByRole('button', { name: 'New message' }).waitFor()
  let isBusy = true
  const busy = { status: 503, json: { error: 'The service is busy, try again', code: 'Overloaded' } }
  await page.route('**/mailboxes/*/messages**', route => (isBusy ? route.fulfill(busy) : route.continue()))
  await write(page, { to: 'a@example.net', subject: 'At noon', text: 'everybody writes' })
  await writer(page).getByText('kept in this browser').waitFor()
  isBusy = false
  await writer(page).getByText('Draft saved').waitFor()
  isBusy = true
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('It will be sent').waitFor()
  isBusy = false
  await expect.poll(async () => (await user.call('GET', '/outbound')).body.total, { timeout: 20_000 }).toBe(1)
  await expect.poll(() => drafts(user)).toEqual([])
})

test('what cannot be sent is said, and a draft is thrown away when asked', async () => {
  const user = await account(service, 'wrong')
  const page = await pages.visit('/app/mail', { as: 'wrong' })
  await write(page, { to: '', subject: 'To nobody', text: 'x' })
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('Say whom it is for').waitFor()
  await writer(page).getByLabel('To', { exact: true }).fill('not an address')
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await writer(page).getByRole('alert').getByText('not an address').waitFor()
  await writer(page).getByText('Draft saved').waitFor()
  await writer(page).getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('dialog', { name: 'Discard this draft?' }).getByRole('button', { name: 'Discard' }).click()
  await expect.poll(() => writer(page).count()).toBe(0)
  await expect.poll(() => drafts(user)).toEqual([])
})

test('whoever signs in after somebody else sees nothing of the letter that was left open', async () => {
  await account(service, 'former')
  const second = await account(service, 'latter')
  const page = await pages.visit('/app/mail', { as: 'former' })
  await write(page, { to: 'friend@example.net', subject: 'Of the first', text: 'for nobody else' })
  await writer(page).getByText('Draft saved').waitFor()
  await page.getByRole('button', { name: /^You: / }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Address or username').fill('latter')
  await page.getByLabel('Password').fill('secret of latter')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Sign in to your mail' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Mail', exact: true }).first().click()
  await page.getByRole('button', { name: 'New message' }).waitFor()
  expect(await page.getByText('Of the first').count()).toBe(0)
  expect(await drafts(second)).toEqual([])
})

test('a letter that is sent again while it goes goes once, and nothing of it is left', async () => {
  const user = await account(service, 'eager')
  const page = await pages.visit('/app/mail', { as: 'eager' })
  await write(page, { to: 'a@example.net', subject: 'Twice', text: 'asked, once sent' })
  await writer(page).getByText('Draft saved').waitFor()
  const asked: string[] = []
  page.on('request', request => {
    if (request.method() === 'POST') asked.push(new URL(request.url()).pathname.split('/').at(-1) ?? '')
  })
  let answer = () => {}
  const isLate = new Promise<void>(resolve => {
    answer = resolve
  })
  await page.route('**/messages/*/submit', async route => {
    const response = await route.fetch()
    await isLate
    await route.fulfill({ response })
  })
  await page.keyboard.press('Control+Enter')
  await expect.poll(async () => (await user.call('GET', '/outbound')).body.total).toBe(1)
  await page.keyboard.press('Control+Enter')
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  answer()
  await page.getByRole('button', { name: 'Take back' }).waitFor()
  expect(asked).toEqual(['messages', 'submit'])
  await page.reload()
  await page.getByRole('button', { name: 'New message' }).waitFor()
  expect(await writer(page).count()).toBe(0)
  expect((await user.call('GET', '/outbound')).body.total).toBe(1)
  expect(await drafts(user)).toEqual([])
})

test('text that is dragged within a letter goes where it is dropped', async () => {
  await account(service, 'mover')
  const page = await pages.visit('/app/mail', { as: 'mover' })
  await write(page, { to: 'a@example.net', subject: 'carried', text: '' })
  const subject = writer(page).getByLabel('Subject')
  await subject.dblclick({ position: { x: 20, y: 10 } })
  await subject.dragTo(writer(page).getByLabel('What you write'), { sourcePosition: { x: 20, y: 10 } })
  await expect.poll(() => writer(page).getByLabel('What you write').inputValue()).toContain('carried')
})

test('an answer to what one has sent is for whom that was for, and names nobody twice', async () => {
  const user = await account(service, 'insistent')
  const me = { name: 'Me', address: 'insistent@example.com' }
  const client = { name: 'Client', address: 'client@example.net' }
  const list = { name: '', address: 'list@example.org' }
  const own = await user.put('Sent Mail', mail('Offer', 'x', { from: me, to: [client], cc: [list, client] }))
  const listed = await user.put('INBOX', mail('News', 'x', { replyTo: list, to: [list, me], cc: [list, client] }))
  const note = await user.put('INBOX', mail('Note', 'x', { from: me, to: [me] }))
  const page = await pages.visit('/app/mail', { as: 'insistent' })
  const answered = async (box: string, id: number, name: string) => {
    await page.goto(`${pages.origin}/app/mail/${user.box(box)}?m=${id}`)
    await page.getByRole('button', { name, exact: true }).click()
    const to = await writer(page).getByLabel('To', { exact: true }).inputValue()
    const field = writer(page).getByLabel('Cc', { exact: true })
    const cc = (await field.count()) === 0 ? '' : await field.inputValue()
    await writer(page).getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('dialog', { name: 'Discard' }).getByRole('button', { name: 'Discard' }).click()
    await expect.poll(() => writer(page).count()).toBe(0)
    return [to, cc]
  }
  expect(await answered('Sent Mail', own, 'Reply')).toEqual(['Client <client@example.net>, ', ''])
  const all = ['Client <client@example.net>, ', 'list@example.org, ']
  expect(await answered('Sent Mail', own, 'Reply to all')).toEqual(all)
  expect(await answered('INBOX', listed, 'Reply to all')).toEqual(all.toReversed())
  expect(await answered('INBOX', note, 'Reply')).toEqual(['Me <insistent@example.com>, ', ''])
})
