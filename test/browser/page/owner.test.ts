// What belongs to an account beside its mail: addresses with names and signatures, keys, what was deleted. As its owner changes it.

import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openpgp } from '#lib/process/lazy.ts'
import { account, mail } from '../../http/api/mail-world.ts'
import { unzip } from '../../mail/exchange/unzip.ts'
import { look, shoot, tabThrough, usePage } from './page.ts'

const pages = usePage()
const { service } = pages

test('an address is taken, named, signed, made the main one, and the other one given up', async () => {
  const id = await service.user('addressed')
  await service.user('taken')
  const page = await pages.visit('/app/account', { as: 'addressed' })
  await page.getByRole('link', { name: 'Change addresses and signatures' }).click()
  await page.getByRole('heading', { level: 1, name: 'Addresses' }).waitFor()
  const line = (address: string) => page.getByRole('listitem').filter({ hasText: address })
  await line('addressed@example.com').getByText('Main address').waitFor()
  expect(await page.getByRole('button', { name: 'Remove: addressed@example.com' }).count()).toBe(0)
  await look(page)

  await page.getByRole('button', { name: 'New address' }).click()
  const dialog = page.getByRole('dialog')
  const add = (local: string) =>
    dialog
      .getByLabel('Before the @')
      .fill(local)
      .then(() => page.keyboard.press('Enter'))
  await add('two words')
  await dialog.getByText('This is no address that can be had here.').waitFor()
  pages.expectErrors('status of 400', 'status of 403')
  await add('taken')
  await dialog.getByText('Somebody has this address already.').waitFor()
  await add('postmaster')
  await dialog.getByText('Only whoever looks after this service can give this address out.').waitFor()
  await look(page)
  await add('shop')
  await page.getByText('shop@example.com is yours.').waitFor()

  await page.getByRole('button', { name: 'Edit: shop@example.com' }).click()
  await dialog.getByLabel('Name').fill('The shop')
  await dialog.getByLabel('Signature').fill('Best wishes\n<The> shop & friends')
  await look(page)
  await shoot(page, 'address')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await line('shop@example.com').getByText('The shop').waitFor()
  await line('shop@example.com').getByText('With a signature').waitFor()
  const kept = (await service.call('GET', `/users/${id}/addresses`)).body.results
  expect(kept.find((one: { address: string }) => one.address === 'shop@example.com')).toMatchObject({
    name: 'The shop',
    signature: {
      text: 'Best wishes\n<The> shop & friends',
      html: 'Best wishes<br>&lt;The&gt; shop &amp; friends',
    },
  })

  await page.getByRole('button', { name: 'Make main: shop@example.com' }).click()
  await page.getByText('shop@example.com is your main address now.').waitFor()
  await line('shop@example.com').getByText('Main address').waitFor()
  await shoot(page, 'addresses')
  await page.getByRole('button', { name: 'Remove: addressed@example.com' }).click()
  await dialog.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByText('The address is removed.').waitFor()
  expect((await service.call('GET', `/users/${id}`)).body.address).toBe('shop@example.com')
  expect((await service.call('GET', `/users/${id}/addresses`)).body.results).toHaveLength(1)
})

test('a signature that was written elsewhere stays as it is until its text is changed, and stands in a new letter', async () => {
  const id = await service.user('signed')
  const [address] = (await service.call('GET', `/users/${id}/addresses`)).body.results
  const signature = { text: 'Yours', html: '<b>Yours</b>' }
  await service.call('PUT', `/users/${id}/addresses/${address.id}`, { signature })
  const page = await pages.visit('/app/account/addresses', { as: 'signed' })
  const edit = async (label: string, text: string) => {
    await page.getByRole('button', { name: 'Edit: signed@example.com' }).click()
    await page.getByText('It has a form of its own').waitFor()
    await page.getByLabel(label).fill(text)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    return (await service.call('GET', `/users/${id}/addresses/${address.id}`)).body
  }
  expect(await edit('Name', 'Other')).toMatchObject({ name: 'Other', signature })
  await page.getByRole('link', { name: 'Mail', exact: true }).click()
  await page.getByRole('button', { name: 'New message' }).click()
  expect(await page.getByLabel('What you write').inputValue()).toContain('-- \nYours')
  await page.getByRole('link', { name: 'Account', exact: true }).click()
  await page.getByRole('link', { name: 'Addresses', exact: true }).click()
  expect(await edit('Signature', '')).not.toHaveProperty('signature')
})

test('whoever has no address yet is told who gives one', async () => {
  const form = { username: 'bare', password: 'secret of bare', emptyAddress: true }
  expect((await service.call('POST', '/users', form)).body).toMatchObject({ success: true })
  const page = await pages.visit('/app/account/addresses', { as: 'bare' })
  await page.getByText('No addresses yet').waitFor()
  expect(await page.getByRole('button', { name: 'New address' }).count()).toBe(0)
  await look(page)
})

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

