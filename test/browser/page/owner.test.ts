// What belongs to an account beside its mail: addresses with names and signatures, keys, what was deleted. As its owner changes it.

import { expect, test } from 'vitest'
import { look, shoot, usePage } from './page.ts'

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
