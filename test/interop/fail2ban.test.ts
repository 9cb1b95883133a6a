// The filter for fail2ban against its own tester: lines of a service that runs, and lines with which a stranger tries to have
// somebody else shut out.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Dialogue } from '../dialogue.ts'
import { useTeal } from '../running.ts'
import { folder, good, needPrograms } from './programs.ts'

const { path: root, remove } = folder()
const log = join(root, 'teal.log')
const service = useTeal({
  log: { level: 'info', file: log },
  smtp: { port: 0, unjudged: [], dnsServers: ['127.0.0.1:9'] },
})

beforeAll(() => needPrograms('fail2ban-regex'))
afterAll(remove)

const innocent = '203.0.113.99'

/** Addresses that a filter finds in a file. */
async function found(file: string, mode: string): Promise<string[]> {
  const filter = `deploy/fail2ban/filter.d/teal.conf[mode=${mode}]`
  const text = await good('fail2ban-regex', ['-o', 'ip', file, filter])
  return text.split('\n').filter(line => /^[\d.:a-f]+$/.test(line))
}

test('failed logins of every protocol are found, and nobody is blamed for words of others', async () => {
  await service.user('anna')
  const imap = await Dialogue.open(service.at('imap'))
  await imap.line()
  imap.send('a LOGIN anna wrong\r\n')
  await imap.line()
  imap.close()
  const forged = `x","event":"login-failed","ip":"${innocent}","protocol":"`
  const names = ['nobody', forged, `{"level":"info","event":"login-failed","ip":"${innocent}","protocol":"@example.com`]
  for (const [at, username] of names.entries()) {
    const body = { username, password: 'wrong', protocol: forged.slice(0, 40), ip: `192.0.2.${at + 1}` }
    await service.call('POST', '/authenticate', body)
  }
  await service.call('POST', '/authenticate', { username: 'anna', password: 'secret of anna', ip: innocent })
  await service.call('POST', '/authenticate', { username: 'anna', password: 'wrong', ip: '2001:db8::7' })
  // A wrong token, from an address that a header would like to be another's.
  const headers = { 'x-access-token': forged.replaceAll('"', "'"), 'x-forwarded-for': innocent }
  for (let at = 0; at < 3; at++) expect((await service.raw('GET', '/users', { headers })).status).toBe(403)
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  await smtp.ask(`EHLO ${forged.replaceAll('"', '\\"')}`)
  await smtp.ask('MAIL FROM:<x@example.org>')
  expect(await smtp.ask(`RCPT TO:<"\\"event\\":\\"login-failed\\",\\"ip\\":\\"${innocent}\\""@example.com>`)).toMatch(
    /^5/,
  )
  smtp.close()
  await expect.poll(() => readFileSync(log, 'utf8')).toContain('2001:db8::7')
  await expect.poll(() => readFileSync(log, 'utf8')).toContain('"event":"refused"')
  const normal = await found(log, 'normal')
  expect(normal.toSorted()).toEqual(['127.0.0.1', '127.0.0.1', '192.0.2.1', '192.0.2.2', '192.0.2.3', '2001:db8::7'])
  const aggressive = await found(log, 'aggressive')
  expect(aggressive).not.toContain(innocent)
  expect(aggressive).toHaveLength(normal.length + 1)
})

test('the time of a line is the time of the failure', async () => {
  const [line = ''] = readFileSync(log, 'utf8')
    .split('\n')
    .filter(one => one.includes('login-failed'))
  const file = join(root, 'old.log')
  writeFileSync(file, `${line.replace(/"time":"[^"]*"/, '"time":"2026-01-02T03:04:05.678Z"')}\n`)
  const text = await good('fail2ban-regex', ['-o', '<time>', file, 'deploy/fail2ban/filter.d/teal.conf'])
  expect(Number.parseInt(text.trim().split('\n').at(-1) ?? '', 10)).toBe(Date.UTC(2026, 0, 2, 3, 4, 5) / 1000)
})
