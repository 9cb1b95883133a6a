// Tests as others write them, one for each runner: they start a service, have mail delivered to it and read it over the API.
// None of them closes what a runner does not need closed, where the name says so.

const body = `
  const teal = await startTeal({ quota: { storage: '10MB' } })
  const headers = { 'x-access-token': teal.rootToken, 'content-type': 'application/json' }
  const call = async (path, form) => {
    const how = form === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(form) }
    return (await fetch(teal.url + path, how)).json()
  }
  const { id } = await call('/users', { username: 'anna', password: 'correct horse', address: 'anna@example.com' })
  const { host, port } = teal.listeners.smtp
  const said = await new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, host)
    socket.on('data', chunk => { text += chunk })
    socket.on('end', () => resolve(text))
    socket.on('error', reject)
    socket.end(['EHLO app.example', 'MAIL FROM:<app@example.net>', 'RCPT TO:<anna@example.com>', 'DATA',
      'Subject: Welcome', '', 'Hello', '.', 'QUIT', ''].join('\\r\\n'))
  })
  const { results } = await call('/users/' + id + '/search?q=Hello')
  const seen = [results.length, results[0]?.subject, (await teal.check()).length].join()
  if (seen !== '1,Welcome,0') throw new Error(seen + ' ' + said)
`

const needs = `import { connect } from 'node:net'\nimport { startTeal } from 'teal'\n`
const needsCommon = `const { connect } = require('node:net')\nconst { startTeal } = require('teal')\n`
const close = '  await teal.close()\n'

export const samples: Readonly<Record<string, string>> = {
  'plain.test.mjs': `${needs}import { test } from 'node:test'\ntest('mail', async () => {${body}${close}})\n`,
  'plain.test.cjs': `${needsCommon}const { test } = require('node:test')\ntest('mail', async () => {${body}${close}})\n`,
  'unclosed.test.mjs': `${needs}import { test } from 'node:test'\ntest('mail', async () => {${body}})\n`,
  'vitest/a.test.mjs': `${needs}import { test } from 'vitest'\ntest('mail', async () => {${body}${close}})\n`,
  'vitest/unclosed.test.mjs': `${needs}import { test } from 'vitest'\ntest('mail', async () => {${body}})\n`,
  'jest/module.test.mjs': `${needs}test('mail', async () => {${body}${close}})\n`,
  'jest/common.test.cjs': `${needsCommon}test('mail', async () => {${body}${close}})\n`,
  'jest/unclosed.test.cjs': `${needsCommon}test('mail', async () => {${body}})\n`,
  'playwright/a.spec.mjs': `${needs}import { test } from '@playwright/test'\ntest('mail', async () => {${body}${close}})\n`,
  'failing/playwright.config.mjs': `export default { testMatch: '*.failing.mjs' }\n`,
  'failing/mail.failing.mjs': `import { expect, test as base } from '@playwright/test'
import { mailFixtures } from 'teal/testing/playwright'
const test = base.extend(mailFixtures)
test('mail', async ({ mail, inbox }) => {
  await mail.send({ to: inbox.address, subject: 'Welcome', text: 'x', html: '<p>x</p>' })
  expect((await inbox.wait()).subject).toBe('Another')
})
`,
  'jest/jest.config.json': JSON.stringify({
    testEnvironment: 'node',
    testMatch: ['**/*.test.mjs', '**/*.test.cjs'],
    moduleFileExtensions: ['js', 'mjs', 'cjs', 'json', 'node'],
    transform: {},
    testTimeout: 60_000,
  }),
  'types/module.mts': `import { startTeal, type Teal } from 'teal'
const teal: Teal = await startTeal({ quota: { storage: '10MB' }, imap: { enabled: false } }, { keepAlive: true })
const port: number | undefined = teal.listeners.imap?.port ?? teal.listeners.web?.port
// @ts-expect-error
const wrong: number = teal.url
export const seen: [string, number | undefined, number, string[]] = [teal.rootToken, port, wrong, await teal.check()]
await teal.close()
`,
  'types/testing.mts': `import { connectTesting, type Inbox, type Mail, matchers, startTesting, type TestingClient } from 'teal/testing'
import setup from 'teal/testing/global'
import { mailFixtures } from 'teal/testing/playwright'
const mail = await startTesting({ accept: ['example.com'], auth: 'real', dns: { 'example.com': 'v=spf1 -all' }, config: { mail: { maxSize: '1MB' } } })
const inbox: Inbox = await mail.inbox('anna')
await inbox.seed({ folders: ['A'], messages: [{ subject: 'x' }, { eml: 'a.eml', folder: 'A', seen: true }] })
const one: Mail = await inbox.wait({ subject: /x/, headers: { 'x-tag': 'y' } }, { timeout: 10 })
const many: Mail[] = await inbox.wait(undefined, { count: 2 })
await mail.fail({ at: 'rcpt', reply: '451 4.3.0 Later', chance: 0.5, seed: 1 })
await mail.fail({ at: 'end', bounce: '550 5.1.1 Gone', after: 10 })
// @ts-expect-error
await mail.fail({ at: 'rcpt' })
// @ts-expect-error
await inbox.wait({ subjet: 'x' })
const client: TestingClient = await connectTesting()
const end: () => Promise<void> = await setup()
export const seen = [one.attachments[0]?.content, many, matchers.toHaveLink(one), mailFixtures.mail, mail.env('rails'), client, end]
await mail.close()
`,
  'types/matchers.mts': `import type { MailMatchers } from 'teal/testing'
interface Assertion extends MailMatchers<void> {}
export function look(expect: (mail: unknown) => Assertion): void {
  expect(1).toHaveCode('123456')
  expect(1).toHaveLink()
  expect(1).toHaveAttachment({ filename: /pdf$/ })
  // @ts-expect-error
  expect(1).toHaveSubject()
}
`,
  'types/common.cts': `import teal = require('teal')
export const started: Promise<teal.Teal> = teal.startTeal()
`,
}

/** Compiler options under which all of it must hold. */
export const compilerOptions = { strict: true, skipLibCheck: false, noEmit: true, target: 'es2022', types: [] }
