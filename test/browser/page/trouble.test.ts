// What the pages do when something is wrong: values that were made to do harm or are far too long, a service that is away, busy or slow,
// a session that ends in the middle, something that is gone, two who change the same.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { look, shoot, usePage } from './page.ts'

const pages = usePage({ outbound: { relay: 'smtp://127.0.0.1:1' }, network: { allowPrivate: ['127.0.0.0/8'] } })
const { service } = pages
const { call } = service

/** Turns round what follows it, and does not end. */
const turned = '\u202e'
const evil = `"><img src=x onerror=window.owned=1><script>window.owned=1</script>${turned}gnp.exe`
const long = 'W'.repeat(90)
const token = () => service.teal.rootToken

/** Goes on without loading anew, as a link does. */
async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
  )
  await page.locator('h1').first().waitFor()
  await page.locator('.spinner').first().waitFor({ state: 'detached' })
}

async function fits(page: Page, path: string): Promise<void> {
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 800 })
    const over = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    expect(over, `${path} is too wide by, in a window of ${width}`).toBeLessThanOrEqual(0)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  expect(await page.evaluate('window.owned'), path).toBeUndefined()
}

test('what somebody wrote to do harm is text on every page, and however long it is nothing is cut off', async () => {
  const id = await service.user('harm', { name: evil })
  const address = `${'l'.repeat(60)}@${'sub.'.repeat(10)}${'domain'.repeat(8)}.example`
  await service.user('wide', { name: `${long} ${long}`, address })
  await call('POST', '/addresses/forwarded', { address: 'info@example.com', targets: [address], name: evil })
  await call('PUT', '/domains/example.com', { description: `${evil}${long}`, tags: [long, 'paid'] })
  await call('POST', '/domains', { name: 'shut.example' })
  await call('PUT', '/domains/shut.example', { disabled: true, disabledReason: `${evil}${long}` })
  await call('POST', '/dkim', { domain: 'example.com', selector: 'old', description: `${evil}${long}` })
  const hook = await call('POST', '/webhooks', { type: ['*'], url: `http://127.0.0.1:1/${'x'.repeat(300)}` })
  const to = [{ name: evil, address }]
  await call('POST', `/users/${id}/submit`, { to, subject: `${evil}${long}`, text: 'x' })
  const filter = { name: `${evil}${long}`, query: { from: long, text: long }, action: { targets: [address] } }
  expect((await call('POST', `/users/${id}/filters`, filter)).body).toMatchObject({ success: true })
  await call('POST', `/users/${id}/asps`, { description: `${evil}${long}`, scopes: ['imap'] })
  await call('POST', `/users/${id}/mailboxes`, { path: `${evil.replaceAll('/', '')}${long}` })

  const admin = await pages.visit('/app/service/users', { token: token() })
  await admin.getByText(evil.replace(turned, '<U+202E>')).waitFor()
  await shoot(admin, 'trouble-users')
  const domain = '/app/service/domains'
  const names = ['users', 'addresses', 'domains', 'queue', 'webhooks', 'log', 'tokens']
  const paths = [...names.map(name => `/app/service/${name}`), `${domain}/example.com`, `${domain}/shut.example`]
  for (const path of [...paths, `/app/service/users/${id}`, `/app/service/webhooks/${hook.body.id}`]) {
    await follow(admin, path)
    await fits(admin, path)
  }
  // A name that turns what follows turns nothing but itself.
  await follow(admin, `/app/service/users/${id}`)
  await admin.locator('.lead bdi', { hasText: /^harm@example.com$/ }).waitFor()
  const own = await pages.visit('/app/account', { as: 'harm' })
  for (const name of ['', '/addresses', '/programs', '/filters', '/data', '/activity']) {
    await follow(own, `/app/account${name}`)
    await fits(own, name)
  }
})

