// Signing in and out as people do, the frame around the pages, and what the first load costs.

import { generateSync } from 'otplib'
import { expect, test } from 'vitest'
import { look, shoot, usePage } from './page.ts'

const pages = usePage({}, { hasWorker: true })
const { service } = pages
/** Bytes of the first load, compressed. */
const firstLoadMax = 150_000

test('somebody signs in with a password, sees the account, and signs out', async () => {
  await service.user('anna', { name: 'Anna Abel' })
  const page = await pages.visit('/app/account')
  await look(page)
  await shoot(page, 'sign-in')
  pages.expectErrors('status of 403')
  await page.getByLabel('Address or username').fill('anna@example.com')
  await page.getByLabel('Password').fill('wrong')
  await page.keyboard.press('Enter')
  await page.getByText('The name or the password is not right.').waitFor()
  await look(page)
  await page.getByLabel('Password').fill('secret of anna')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(page.url()).toBe(`${pages.origin}/app/account`)
  await page.getByRole('main').getByText('anna@example.com').first().waitFor()
  await page.getByText(/0 bytes? of .* used/).waitFor()
  await look(page)
  await shoot(page, 'overview')
  await page.reload()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const cookie = (await page.context().cookies()).find(({ name }) => name === 'teal')
  expect(cookie).toMatchObject({ name: 'teal', httpOnly: true, sameSite: 'Strict', path: '/' })
  // All that scripts see is whose lists may be shown without a network.
  expect(await page.evaluate('document.cookie')).toMatch(/^(teal-kept=[0-9a-f]{24})?$/)
  await page.getByRole('button', { name: 'You: Anna Abel' }).click()
  await look(page)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to your mail' }).waitFor()
  expect(await page.context().cookies()).toEqual([])
  const dead = await service.call('GET', '/users/me', undefined, cookie?.value ?? '')
  expect(dead.body.code).toBe('InvalidToken')
})

test('what is typed before the script is there stays when it is, and signs in with it', async () => {
  await service.user('quick')
  const page = await pages.visit('/app/account')
  let release = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  await page.route('**/assets/*.js', async route => {
    await held
    await route.continue()
  })
  await page.goto(`${pages.origin}/app/account`, { waitUntil: 'commit' })
  const [username, password] = [page.getByLabel('Address or username'), page.getByLabel('Password')]
  const [keep, button] = [page.getByLabel('Stay signed in'), page.getByRole('button', { name: 'Sign in', exact: true })]
  await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('username')
  await username.fill('quick@example.com')
  await keep.check()
  await password.fill('secret of quick')
  await password.press('Enter')
  expect(await button.isDisabled()).toBe(true)
  release()
  await expect.poll(() => button.isEnabled()).toBe(true)
  expect([await username.inputValue(), await password.inputValue()]).toEqual(['quick@example.com', 'secret of quick'])
  expect(await keep.isChecked()).toBe(true)
  expect(await page.evaluate('document.activeElement.name')).toBe('password')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const [cookie] = await page.context().cookies()
  expect(cookie?.expires).toBeGreaterThan(0)
})

test('where a browser forbids site data the page is of use, and where it takes no cookies that is said', async () => {
  await service.user('private')
  const page = await pages.visit('/app/mail')
  await page.addInitScript(`{
    const forbid = () => { throw new DOMException('The operation is insecure.', 'SecurityError') }
    for (const name of ['localStorage', 'indexedDB', 'caches']) Object.defineProperty(globalThis, name, { get: forbid })
    globalThis.BroadcastChannel = function () { forbid() }
    // Frames of letters have none.
    if ('serviceWorker' in navigator) navigator.serviceWorker.getRegistration = async () => forbid()
  }`)
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Emulation.setDocumentCookieDisabled', { disabled: true })
  await page.reload()
  await page.getByRole('alert').getByText('This browser takes no cookies').waitFor()
  await cdp.send('Emulation.setDocumentCookieDisabled', { disabled: false })
  await page.reload()
  await page.getByLabel('Address or username').fill('private')
  expect(await page.getByText('This browser takes no cookies').count()).toBe(0)
  await page.getByLabel('Password').fill('secret of private')
  await page.getByLabel('Appearance').selectOption('dark')
  expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'New message' }).click()
  await page.getByLabel('Subject').fill('Kept nowhere')
  // A list that is still asked for then is refused.
  pages.expectErrors('403')
  await page.getByRole('button', { name: 'You: private' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to your mail' }).waitFor()
})

test('the name that is changed is kept', async () => {
  await service.user('name', { name: 'Before' })
  const page = await pages.visit('/app/account', { as: 'name' })
  await page.getByLabel('Name', { exact: true }).fill('After')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved.').waitFor()
  await page.reload()
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('After')
})

