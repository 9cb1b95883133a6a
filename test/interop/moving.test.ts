// Mail that moves: out of a real Dovecot over IMAP, out of mbox files that Python and mutt wrote, and out of an audit into
// the hands of both.

import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { now, sleep } from '#lib/clock.ts'
import { dovecotPassword, withDovecot } from '../../bench/peer/dovecot.ts'
import { runTeal } from '../child.ts'
import { append, Client } from '../imap/client.ts'
import { type Body, useTeal } from '../running.ts'
import { messages } from './messages.ts'
import { folder, good, needPrograms } from './programs.ts'

const service = useTeal()
let place = { path: '', remove: () => {} }
let number = 0
let name = ''
let user = ''

beforeAll(() => needPrograms('python3', 'mutt'))

beforeEach(async () => {
  place = folder()
  name = `mover${++number}`
  user = await service.user(name)
})

afterEach(() => place.remove())

const environment = () => ({ PATH: process.env.PATH ?? '', TEAL_DATA_DIR: service.teal.config.dataDir })

async function teal(...words: string[]): Promise<Body> {
  const { code, out, err } = await runTeal([...words, '--json'], environment())
  expect(`${code} ${err}`).toBe('0 ')
  return JSON.parse(out)
}

async function mailboxes(): Promise<Body[]> {
  return (await service.call('GET', `/users/${user}/mailboxes?counters=true`)).body.results
}

/** Messages of a folder with their bytes, in order. */
async function messagesOf(path: string): Promise<Body[]> {
  const mailbox = (await mailboxes()).find(one => one.path === path)?.id
  const at = `/users/${user}/mailboxes/${mailbox}/messages`
  const { body } = await service.call('GET', `${at}?limit=250&order=asc`)
  const found: Body[] = []
  for (const one of body.results) {
    const eml = await service.raw('GET', `${at}/${one.id}/message.eml`)
    found.push({ ...one, eml: Buffer.from(await eml.arrayBuffer()).toString('latin1') })
  }
  return found
}

function dated(mailbox: string, message: string, flags: string): Buffer {
  const bytes = Buffer.from(message)
  const head = `APPEND ${mailbox} (${flags}) "02-Jan-2024 03:04:05 +0000" {${bytes.length}+}\r\n`
  return Buffer.concat([Buffer.from(head), bytes])
}

const latin = (text: string) => Buffer.from(text).toString('latin1')

test('from Dovecot over IMAP, with flags, dates and folders, once', () =>
  withDovecot(
    1,
    async ({ imap, addresses: [login = ''] }) => {
      const there = await Client.open(imap)
      await there.ok(`LOGIN ${login} ${dovecotPassword}`)
      for (const message of messages) await there.ok(dated('INBOX', message, '\\Seen $Label1'))
      await there.ok('CREATE Lists/Deep')
      await there.ok(append('Lists/Deep', 'Subject: deep\r\n\r\nFar down.\r\n', '\\Flagged \\Answered'))
      await there.ok('CREATE Sent')
      await there.ok(append('Sent', 'Subject: sent\r\n\r\nOff.\r\n'))
      const secret = join(place.path, 'secret')
      writeFileSync(secret, `${dovecotPassword}\n`)
      const words = ['import-imap', name, '--host', imap.host, '--port', String(imap.port), '--login', login]
      const whole = [...words, '--password-file', secret, '--insecure']
      expect(await teal(...whole)).toMatchObject({ imported: messages.length + 2, failed: 0, skipped: 0 })
      const inbox = await messagesOf('INBOX')
      expect(inbox.map(one => one.eml).sort()).toEqual(messages.map(latin).sort())
      expect(inbox.every(one => one.seen && one.idate === '2024-01-02T03:04:05.000Z')).toBe(true)
      expect(await messagesOf('Lists/Deep')).toMatchObject([{ subject: 'deep', flagged: true, answered: true }])
      expect(await messagesOf('Sent Mail')).toMatchObject([{ subject: 'sent' }])
      await there.ok(append('INBOX', 'Subject: newer\r\n\r\nJust in.\r\n'))
      expect(await teal(...whole)).toMatchObject({ imported: 1, known: messages.length + 2 })

      // Killed in the middle, it goes on where it was.
      const many = 400
      for (let at = 0; at < many; at++)
        await there.ok(append('Lists/Deep', `Subject: ${at}\r\n\r\n${'x'.repeat(8000)}\r\n`))
      const child = spawn(process.execPath, ['dist/main.js', ...whole], { env: environment(), stdio: 'ignore' })
      const ended = new Promise(resolve => child.once('exit', resolve))
      const total = async () => (await mailboxes()).find(one => one.path === 'Lists/Deep')?.total
      while ((await total()) < 2 && child.exitCode === null) await sleep(5)
      child.kill('SIGKILL')
      await ended
      const { imported, known } = await teal(...whole)
      expect(imported + known).toBe(messages.length + 3 + many)
      expect(await total()).toBe(many + 1)
      there.close()
    },
    { imap: true },
  ))

