// Who is taken and who may come in, what an account is filled with, and what an application is told by its framework's names.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { afterEach, expect, test } from 'vitest'
import { startTesting } from '#testing/testing.ts'
import type { Stack, Testing, TestingOptions } from '../../src/testing.d.ts'
import { Dialogue } from '../dialogue.ts'

const open: Testing[] = []
afterEach(async () => {
  for (const mail of open.splice(0)) {
    expect(await mail.check()).toEqual([])
    await mail.close()
  }
})

async function started(options?: TestingOptions): Promise<Testing> {
  const mail = await startTesting(options)
  open.push(mail)
  return mail
}

/** Lines up to the one that answers the last of these commands; each is sent when the one before was answered. */
async function imap({ imap: port }: Testing, commands: readonly string[]): Promise<string[]> {
  const client = await Dialogue.open(port)
  const lines = [await client.line()]
  for (const command of commands) {
    client.send(`t ${command}\r\n`)
    while (!/^t /.test(lines.at(-1) ?? '')) lines.push(await client.line())
    if (command !== commands.at(-1)) lines.push('')
  }
  client.close()
  return lines
}

test('of a list, those whose address or domain is named are taken, and nobody else', async () => {
  const mail = await started({ accept: ['anna@example.com', 'Shop.example'] })
  for (const to of ['anna@example.com', 'ANNA@EXAMPLE.COM', 'any@shop.example']) await mail.send({ to, text: 'x' })
  for (const to of ['bert@example.com', 'any@sub.shop.example', 'anna@example.org'])
    await expect(mail.send({ to, text: 'x' })).rejects.toMatchObject({
      response: expect.stringMatching(/^550 5\.1\.1/),
    })
  expect(await mail.all.list()).toHaveLength(3)
  // An inbox was asked for, so it is one that is taken.
  const inbox = await mail.inbox()
  await mail.send({ to: inbox.address, text: 'x' })
  await inbox.wait()
})

test('any password opens the account that is meant, by its address or its name, and makes one that is missing', async () => {
  const mail = await started()
  const headers = { 'x-access-token': mail.rootToken, 'content-type': 'application/json' }
  const body = JSON.stringify({ username: 'carla', password: 'correct horse', address: 'carla@example.com' })
  expect((await fetch(`${mail.url}/users`, { method: 'POST', headers, body })).status).toBe(200)
  await mail.send({ to: 'carla@example.com', subject: 'For Carla' })
  for (const name of ['carla', 'carla@example.com', 'CARLA@example.com'])
    expect(await imap(mail, [`LOGIN ${name} wrong`, 'SELECT INBOX'])).toContain('* 1 EXISTS')
  expect(await imap(mail, ['LOGIN newcomer any', 'SELECT INBOX'])).toContain('* 0 EXISTS')
})

test('where accounts are real, the true password opens one, and nothing else does', async () => {
  const mail = await started({ auth: 'real' })
  const inbox = await mail.inbox()
  expect((await imap(mail, [`LOGIN ${inbox.user} ${inbox.password}`])).at(-1)).toMatch(/^t OK/)
  expect((await imap(mail, [`LOGIN ${inbox.user} wrong`])).at(-1)).toMatch(/^t NO \[AUTHENTICATIONFAILED\]/)
  expect((await imap(mail, ['LOGIN stranger any'])).at(-1)).toMatch(/^t NO \[AUTHENTICATIONFAILED\]/)
  const sent = (pass: string) =>
    createTransport({ ...mail.smtp, ignoreTLS: true, auth: { user: inbox.user, pass } }).sendMail({
      ...{ from: inbox.address, to: 'somebody@far.example', subject: 'Out', text: 'x' },
    })
  await expect(sent('wrong')).rejects.toMatchObject({ code: 'EAUTH', responseCode: 535 })
  await sent(inbox.password)
  expect((await mail.all.wait({ subject: 'Out' })).session?.login).toBe(inbox.user)
})

