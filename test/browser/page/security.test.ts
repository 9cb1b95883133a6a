// Password, second factors, passwords of programs, sessions: as the owner of an account changes them.

import { readFileSync } from 'node:fs'
import { generateSync } from 'otplib'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { look, shoot, usePage } from './page.ts'

const pages = usePage()
const { service } = pages

const open = async (page: Page, name: string) => {
  await page.getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

async function enter(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel('Address or username').fill(name)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

test('the password is changed, other devices go, and the new one opens', async () => {
  await service.user('pass')
  const other = await pages.visit('/app/account', { as: 'pass' })
  const page = await pages.visit('/app/account', { as: 'pass' })
  await open(page, 'Password')
  await look(page)
  await shoot(page, 'password')
  await page.getByLabel('Present password').fill('wrong')
  await page.getByLabel('New password', { exact: true }).fill('short')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('That is too short.').waitFor()
  await page.getByLabel('New password', { exact: true }).fill('a longer one')
  await page.getByLabel('New password again').fill('a longer two')
  await page.keyboard.press('Enter')
  await page.getByText('This is not the same.').waitFor()
  expect(await page.evaluate('document.activeElement.name')).toBe('repeat')
  await look(page)
  await page.getByLabel('New password again').fill('a longer one')
  pages.expectErrors('status of 403')
  await page.keyboard.press('Enter')
  await page.getByText('The password is not right.').waitFor()
  await page.getByLabel('Present password').fill('secret of pass')
  await page.keyboard.press('Enter')
  await page.getByText('Your password is changed.').waitFor()
  await other.reload()
  await enter(other, 'pass', 'a longer one')
  await other.getByRole('heading', { name: 'Overview' }).waitFor()
})

test('whoever must change the password is led there first', async () => {
  await service.user('must', { requirePasswordChange: true })
  const page = await pages.visit('/')
  await enter(page, 'must', 'secret of must')
  await page.getByText('has to be changed before you go on').waitFor()
  await look(page)
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByText('has to be changed before you go on').waitFor()
  await page.getByLabel('Present password').fill('secret of must')
  await page.getByLabel('New password', { exact: true }).fill('one of my own')
  await page.getByLabel('New password again').fill('one of my own')
  await page.keyboard.press('Enter')
  await page.getByText('Your password is changed.').waitFor()
  await open(page, 'Overview')
})

test('an authenticator is set up by its QR code, asked for at the next sign-in, and turned off', async () => {
  await service.user('totp')
  const page = await pages.visit('/app/account', { as: 'totp' })
  await open(page, 'Second factors')
  await look(page)
  await shoot(page, 'factors')
  await page.getByRole('button', { name: 'Set up' }).click()
  const seed = ((await page.locator('.secret').textContent()) ?? '').replaceAll(' ', '')
  const picture = page.getByRole('img', { name: 'QR code for your authenticator' })
  expect(await picture.evaluate(image => (image as unknown as { naturalWidth: number }).naturalWidth)).toBeGreaterThan(
    50,
  )
  await look(page)
  await page.getByLabel('Six digits').fill(generateSync({ secret: seed }))
  await page.getByRole('button', { name: 'Turn on' }).click()
  await page.getByText('The authenticator is on.').waitFor()
  await page.getByRole('button', { name: 'Turn off' }).waitFor()
  const other = await pages.visit('/app/account')
  await enter(other, 'totp', 'secret of totp')
  const next = generateSync({ secret: seed, epoch: Math.floor(Date.now() / 1000) + 30 })
  await other.getByLabel('Code').fill(next)
  await other.getByRole('button', { name: 'Sign in', exact: true }).click()
  await other.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByRole('button', { name: 'Turn off' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click()
  await page.getByText('The second factor is off.').waitFor()
})

/** Puts a key into the browser whose owner touches it when asked. */
async function plugIn(page: Page, transport: 'usb' | 'internal'): Promise<void> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const isPasskey = transport === 'internal'
  const verifies = { hasUserVerification: isPasskey, hasResidentKey: isPasskey, isUserVerified: true }
  const options = { protocol: 'ctap2', transport, ...verifies, automaticPresenceSimulation: true } as const
  await cdp.send('WebAuthn.addVirtualAuthenticator', { options })
}

for (const [transport, kind, button] of [
  ['usb', 'Security key', 'Use a security key'],
  ['internal', 'Passkey of this device', 'Use this device’s passkey'],
] as const) {
  test(`${kind}: registered, used to sign in, and removed`, async () => {
    const name = `key-${transport}`
    const id = await service.user(name)
    const page = await pages.visit('/app/account/factors', { as: name })
    await plugIn(page, transport)
    await page.getByText('No keys yet').waitFor()
    await page.getByRole('button', { name: 'Add a key' }).click()
    await page.getByLabel('Name of the key').fill('Blue')
    await page.getByLabel('Which kind').selectOption({ label: kind })
    await look(page)
    await page.getByRole('button', { name: 'Register' }).click()
    await page.getByText('The key is registered.').waitFor()
    await page.getByRole('button', { name: `You: ${name}` }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await enter(page, name, `secret of ${name}`)
    await page.getByRole('button', { name: button }).waitFor()
    await look(page)
    await page.getByRole('button', { name: button }).click()
    await page.getByRole('link', { name: 'Account', exact: true }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await open(page, 'Second factors')
    await page.getByRole('button', { name: 'Remove: Blue' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('The key is removed.').waitFor()
    const { body } = await service.call('GET', `/users/${id}/2fa/webauthn/credentials`)
    expect(body.credentials).toEqual([])
  })
}

test('a passkey alone signs in, without name and password; where there is none nothing happens', async () => {
  await service.user('alone')
  const page = await pages.visit('/app/account/factors', { as: 'alone' })
  await plugIn(page, 'internal')
  await page.getByRole('button', { name: 'Add a key' }).click()
  await page.getByLabel('Name of the key').fill('Laptop')
  await page.getByLabel('Which kind').selectOption({ label: 'Passkey of this device' })
  await page.getByText('also signs you in without name and password').waitFor()
  await page.getByRole('button', { name: 'Register' }).click()
  await page.getByText('The key is registered.').waitFor()
  await page.getByRole('button', { name: 'You: alone' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
  await look(page)
  await shoot(page, 'sign-in-passkey')
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByRole('button', { name: 'You: alone' }).waitFor()
  const stranger = await pages.visit('/app/account')
  await plugIn(stranger, 'internal')
  await stranger.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await stranger.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
  expect(await stranger.context().cookies()).toEqual([])
})

test('a password for a program is made with what it may and a profile, used, and taken back', async () => {
  const id = await service.user('program')
  const page = await pages.visit('/app/account', { as: 'program' })
  await open(page, 'App passwords')
  await page.getByText('No app passwords yet').waitFor()
  await look(page)
  await page.getByRole('button', { name: 'New app password' }).click()
  await page.getByLabel('What it is for').fill('Phone')
  await page.getByLabel('Profile for iPhone').check()
  await look(page)
  await page.getByRole('button', { name: 'Create' }).click()
  const shown = (await page.locator('.shown-secret code').textContent()) ?? ''
  expect(shown).toMatch(/^[a-z]{4}( [a-z]{4}){3}$/)
  await look(page)
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download the profile' }).click()
  const profile = readFileSync(await (await downloading).path(), 'latin1')
  expect(profile).toContain('com.apple.mail.managed')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('rowheader', { name: 'Phone' }).waitFor()
  await shoot(page, 'programs')
  const given = { username: 'program', password: shown.replaceAll(' ', ''), scope: 'imap' }
  expect((await service.call('POST', '/authenticate', given)).body).toMatchObject({ success: true })
  expect((await service.call('POST', '/authenticate', { ...given, scope: 'pop3' })).status).toBe(403)
  await page.getByRole('button', { name: 'Take back: Phone' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Take back' }).click()
  await page.getByText('The app password is taken back.').waitFor()
  expect((await service.call('GET', `/users/${id}/asps`)).body.results).toEqual([])
})

test('other sessions are seen and ended, and the log says what happened', async () => {
  await service.user('sessions')
  const other = await pages.visit('/app/account', { as: 'sessions' })
  const page = await pages.visit('/app/account', { as: 'sessions' })
  await service.call('POST', '/authenticate', { username: 'sessions', password: 'wrong' })
  await open(page, 'Sessions and log')
  await page.getByText('This one').waitFor()
  expect(await page.getByRole('button', { name: 'Sign out', exact: true }).count()).toBe(1)
  await page.getByText('Refused').waitFor()
  await look(page)
  await shoot(page, 'activity')
  await page.getByRole('button', { name: 'Sign out everywhere else' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere else' }).click()
  await page.getByText('Everywhere else is signed out.').waitFor()
  await other.reload()
  await other.getByRole('heading', { name: 'Sign in to your mail' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Sessions and log' }).waitFor()
})