test('a key is given by paste or as a file, shown by its fingerprint, used for what arrives, and taken away', async () => {
  const user = await account(service, 'sealed')
  const page = await pages.visit('/app/account/encryption', { as: 'sealed' })
  const userIDs = [{ name: 'Sealed One', email: 'sealed@example.com' }]
  const { publicKey, privateKey } = await openpgp().generateKey({ userIDs, format: 'armored' })
  const { publicKey: second } = await openpgp().generateKey({
    userIDs: [{ name: 'Second', email: 'second@example.com' }],
    format: 'armored',
  })
  await page.getByLabel('Public key', { exact: true }).last().waitFor()
  await look(page)
  const key = page.getByRole('textbox', { name: 'Public key' })
  const asked: string[] = []
  page.on('request', request => asked.push(request.method()))
  await button(page, 'Use this key').click()
  await page.getByText('There is no key here.').waitFor()
  await key.fill(privateKey)
  await button(page, 'Use this key').click()
  await page.getByText('This is a private key.').waitFor()
  expect(asked).not.toContain('PUT')
  pages.expectErrors('status of 400')
  await key.fill(publicKey.slice(0, publicKey.length / 2))
  await button(page, 'Use this key').click()
  await page.getByText('This is no public OpenPGP key that can encrypt.').waitFor()
  await look(page)
  await key.fill(publicKey)
  await button(page, 'Use this key').click()
  const read = await openpgp().readKey({ armoredKey: publicKey })
  const fingerprint = (read.getFingerprint().toUpperCase().match(/.{4}/g) ?? []).join(' ')
  await page.getByText(fingerprint).waitFor()
  await page.getByText('Sealed One · sealed@example.com').waitFor()
  await page.getByText('Mail that arrives is encrypted', { exact: true }).waitFor()
  await look(page)
  await shoot(page, 'encryption')
  const id = await user.put('INBOX', mail('quiet', 'nobody sees this'))
  const seen = (await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages/${id}`)).body
  expect(seen).toMatchObject({ encrypted: true, text: '' })

  await page.getByLabel('Mail that is sent on').check()
  await button(page, 'Save').click()
  await page.getByText('Saved.').waitFor()
  expect((await user.call('GET', '')).body).toMatchObject({ encryptMessages: true, encryptForwarded: true })
  const file = { name: 'key.asc', mimeType: 'application/pgp-keys', buffer: Buffer.from(second) }
  await page.getByLabel('Or take it from a file').setInputFiles(file)
  await expect.poll(() => key.inputValue()).toContain('BEGIN PGP PUBLIC KEY')
  await button(page, 'Use this key').click()
  await page.getByText('The other key is set.').waitFor()
  await page.getByText('Second · second@example.com').waitFor()
  expect((await user.call('GET', '')).body).toMatchObject({ encryptForwarded: true, keyInfo: { name: 'Second' } })

  await button(page, 'Remove the key').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByText('The key is removed.').waitFor()
  expect((await user.call('GET', '')).body).toMatchObject({ keyInfo: false, pubKey: '', encryptMessages: false })
})

test('a key may be dropped onto the page', async () => {
  await account(service, 'dropped')
  const { publicKey } = await openpgp().generateKey({ userIDs: [{ name: 'Dropped' }], format: 'armored' })
  const page = await pages.visit('/app/account/encryption', { as: 'dropped' })
  const data = await page.evaluateHandle<unknown>(
    `(() => { const data = new DataTransfer(); data.items.add(new File([${JSON.stringify(publicKey)}], 'key.asc')); return data })()`,
  )
  await page.getByRole('group', { name: 'Public key' }).dispatchEvent('drop', { dataTransfer: data })
  await expect
    .poll(() => page.getByRole('textbox', { name: 'Public key' }).inputValue())
    .toContain('BEGIN PGP PUBLIC KEY')
})

test('what was deleted is brought back one by one, to another folder, and all of it', async () => {
  const user = await account(service, 'archived')
  for (const subject of ['First', 'Second', 'Third', 'Fourth']) {
    const id = await user.put('INBOX', mail(subject, 'x'))
    await user.call('DELETE', `/mailboxes/${user.box('INBOX')}/messages/${id}`)
  }
  const page = await pages.visit('/app/account/archive', { as: 'archived' })
  await page.getByText('4 can be brought back').waitFor()
  await look(page)
  await shoot(page, 'archive')
  await button(page, 'Bring back: Second').click()
  await page.getByText('“Second” is back.').waitFor()
  await page.getByText('3 can be brought back').waitFor()
  await page.getByLabel('What is brought back goes to').selectOption({ label: 'Trash' })
  await button(page, 'Bring back: Third').click()
  await page.getByText('2 can be brought back').waitFor()
  const subjects = async (box: string) =>
    (await user.call('GET', `/mailboxes/${user.box(box)}/messages`)).body.results.map(
      (one: { subject: string }) => one.subject,
    )
  expect([await subjects('INBOX'), await subjects('Trash')]).toEqual([['Second'], ['Third']])
  await page.getByLabel('Deleted from').fill('2031-05-10')
  await page.getByLabel('Until').fill('2031-05-01')
  await button(page, 'Bring all of it back').click()
  await page.getByText('This is before the first day.').waitFor()
  await page.getByLabel('Deleted from').fill('')
  await page.getByLabel('Until').fill('')
  await button(page, 'Bring all of it back').click()
  await page.getByText('2 brought back.').waitFor()
  await page.getByText('Nothing was deleted').waitFor()
  await look(page)
  expect((await subjects('Trash')).toSorted()).toEqual(['First', 'Fourth', 'Third'])
})

test('everything goes along as one archive, and its mail is brought in again as several files at once', async () => {
  const user = await account(service, 'takes.all')
  await user.put('INBOX', mail('Inside', 'x', { flagged: true }))
  await user.put('Trash', mail('Elsewhere', 'x'))
  await user.call('POST', '/contacts', { name: 'A Friend' })
  const page = await pages.visit('/app/account/data', { as: 'takes.all' })
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download everything' }).click()
  const download = await downloading
  expect(download.suggestedFilename()).toBe('takes.all.zip')
  const files = unzip(readFileSync(await download.path()))
  expect(String(files.find(({ name }) => name === 'contacts.vcf')?.bytes)).toContain('FN:A Friend')
  await account(service, 'brings.all')
  const other = await pages.visit('/app/account/data', { as: 'brings.all' })
  const mboxes = files.filter(({ name }) => name.startsWith('mail/'))
  expect(mboxes.some(({ bytes }) => bytes.length === 0)).toBe(true)
  const input = other.getByLabel('Files', { exact: true })
  await input.setInputFiles(
    mboxes.map(({ name, bytes }) => ({
      ...{ name: name.replace('mail/', ''), mimeType: 'application/mbox', buffer: bytes },
    })),
  )
  await other.getByText('2 brought in').first().waitFor()
  for (const folder of ['Inbox', 'Trash'])
    await other.getByRole('row', { name: folder }).getByRole('cell', { name: '1', exact: true }).waitFor()
  // One that is no mail among several is named, and nothing is taken.
  const picture = { name: 'cat.png', mimeType: 'image/png', buffer: Buffer.from([137, 80, 78, 71]) }
  const more = { name: 'more.mbox', mimeType: 'application/mbox', buffer: Buffer.from('From x\nSubject: more\n\nx\n') }
  await input.setInputFiles([more, picture])
  await other.getByText('cat.png: ', { exact: false }).waitFor()
  await look(other)
})

test('older entries of the log are reached with the keyboard, which goes on at their start', async () => {
  const user = await account(service, 'long.log')
  for (let number = 0; number < 25; number += 1) await user.call('POST', '/asps', { description: `Program ${number}` })
  const page = await pages.visit('/app/account/activity', { as: 'long.log' })
  await page.getByRole('button', { name: 'Older' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Newer' }).waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe('Log')
  await page.getByText('Program 0', { exact: true }).waitFor()
})

test('one folder goes along as a file', async () => {
  const user = await account(service, 'exported')
  await user.put('INBOX', mail('Inside', 'x'))
  await user.put('Trash', mail('Elsewhere', 'x'))
  const page = await pages.visit('/app/account/data', { as: 'exported' })
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download Inbox' }).click()
  const text = readFileSync(await (await downloading).path(), 'latin1')
  expect(text).toMatch(/Subject: Inside/)
  expect(text).not.toMatch(/Subject: Elsewhere/)
  await look(page)
  await shoot(page, 'data')
})

test('filters are put in order with the keyboard alone, said aloud, and by dragging', async () => {
  const user = await account(service, 'orders')
  for (const name of ['One', 'Two', 'Three']) {
    await user.call('POST', '/filters', { name, query: { subject: name }, action: { seen: true } })
  }
  const kept = async () => (await user.call('GET', '/filters')).body.results.map((one: { name: string }) => one.name)
  const page = await pages.visit('/app/account/filters', { as: 'orders' })
  await button(page, 'Move down: One').waitFor()
  expect(await button(page, 'Move up: One').isDisabled()).toBe(true)
  await look(page)
  await button(page, 'Move down: One').focus()
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('“One” is number 2 of 3 now.').waitFor()
  expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Move down: One')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('“One” is number 3 of 3 now.').waitFor()
  expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Move up: One')
  await expect.poll(kept).toEqual(['Two', 'Three', 'One'])
  await shoot(page, 'filter-order')
  const line = (name: string) =>
    page
      .getByRole('main')
      .getByRole('listitem')
      .filter({ hasText: `“${name}”` })
  await line('One').dragTo(line('Two'))
  await expect.poll(kept).toEqual(['One', 'Two', 'Three'])
  await page.reload()
  await page.getByText('One', { exact: true }).waitFor()
  const shown = await page.getByRole('main').locator('ol > li strong').allTextContents()
  expect(shown).toEqual(['One', 'Two', 'Three'])
  // Somebody else removed one meanwhile: nothing is lost, and the list is what there is.
  const [first] = (await user.call('GET', '/filters')).body.results
  await user.call('DELETE', `/filters/${first.id}`)
  pages.expectErrors('status of 400')
  await button(page, 'Move up: Three').click()
  await expect.poll(() => page.getByRole('main').locator('ol > li strong').allTextContents()).toEqual(['Two', 'Three'])
})

test('each page is read from the right, and nothing is cut off', async () => {
  const user = await account(service, 'arabic')
  for (const name of ['One', 'Two']) {
    await user.call('POST', '/filters', { name, query: { subject: name }, action: { seen: true } })
    const id = await user.put('INBOX', mail(name, 'x'))
    await user.call('DELETE', `/mailboxes/${user.box('INBOX')}/messages/${id}`)
  }
  const { publicKey } = await openpgp().generateKey({ userIDs: [{ name: 'Key' }], format: 'armored' })
  await user.call('PUT', '', { pubKey: publicKey })
  const page = await pages.visit('/app/account', { as: 'arabic', locale: 'ar' })
  for (const path of ['/addresses', '/filters', '/encryption', '/archive', '/data']) {
    await page.goto(`${pages.origin}/app/account${path}`)
    await page.locator('h1').first().waitFor()
    await page.waitForLoadState('networkidle')
    expect(await page.locator('html').getAttribute('dir')).toBe('rtl')
    await look(page)
    await shoot(page, `ar${path.replace('/', '-')}`)
  }
})

const ownerPages = [
  ...['', '/addresses', '/password', '/factors', '/programs', '/activity', '/filters', '/autoreply', '/forwarding'],
  ...['/encryption', '/data', '/archive'],
]

test('each page is gone through with the keyboard alone: everything is reached, named and seen to be reached', async () => {
  const user = await account(service, 'tabbed')
  for (const name of ['One', 'Two']) {
    await user.call('POST', '/filters', { name, query: { subject: name }, action: { seen: true } })
    const id = await user.put('INBOX', mail(name, 'x'))
    await user.call('DELETE', `/mailboxes/${user.box('INBOX')}/messages/${id}`)
  }
  const page = await pages.visit('/app/account', { as: 'tabbed' })
  for (const path of ownerPages) {
    await page.goto(`${pages.origin}/app/account${path}`)
    await page.locator('h1').first().waitFor()
    await page.waitForLoadState('networkidle')
    await tabThrough(page, path)
  }
})

test('an address and a filter are made and a dialog is left without touching a mouse', async () => {
  const user = await account(service, 'fingers')
  const page = await pages.visit('/app/account', { as: 'fingers' })
  const focused = () => page.evaluate<string>('document.activeElement.ariaLabel ?? document.activeElement.textContent')
  const tabTo = async (name: string) => {
    for (let presses = 0; presses < 80 && (await focused()) !== name; presses++) await page.keyboard.press('Tab')
    expect(await focused()).toBe(name)
  }
  await tabTo('Addresses')
  await page.keyboard.press('Enter')
  await button(page, 'New address').waitFor()
  await tabTo('New address')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await expect.poll(focused).toBe('New address')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('shop.of.fingers')
  await page.keyboard.press('Enter')
  await page.getByText('shop.of.fingers@example.com is yours.').waitFor()
  await expect.poll(focused).toBe('New address')
  await tabTo('Make main: shop.of.fingers@example.com')
  await page.keyboard.press('Enter')
  await page.getByText('shop.of.fingers@example.com is your main address now.').waitFor()

  await page.keyboard.press('Control+Home')
  await tabTo('Filters')
  await page.keyboard.press('Enter')
  await button(page, 'New filter').waitFor()
  await tabTo('New filter')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('Shops')
  await page.keyboard.press('Tab')
  await page.keyboard.type('shop@example.org')
  await page.keyboard.press('Enter')
  await page.getByText('When: From “shop@example.org”').waitFor()
  expect((await user.call('GET', '/filters')).body.results).toMatchObject([{ name: 'Shops' }])
})