test('while the service is away, busy or slow a page says so, and goes on when asked again', async () => {
  pages.expectErrors('net::ERR', 'status of 503', 'status of 502')
  const page = await pages.visit('/app/service/domains', { token: token() })
  const calls = /\/users\?/
  const again = page.getByRole('button', { name: 'Try again' })
  const held = Promise.withResolvers<void>()
  const answers = [
    ['The service does not answer.', route => route.abort('connectionrefused')],
    ['The service does not answer.', route => route.fulfill({ status: 502, contentType: 'text/html', body: 'Bad' })],
    ['The service is busy.', route => route.fulfill({ status: 503, json: { error: 'Too many', code: 'Overloaded' } })],
  ] as const satisfies readonly (readonly [string, Parameters<Page['route']>[1]])[]
  for (const [said, answer] of answers) {
    await page.route(calls, answer)
    await follow(page, '/app/service/domains')
    await follow(page, '/app/service/users')
    await page.getByRole('alert').getByText(said, { exact: false }).waitFor()
    await page.unroute(calls)
    await again.click()
    await page.getByRole('table', { name: 'Users' }).waitFor()
  }
  await page.route(calls, async route => {
    await held.promise
    await route.continue()
  })
  await follow(page, '/app/service/domains')
  await page.getByRole('link', { name: 'Users', exact: true }).click()
  await page.getByText('Loading').waitFor()
  await look(page)
  held.resolve()
  await page.getByRole('table', { name: 'Users' }).waitFor()
})

test('a session that ends in the middle leads to signing in, and back to where one was', async () => {
  pages.expectErrors('status of 403')
  const id = await service.user('ended')
  const page = await pages.visit('/app/account', { as: 'ended' })
  expect((await call('DELETE', `/users/${id}/sessions`)).body.ended).toBeGreaterThan(0)
  // The page may have noticed by itself.
  await follow(page, '/app/account/filters')
  await page.getByRole('heading', { name: 'Sign in to your mail' }).waitFor()
  await page.getByLabel('Address or username').fill('ended')
  await page.getByLabel('Password').fill('secret of ended')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Filters' }).waitFor()
})

test('what is gone, or was never there, is said on a page with a heading', async () => {
  pages.expectErrors('status of 404')
  const page = await pages.visit('/app/service/users/0123456789abcdef01234567', { token: token() })
  await page.getByRole('alert').waitFor()
  await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
  await look(page)
  await follow(page, '/app/service/webhooks/0123456789abcdef01234567')
  await page.getByRole('alert').waitFor()
})

test('a user who was deleted in another window while a password is given is said not to be there, in the language of the page', async () => {
  const id = await service.user('vanishes')
  pages.expectErrors('status of 404')
  const page = await pages.visit(`/app/service/users/${id}`, { token: token(), locale: 'de' })
  await page.getByRole('button', { name: 'Neues Passwort vergeben' }).click()
  const dialog = page.getByRole('dialog')
  expect((await call('DELETE', `/users/${id}`)).body.success).toBe(true)
  await dialog.getByLabel('Passwort').fill('handed over by telephone')
  await dialog.getByRole('button', { name: 'Neues Passwort vergeben' }).click()
  await dialog.getByRole('alert').getByText('Diesen Benutzer gibt es nicht.').waitFor()
  await look(page)
})

test('of two who change the same user at once each changes what they changed', async () => {
  const id = await service.user('shared')
  const [one, two] = [
    await pages.visit(`/app/service/users/${id}`, { token: token() }),
    await pages.visit(`/app/service/users/${id}`, { token: token() }),
  ] as const
  const save = async (page: Page, label: string, value: string) => {
    const limits = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'Limits' }) })
    await limits.getByLabel(label).fill(value)
    await limits.getByRole('button', { name: 'Save' }).click()
    await page
      .getByText(/^Saved/)
      .first()
      .waitFor()
  }
  await save(one, 'Recipients a day', '33')
  await save(two, 'Filters', '44')
  const allowed = async () => {
    const { limits } = (await call('GET', `/users/${id}`)).body
    return [limits.recipients.allowed, limits.filters.allowed]
  }
  expect(await allowed()).toEqual([33, 44])
  // What the second one sees by now is not taken for what they wrote.
  await expect.poll(() => two.getByLabel('Recipients a day').inputValue()).toBe('33')
  await save(two, 'Filters', '45')
  await expect.poll(allowed).toEqual([33, 45])
})
