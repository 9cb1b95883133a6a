// Every page in the other languages, each looked at: nothing is cut off or untold, and what was written elsewhere stays as it is. And every page of
// the service gone through with the keyboard alone.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Account, account, mail } from '../../http/api/mail-world.ts'
import { glance, settled, shoot, tabThrough, usePage } from './page.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-languages-'))
const pages = usePage({
  backup: { folder: join(folder, 'points') },
  log: { level: 'info', file: join(folder, 'log') },
  outbound: { relay: 'smtp://127.0.0.1:1' },
  network: { allowPrivate: ['127.0.0.0/8'] },
})
const { service } = pages
const { call } = service
let user: Account
let servicePages: readonly string[]

beforeAll(async () => {
  user = await account(service, 'spoken', { name: 'Sam Spoken' })
  await user.call('POST', '/filters', { name: 'Bills', query: { from: 'a@b.example' }, action: { flag: true } })
  await user.call('POST', '/asps', { description: 'Phone', scopes: ['imap'] })
  await user.call('PUT', '/autoreply', { status: true, text: 'Away' })
  const gone = await user.put('INBOX', mail('Gone', 'x'))
  await user.call('DELETE', `/mailboxes/${user.box('INBOX')}/messages/${gone}`)
  await user.call('POST', '/submit', { to: [{ address: 'a@far.example' }], subject: 'x', text: 'x' })
  await call('POST', '/addresses/forwarded', { address: 'info@example.com', targets: ['a@far.example'] })
  await call('PUT', '/domains/example.com', { tags: ['paid'] })
  const { body: hook } = await call('POST', '/webhooks', { type: ['*'], url: 'http://127.0.0.1:1/' })
  const [queued] = (await call('GET', '/outbound/messages')).body.results
  servicePages = [
    ...['', '/users', `/users/${user.id}`, '/addresses', '/domains', '/domains/example.com', '/queue'],
    ...[`/queue/${queued.queueId}`, '/trace', '/log', '/certificates', '/webhooks', `/webhooks/${hook.id}`, '/tokens'],
    ...['/settings', '/backups', '/no-such-page'],
  ]
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const ownPages = [
  ...['', '/addresses', '/password', '/factors', '/programs', '/activity', '/filters', '/autoreply', '/forwarding'],
  ...['/encryption', '/data', '/archive', '/no-such-page'],
]

const languages = [
  ['de', 'ltr'],
  ['ar', 'rtl'],
] as const

/** Words that are English and nothing else, and what no text may come to. */
const foreign = /\b(the|your|this|with|from|and|not|undefined|NaN)\b|\[object|Invalid Date/

for (const [locale, direction] of languages) {
  test(`${locale}: every page of an account and of the service`, async () => {
    for (const [base, as, paths] of [
      ['/app/account', { as: 'spoken' }, ownPages],
      ['/app/service', { token: service.teal.rootToken }, servicePages],
    ] as const) {
      const page = await pages.visit(base, { ...as, locale })
      expect(await page.locator('html').getAttribute('dir')).toBe(direction)
      for (const path of paths) {
        await settled(page, base + path)
        await glance(page).catch(error => {
          throw new Error(path, { cause: error })
        })
        // Lines of the log and explanations of settings are the service’s own words, in English.
        const said = await page.locator('main').innerText()
        if (!/log|settings|users\/|queue|domains\//.test(path))
          expect(said.match(foreign), `${path}: ${said}`).toBeNull()
        await shoot(page, `${locale}${base.replace('/app', '')}${path}`.replaceAll('/', '-'))
      }
    }
  })
}

test('every page of the service is gone through with the keyboard alone', async () => {
  const page = await pages.visit('/app/service', { token: service.teal.rootToken })
  for (const path of servicePages.filter(one => one !== '/settings')) {
    await settled(page, `/app/service${path}`)
    await page.locator('main').focus()
    await tabThrough(page, path)
  }
})
