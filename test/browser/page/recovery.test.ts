// The way back in, for who forgot a password or lost a second factor: what the sign-in page says, what whoever looks after the service or a
// domain does, and the change of password that follows.

import { generateSync } from 'otplib'
import type { Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import { shiftClock } from '#lib/clock.ts'
import { look, shoot, usePage } from './page.ts'

const pages = usePage()
const { service } = pages
const { call } = service
const hour = 3_600_000

afterEach(() => shiftClock(0))

async function enter(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel('Address or username').fill(name)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Has a temporary password made on the page of a user, and leaves it. */
async function reset(page: Page, begins?: string): Promise<{ password: string; said: string }> {
  await page.getByRole('button', { name: 'Temporary password' }).click()
  const dialog = page.getByRole('dialog')
  if (begins !== undefined) await dialog.getByLabel('Good from').fill(begins)
  await dialog.getByRole('button', { name: 'Temporary password' }).click()
  const password = (await dialog.locator('output').textContent()) ?? ''
  const said = (await dialog.textContent()) ?? ''
  await look(page)
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await dialog.waitFor({ state: 'detached' })
  return { password, said }
}

/** Turns a code on for somebody and answers its seed. */
async function withCode(id: string): Promise<string> {
  const { seed } = (await call('POST', `/users/${id}/2fa/totp/setup`, {})).body
  const turnOn = await call('POST', `/users/${id}/2fa/totp/enable`, { token: generateSync({ secret: seed }) })
  expect(turnOn.body.success).toBe(true)
  return seed
}

test('who forgot the password is told whom to ask, gets in with a temporary one, and chooses another before going on', async () => {
  const id = await service.user('lost')
  const seed = await withCode(id)
  const admin = await pages.visit(`/app/service/users/${id}`, { token: service.teal.rootToken })
  const { password, said } = await reset(admin)
  const known = (await call('GET', `/users/${id}`)).body
  expect(known.requirePasswordChange).toBe(true)
  expect(said).toMatch(/It is good until .+\. Tell it by another way than mail/)
  await shoot(admin, 'recovery-admin')

  const page = await pages.visit('/app/mail')
  await page.getByText('Forgot your password?').focus()
  await page.keyboard.press('Enter')
  await page.getByText('can give you a temporary one').waitFor()
  await look(page)
  await shoot(page, 'recovery-sign-in')
  await enter(page, 'lost', password)
  await page.getByText('Lost your second factor?').click()
  await look(page)
  const next = generateSync({ secret: seed, epoch: Math.floor(Date.now() / 1000) + 30 })
  await page.getByLabel('Code').fill(next)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('has to be changed before you go on').waitFor()
  await page.getByText('The one you have just signed in with.').waitFor()
  await look(page)
  await page.reload()
  await page.getByText('has to be changed before you go on').waitFor()
  await page.getByLabel('Present password').fill(password)
  await page.getByLabel('New password', { exact: true }).fill('remembered from now on')
  await page.getByLabel('New password again').fill('remembered from now on')
  await page.keyboard.press('Enter')
  await page.getByText('Your password is changed.').waitFor()
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  const again = await call('POST', '/authenticate', { username: 'lost', password })
  expect(again.body.code).toBe('AuthFailed')
})

test('a temporary password that is not good yet, or no more, opens nothing, and the page says so', async () => {
  const id = await service.user('late')
  const admin = await pages.visit(`/app/service/users/${id}`, { token: service.teal.rootToken })
  const at = new Date(Date.now() + 48 * hour)
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  const { password, said } = await reset(admin, local)
  expect(said).toMatch(/It is good from .+ until .+\./)
  const page = await pages.visit('/app/account')
  pages.expectErrors('status of 403')
  await enter(page, 'late', password)
  await page.getByRole('alert').getByText('This temporary password is not valid yet.').waitFor()
  await look(page)
  shiftClock(49 * hour)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('has to be changed before you go on').waitFor()
  // It ends while the page waits for a better one.
  shiftClock(73 * hour)
  await page.getByLabel('Present password').fill(password)
  await page.getByLabel('New password', { exact: true }).fill('remembered from now on')
  await page.getByLabel('New password again').fill('remembered from now on')
  await page.keyboard.press('Enter')
  await page.getByText('The password is not right.').waitFor()
  const other = await pages.visit('/app/account')
  await enter(other, 'late', password)
  await other.getByRole('alert').getByText('The name or the password is not right.').waitFor()
})

test('a second factor that was lost is turned off by an operator, after a question', async () => {
  const id = await service.user('phoneless')
  await withCode(id)
  const admin = await pages.visit(`/app/service/users/${id}`, { token: service.teal.rootToken })
  await admin.getByRole('button', { name: 'Turn second factors off' }).click()
  await admin.getByRole('dialog').getByText('phoneless then signs in with the password alone').waitFor()
  await look(admin)
  await admin.getByRole('dialog').getByRole('button', { name: 'Turn second factors off' }).click()
  await admin.getByText('The second factors are off').waitFor()
  await admin.getByRole('button', { name: 'Turn second factors off' }).waitFor({ state: 'detached' })
  const page = await pages.visit('/app/account')
  await enter(page, 'phoneless', 'secret of phoneless')
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
})

test('whoever looks after a domain gives one of its users a new password, and may neither make a temporary one nor touch factors', async () => {
  const keeper = await service.user('warden', { address: 'warden@ward.example' })
  const id = await service.user('ward', { address: 'ward@ward.example' })
  await withCode(id)
  await call('POST', '/domains', { name: 'ward.example', admins: [keeper] })
  const page = await pages.visit(`/app/service/users/${id}`, { as: 'warden' })
  await page.getByRole('button', { name: 'Give a new password' }).click()
  expect(await page.getByRole('button', { name: /Temporary password|second factors/ }).count()).toBe(0)
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Give a new password' }).click()
  await dialog.getByText('Write a password.').waitFor()
  await look(page)
  await dialog.getByLabel('Password').fill('handed over by telephone')
  await page.keyboard.press('Enter')
  await page.getByText('The new password is set').waitFor()
  await dialog.waitFor({ state: 'detached' })
  const { body } = await call('POST', '/authenticate', { username: 'ward', password: 'handed over by telephone' })
  expect(body).toMatchObject({ success: true, requirePasswordChange: true })
})

test('a password that an admin gives is changed at the next sign-in, unless the admin wants it otherwise', async () => {
  const id = await service.user('given')
  const admin = await pages.visit(`/app/service/users/${id}`, { token: service.teal.rootToken })
  const give = async (password: string, isToChange: boolean) => {
    await admin.getByRole('button', { name: 'Give a new password' }).click()
    const dialog = admin.getByRole('dialog')
    await dialog.getByLabel('Password').fill(password)
    const box = dialog.getByLabel('Must be changed at the next sign-in')
    expect(await box.isChecked()).toBe(true)
    await box.setChecked(isToChange)
    await look(admin)
    await dialog.getByRole('button', { name: 'Give a new password' }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  await give('for the first time', true)
  const page = await pages.visit('/app/mail')
  await enter(page, 'given', 'for the first time')
  await page.getByText('has to be changed before you go on').waitFor()
  await give('for good and ever', false)
  const other = await pages.visit('/app/account')
  await enter(other, 'given', 'for good and ever')
  await other.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
})