test('what is wrong with a field stands below it, in the language of the page', async () => {
  pages.expectErrors('status of 400')
  await service.user('wordy', { name: 'Before' })
  const page = await pages.visit('/app/account', { as: 'wordy', locale: 'de' })
  const field = page.getByLabel('Name', { exact: true })
  await field.fill('x'.repeat(300))
  await page.getByRole('button', { name: 'Speichern' }).click()
  await page.getByText(/^Bitte höchstens \d+ Zeichen\.$/).waitFor()
  expect(await field.getAttribute('aria-invalid')).toBe('true')
})

test('a second factor is asked for, also where the API leaves it to its callers', async () => {
  const id = await service.user('coded')
  const { body } = await service.call('POST', `/users/${id}/2fa/totp/setup`, {})
  const code = () => generateSync({ secret: body.seed })
  await service.call('POST', `/users/${id}/2fa/totp/enable`, { token: code() })
  const page = await pages.visit('/app/account')
  await page.getByLabel('Address or username').fill('coded')
  await page.getByLabel('Password').fill('secret of coded')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByLabel('Code').fill('000000')
  expect(await page.context().cookies()).toEqual([])
  await look(page)
  pages.expectErrors('status of 403')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('This is not right, or not valid any more.').waitFor()
  // A code is good once, and that of this half minute was used.
  const next = generateSync({ secret: body.seed, epoch: Math.floor(Date.now() / 1000) + 30 })
  await page.getByLabel('Code').fill(next)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
})

test('an operator signs in with an access token', async () => {
  const page = await pages.visit('/')
  await page.getByRole('button', { name: 'Use an access token' }).click()
  await page.getByLabel('Access token').fill(service.teal.rootToken)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'You: root' }).waitFor()
})

test('the page is read in three languages, and turned round in one of them', async () => {
  await service.user('tongue')
  for (const [locale, title, dir] of [
    ['de-DE', 'Übersicht', 'ltr'],
    ['ar', 'نظرة عامة', 'rtl'],
  ] as const) {
    const page = await pages.visit('/app/account', { as: 'tongue', locale })
    await page.getByRole('heading', { name: title }).waitFor()
    expect(await page.locator('html').getAttribute('dir')).toBe(dir)
    await look(page)
    await shoot(page, `overview-${locale}`)
  }
  const page = await pages.visit('/app/account', { as: 'tongue' })
  await page.getByRole('button', { name: /^You:/ }).click()
  await page.getByLabel('Language').selectOption('de')
  await page.getByRole('heading', { name: 'Übersicht' }).waitFor()
  await page.getByLabel('Darstellung').selectOption('dark')
  await page.reload()
  await page.getByRole('heading', { name: 'Übersicht' }).waitFor()
  const color = await page.evaluate('getComputedStyle(document.body).backgroundColor')
  expect(color).toBe('rgb(13, 20, 19)')
})

test('the keyboard alone is enough', async () => {
  await service.user('keys')
  const page = await pages.visit('/app/account', { as: 'keys', width: 500 })
  // What is to come to is there.
  await page.locator('main [name=name]').waitFor()
  await page.keyboard.press('Tab')
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the page')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  expect(await page.evaluate('document.activeElement.name')).toBe('name')
  await page.getByRole('button', { name: 'Menu' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('navigation', { name: 'Menu' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  expect(await page.evaluate('document.activeElement.textContent')).not.toBe('')
})

test(`the first load is at most ${firstLoadMax} bytes, and the second asks for the page alone`, async () => {
  await service.user('load')
  const page = await pages.visit('/app/account', { as: 'load', isFirst: true })
  const sizes = await page.evaluate<readonly { name: string; encodedBodySize: number }[]>(
    `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map(one => one.toJSON())`,
  )
  const sum = sizes.reduce((total, { encodedBodySize }) => total + encodedBodySize, 0)
  expect(sizes.length).toBeGreaterThan(4)
  expect(sum).toBeGreaterThan(10_000)
  expect(sum).toBeLessThan(firstLoadMax)
  const asked: string[] = []
  page.on('response', response => {
    if (!response.fromServiceWorker()) asked.push(`${response.status()} ${new URL(response.url()).pathname}`)
  })
  const sent: string[] = []
  page.context().on('requestfinished', request => sent.push(request.url()))
  await page.reload()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const assets = sizes.filter(({ name }) => name.includes('/assets/'))
  expect(assets.length).toBeGreaterThan(3)
  const again = await page.evaluate<number>(
    `performance.getEntriesByType('resource').filter(one => one.name.includes('/assets/')).reduce((sum, one) => sum + one.transferSize, 0)`,
  )
  expect(again).toBe(0)
})