test('an account is filled with drafts, messages, .eml and mbox files, flags, dates and folders', async () => {
  const mail = await started()
  const inbox = await mail.inbox()
  const folder = await mkdtemp(join(tmpdir(), 'seed-'))
  const eml = join(folder, 'one.eml')
  const mbox = join(folder, 'many.mbox')
  await writeFile(eml, 'From: a@example.com\nSubject: From a file\n\nfirst\n')
  await writeFile(
    mbox,
    'From a@example.com Thu Jan  1 00:00:00 1998\nSubject: Mbox one\n\nx\n>From the start\n\n' +
      'From b@example.com Thu Jan  1 00:00:00 1998\nSubject: Mbox two\n\ny\n',
  )
  await inbox.seed({
    folders: ['Archive/2025', 'Grüße'],
    messages: [
      { subject: 'A draft', text: 'x' },
      'Subject: Whole\r\n\r\nx\r\n',
      { eml, folder: 'Archive/2025', seen: true, flagged: true, date: Date.UTC(2025, 0, 2, 3, 4, 5) },
      { mbox, folder: 'Grüße' },
    ],
  })
  await rm(folder, { recursive: true })
  const login = `LOGIN ${inbox.user} any`
  expect(await imap(mail, [login, 'SELECT INBOX'])).toContain('* 2 EXISTS')
  const old = (await imap(mail, [login, 'SELECT Archive/2025', 'FETCH 1 (FLAGS INTERNALDATE BODY.PEEK[TEXT])'])).join(
    '\n',
  )
  expect(old).toMatch(/\\Seen/)
  expect(old).toMatch(/\\Flagged/)
  expect(old).toContain('INTERNALDATE " 2-Jan-2025 03:04:05 +0000"')
  expect(old).toContain('first')
  const many = (await imap(mail, [login, 'SELECT Gr&APwA3w-e', 'FETCH 1:* (BODY.PEEK[])'])).join('\n')
  expect(many).toContain('Subject: Mbox one')
  expect(many).toContain('Subject: Mbox two')
  expect(many).toContain('\nFrom the start')
  // What a test put there itself did not arrive.
  expect(await inbox.list()).toEqual([])
  await expect(inbox.seed({ messages: [{ eml }] })).rejects.toMatchObject({ code: 'ENOENT' })
})

test('each framework finds the port by its own names', async () => {
  const mail = await started()
  const { host } = mail.smtp
  const port = String(mail.smtp.port)
  const url = `smtp://test:test@${host}:${port}`
  const expected: Record<Stack, object> = {
    smtp: { SMTP_URL: url, SMTP_HOST: host, SMTP_PORT: port, SMTP_USER: 'test', SMTP_PASSWORD: 'test' },
    nodemailer: {
      SMTP_URL: `${url}/?tls.rejectUnauthorized=false`,
      SMTP_HOST: host,
      SMTP_PORT: port,
      SMTP_SECURE: 'false',
      SMTP_USER: 'test',
      SMTP_PASS: 'test',
    },
    django: {
      EMAIL_URL: url,
      EMAIL_HOST: host,
      EMAIL_PORT: port,
      EMAIL_HOST_USER: 'test',
      EMAIL_HOST_PASSWORD: 'test',
      EMAIL_USE_TLS: '',
      EMAIL_USE_SSL: '',
    },
    laravel: {
      MAIL_MAILER: 'smtp',
      MAIL_HOST: host,
      MAIL_PORT: port,
      MAIL_USERNAME: 'test',
      MAIL_PASSWORD: 'test',
      MAIL_ENCRYPTION: 'null',
      MAIL_SCHEME: 'null',
    },
    rails: {
      SMTP_ADDRESS: host,
      SMTP_PORT: port,
      SMTP_USERNAME: 'test',
      SMTP_PASSWORD: 'test',
      SMTP_DOMAIN: 'localhost',
      SMTP_AUTHENTICATION: 'plain',
      SMTP_ENABLE_STARTTLS_AUTO: 'false',
    },
    spring: {
      SPRING_MAIL_HOST: host,
      SPRING_MAIL_PORT: port,
      SPRING_MAIL_USERNAME: 'test',
      SPRING_MAIL_PASSWORD: 'test',
      SPRING_MAIL_PROPERTIES_MAIL_SMTP_AUTH: 'true',
      SPRING_MAIL_PROPERTIES_MAIL_SMTP_STARTTLS_ENABLE: 'false',
    },
  }
  for (const [stack, variables] of Object.entries(expected)) expect(mail.env(stack as Stack)).toEqual(variables)
  expect(mail.env()).toEqual(Object.assign({}, ...Object.values(expected)))
  expect(() => mail.env('perl' as Stack)).toThrow("There is no stack 'perl'; there are smtp, nodemailer, django")
  // They are true: what is sent by them arrives.
  const { SMTP_URL = '' } = mail.env('nodemailer')
  await createTransport(SMTP_URL).sendMail({
    to: 'a@example.com',
    subject: 'By URL',
  })
  await mail.all.wait({ subject: 'By URL' })
})