const texts = ['Subject: one\n\nFrom me to you\nfine\n', 'Subject: two\n\nplain\n\n', 'Subject: three\n\nlast\n']
const wire = (text: string) => text.replaceAll('\n', '\r\n')

const writing = `
import mailbox, sys, json
box = mailbox.mbox(sys.argv[1])
for text in json.load(sys.stdin):
    message = mailbox.mboxMessage(text.encode())
    message.set_flags('RF')
    message.set_from('a@example.org', (2024, 1, 2, 3, 4, 5, 0, 0, 0))
    box.add(message)
box.flush()
`

async function writtenByPython(): Promise<string> {
  const file = join(place.path, 'box')
  await good('python3', ['-c', writing, file], { input: JSON.stringify(texts) })
  return file
}

/** Runs mutt on a box, on a terminal of its own, with keys that it presses itself. */
function mutt(box: string, commands: string): Promise<string> {
  const rc = join(place.path, 'muttrc')
  const settings = [
    'set mbox_type=mbox',
    // It asks for a folder that is not there.
    `set folder=${place.path}`,
    'set copy=no',
    'set confirmappend=no',
    'set confirmcreate=no',
    'set quit=yes',
    'set move=no',
  ]
  writeFileSync(rc, `${settings.join('\n')}\npush "${commands}"\n`)
  const command = `mutt -n -F ${rc} -f ${box}`
  const env = { HOME: place.path, TERM: 'vt100' }
  return good('script', ['-qec', command, '/dev/null'], { env })
}

test('from an mbox file that Python wrote, and one that mutt wrote of it', async () => {
  const file = await writtenByPython()
  expect(await teal('import-mbox', `${name}:${file}`)).toMatchObject({ imported: texts.length, failed: 0 })
  const taken = await messagesOf('INBOX')
  expect(taken.map(one => one.subject)).toEqual(['one', 'two', 'three'])
  expect(taken.every(one => one.seen && one.flagged && one.idate === '2024-01-02T03:04:05.000Z')).toBe(true)
  expect(taken[0].eml).toContain('\r\nFrom me to you\r\nfine\r\n')
  expect(await teal('import-mbox', `${name}:${file}`)).toMatchObject({ imported: 0, known: texts.length })
  const copy = join(place.path, 'copy')
  await mutt(file, `T~A\\n;C${copy}\\nx`)
  expect(await teal('import-mbox', '--folder', 'From mutt', `${name}:${copy}`)).toMatchObject({
    imported: texts.length,
  })
  expect((await messagesOf('From mutt')).map(one => one.subject)).toEqual(['one', 'two', 'three'])
})

const reading = `
import mailbox, sys, json
print(json.dumps([message.as_bytes().decode('latin1') for message in mailbox.mbox(sys.argv[1])]))
`

test('out of an audit into Python and mutt', async () => {
  const client = await Client.login(service.at('imap'), name)
  const own = [...messages, wire('Subject: quoted\n\nFrom here\n>From there\n>>From far\n')]
  for (const message of own) await client.ok(append('INBOX', message))
  client.close()
  const { token } = await service.teal.core.access.provision('audit', 'audit')
  const expires = new Date(now() + 3_600_000).toISOString()
  const { body: made } = await service.call('POST', '/audit', { user, expires }, token)
  while ((await service.call('GET', `/audit/${made.id}`, undefined, token)).body.import.status !== 'imported')
    await sleep(20)
  const answer = await service.raw('GET', `/audit/${made.id}/export.mbox`, { headers: { 'x-access-token': token } })
  const file = join(place.path, 'export.mbox')
  writeFileSync(file, Buffer.from(await answer.arrayBuffer()))
  // Python and mutt leave the quotes as they stand (mboxrd: one `>` each).
  const plain = (text: string) => text.replace(/^X-Export-Mailbox: INBOX\n/, '').replace(/^>(>*From )/gm, '$1')
  const wanted = own.map(message => latin(message).replaceAll('\r\n', '\n')).sort()
  const read = JSON.parse(await good('python3', ['-c', reading, file])) as string[]
  expect(read.map(plain).sort()).toEqual(wanted)
  const copy = join(place.path, 'copied')
  await mutt(file, `T~A\\n;C${copy}\\nx`)
  const copied = JSON.parse(await good('python3', ['-c', reading, copy])) as string[]
  expect(copied).toHaveLength(own.length)
  expect(readFileSync(copy, 'latin1')).toContain('\n>From here\n>>From there\n>>>From far\n')
})
