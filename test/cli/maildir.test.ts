// Maildirs as they are found in the wild: broken names, links, pipes, sockets, files that are none, and two imports of the
// same one. Everything odd is named, the rest is moved, and nothing waits for ever.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { environmentOf, runTeal } from '../child.ts'
import { type Body, useTeal } from '../running.ts'

const service = useTeal()
const root = mkdtempSync(join(tmpdir(), 'teal-maildir-'))
let number = 0

afterAll(() => rmSync(root, { recursive: true, force: true }))

const environment = () => environmentOf(service.teal.config)

async function moved(...words: string[]): Promise<{ code: number | null; tally: Body; err: string }> {
  const { code, out, err } = await runTeal(['import-maildir', ...words, '--json'], environment())
  return { code, err, tally: out === '' ? undefined : JSON.parse(out) }
}

function maildir(): string {
  const path = join(root, `maildir${++number}`)
  for (const part of ['cur', 'new', 'tmp']) mkdirSync(join(path, part), { recursive: true })
  return path
}

function message(subject: string): string {
  return `From: a@example.org\nSubject: ${subject}\nMessage-ID: <${subject}@example.org>\n\nHello ${subject}\n`
}

async function messagesOf(user: string): Promise<Body[]> {
  const { body } = await service.call('GET', `/users/${user}/mailboxes`)
  const found: Body[] = []
  for (const { id } of body.results) {
    found.push(...(await service.call('GET', `/users/${user}/mailboxes/${id}/messages?limit=250`)).body.results)
  }
  return found
}

async function subjects(user: string): Promise<string[]> {
  return (await messagesOf(user)).map(({ subject }) => subject).sort()
}

test('what is no mail is named and passed over, and the rest is moved', async () => {
  const user = await service.user('odd')
  const path = maildir()
  const put = (name: string, text: string) => writeFileSync(join(path, name), text)
  put('cur/1704164645.M1.host:2,S', message('plain'))
  put('new/no-time-and-no-flags', message('bare'))
  put('cur/:2,S', message('nameless'))
  put(`cur/${'x'.repeat(250)}`, message('long'))
  put('cur/1704164645.M2.höst ~,:2,SZ9', message('strange'))
  writeFileSync(Buffer.concat([Buffer.from(`${path}/cur/latin-`), Buffer.from([0xe4, 0x3a])]), message('latin'))
  put('cur/1704164645.M3.host:2,S', '')
  put('cur/1704164645.M4.host:2,', '\0\x01\xff'.repeat(50))
  put('tmp/1704164645.M5.host', message('unfinished'))
  mkdirSync(join(path, 'cur/1704164645.M6.host:2,'))
  symlinkSync(join(path, 'cur'), join(path, 'cur/loop'))
  symlinkSync('loop2', join(path, 'cur/loop2'))
  symlinkSync('/etc/hostname', join(path, 'cur/outside:2,S'))
  symlinkSync('/', join(path, '.Linked'))
  execFileSync('mkfifo', [join(path, 'cur/pipe:2,S')])
  const socket = createServer()
  await new Promise<void>(resolve => socket.listen(join(path, 'cur/socket'), () => resolve()))
  put('cur/1704164646.large.host:2,', message('large'))
  truncateSync(join(path, 'cur/1704164646.large.host:2,'), limits.body.messageBytesMax + 1)

  const { code, tally, err } = await moved(`odd:${path}`)
  socket.close()
  expect(code).toBe(3)
  for (const name of ['loop', 'loop2', 'outside', 'pipe', 'socket', 'M3', 'M6', 'large', 'Linked'])
    expect(err).toContain(name)
  expect(tally).toMatchObject({ imported: 6, failed: 1, skipped: 9 })
  expect(await subjects(user)).toEqual(['', 'bare', 'latin', 'long', 'plain', 'strange'])
  expect(await moved(`odd:${path}`)).toMatchObject({ tally: { imported: 0, known: 6, failed: 1, skipped: 8 } })
})

test('names of files and folders that are no UTF-8 are read as Latin-1, and known again', async () => {
  const user = await service.user('bytes')
  const path = maildir()
  const bytes = (name: string) => Buffer.concat([Buffer.from(`${path}/`), Buffer.from(name, 'latin1')])
  writeFileSync(bytes('cur/1704164645.\xff\xfe:2,S'), message('one'))
  writeFileSync(bytes('cur/1704164645.\xff\xfd:2,S'), message('two'))
  for (const part of ['cur', 'new', 'tmp']) mkdirSync(bytes(`.Caf\xe9/${part}`), { recursive: true })
  writeFileSync(bytes('.Caf\xe9/cur/3.x:2,F'), message('three'))
  writeFileSync(bytes('.Caf\xe9/cur/large:2,'), message('large'))
  truncateSync(bytes('.Caf\xe9/cur/large:2,'), limits.transfer.wholeBytesMax + 1)
  const first = await moved(`bytes:${path}`)
  expect({ code: first.code, err: first.err }).toEqual({ code: 0, err: '' })
  expect(await subjects(user)).toEqual(['large', 'one', 'three', 'two'])
  const { body } = await service.call('GET', `/users/${user}/mailboxes`)
  expect(body.results.map(({ path: found }: Body) => found)).toContain('Café')
  const again = await moved(`bytes:${path}`)
  expect(again).toMatchObject({ code: 0, tally: { imported: 0, known: 4 } })
  expect(await subjects(user)).toHaveLength(4)
})

test('messages too large for a batch are moved exactly, whatever is read after them', async () => {
  const user = await service.user('alone')
  const path = maildir()
  const { batchBytes, headBytesMax, wholeBytesMax } = limits.transfer
  const sizes = [batchBytes + headBytesMax, wholeBytesMax - 1000].flatMap(size => [size, 10, size, 10])
  // With the line ends of the wire: what is read is sent as it is.
  const texts = sizes.map((size, at) =>
    `${message(`size-${at}`)}${`${at}\n`.repeat(size / 3)}`.replaceAll('\n', '\r\n'),
  )
  for (const [at, text] of texts.entries()) writeFileSync(join(path, `cur/${1704164645 + at}.M1.host:2,S`), text)
  expect(await moved(`alone:${path}`)).toMatchObject({ code: 0, err: '', tally: { imported: texts.length } })
  for (const { id, mailbox, subject } of await messagesOf(user)) {
    const stored = await service.raw('GET', `/users/${user}/mailboxes/${mailbox}/messages/${id}/message.eml`)
    expect((await stored.text()).endsWith(texts[subject.slice(5)] ?? '?'), subject).toBe(true)
  }
})

test('a message that streams is moved exactly, whatever its line ends', async () => {
  const user = await service.user('streams')
  const path = maildir()
  const lines = Array.from(
    { length: 40_000 },
    (_, at) => `${at} ${'y'.repeat(40)}${at % 3 === 0 ? '\r\n' : '\n'}`,
  ).join('')
  writeFileSync(join(path, 'cur/1704164645.M1.host:2,S'), `Subject: mixed\n\n${lines}`)
  expect(await moved(`streams:${path}`)).toMatchObject({ code: 0, tally: { imported: 1 } })
  const [{ mailbox, id }] = await messagesOf(user)
  const raw = await service.raw('GET', `/users/${user}/mailboxes/${mailbox}/messages/${id}/message.eml`)
  expect(await raw.text()).toBe(`Subject: mixed\n\n${lines}`.replace(/\r?\n/g, '\r\n'))
})

test('identifiers that match nobody refuse the whole call', async () => {
  const user = await service.user('known')
  const path = maildir()
  writeFileSync(join(path, 'cur/1704164645.M1.host:2,S'), message('one'))
  for (const nobody of ['nobody', 'nobody@example.com', '0123456789abcdef01234567']) {
    const { code, err, tally } = await moved(`known:${path}`, `${nobody}:${path}`)
    expect({ code, tally }).toEqual({ code: 1, tally: undefined })
    expect(err).toContain(nobody)
  }
  expect((await moved(`known:${path}`, `known:${join(root, 'nowhere')}`)).code).toBe(1)
  expect((await moved('known')).code).toBe(1)
  expect(await subjects(user)).toEqual([])
})

test('files of two Maildirs that are called alike are told apart by what is in them', async () => {
  const user = await service.user('merged')
  const paths = ['home', 'work'].map(where => {
    const path = maildir()
    for (const name of ['1:2,S', 'mail.eml', 'both.eml', 'large'])
      writeFileSync(join(path, 'cur', name), message(name === 'both.eml' ? 'both' : `${where} ${name}`))
    truncateSync(join(path, 'cur/large'), limits.transfer.wholeBytesMax + 1)
    writeFileSync(join(path, 'cur/1704164645.M1P2.host:2,S'), message('delivered once, and copied'))
    return `merged:${path}`
  })
  const all = [
    'both',
    'delivered once, and copied',
    ...['home', 'work'].flatMap(w => ['1:2,S', 'large', 'mail.eml'].map(n => `${w} ${n}`)),
  ]
  expect(await moved(paths[0] ?? '')).toMatchObject({ code: 0, tally: { imported: 5, known: 0, failed: 0 } })
  expect(await moved(paths[1] ?? '')).toMatchObject({ code: 0, tally: { imported: 3, known: 2, failed: 0 } })
  expect(await subjects(user)).toEqual(all)
  for (const pair of paths)
    expect(await moved(pair)).toMatchObject({ code: 0, tally: { imported: 0, known: 5, failed: 0 } })
  expect(await subjects(user)).toEqual(all)
})

test('two imports of the same Maildir at once bring each message once', async () => {
  const user = await service.user('twice')
  const path = maildir()
  const names = Array.from({ length: 150 }, (_, at) => `n${at}`)
  for (const [at, name] of names.entries()) {
    const folder = at % 3 === 0 ? '.Lists' : ''
    mkdirSync(join(path, folder, 'cur'), { recursive: true })
    writeFileSync(join(path, folder, `cur/1704164645.M${at}.host:2,S`), message(name))
  }
  const both = await Promise.all([moved(`twice:${path}`), moved(`twice:${path}`)])
  expect(both.map(({ code, err }) => `${code} ${err}`)).toEqual(['0 ', '0 '])
  expect(both[0].tally.imported + both[1].tally.imported).toBe(names.length)
  expect(await subjects(user)).toEqual(names.toSorted())
})

test('nothing is read through a link, and a directory without cur and new is no folder', async () => {
  const user = await service.user('links')
  const foreign = maildir()
  writeFileSync(join(foreign, 'cur/1704164645.M1.host:2,S'), message('foreign'))
  const path = join(root, 'linked')
  mkdirSync(join(path, '.Work/cur'), { recursive: true })
  symlinkSync(join(foreign, 'cur'), join(path, 'cur'))
  symlinkSync(join(foreign, 'cur'), join(path, 'new'))
  symlinkSync(join(foreign, 'cur'), join(path, '.Work/new'))
  symlinkSync('/etc/passwd', join(path, 'subscriptions'))
  symlinkSync(foreign, join(path, '.Whole'))
  for (const name of ['.git/objects', '.cache', '.Empty/tmp']) mkdirSync(join(path, name), { recursive: true })
  writeFileSync(join(path, '.Work/cur/1704164645.M2.host:2,S'), message('own'))
  const { code, tally, err } = await moved(`links:${path}`)
  expect([code, tally.imported]).toEqual([0, 1])
  for (const name of [
    '/cur: is no dir',
    '/new: is no dir',
    '.Work/new: ',
    '.git: not',
    '.cache: not',
    '.Whole: not',
    '.Empty: not',
  ]) {
    expect(err).toContain(name)
  }
  expect(await subjects(user)).toEqual(['own'])
  const { body } = await service.call('GET', `/users/${user}/mailboxes`)
  expect(body.results.map(({ path: found }: Body) => found)).not.toContain('git')
})

test('folders that become one here keep all their mail, though files have one name, and names with & are folders', async () => {
  const user = await service.user('converted')
  const path = maildir()
  const put = (folder: string, file = '1500000000.000000.mbox:2,S') => {
    mkdirSync(join(path, folder, 'cur'), { recursive: true })
    writeFileSync(join(path, folder, 'cur', file), message(`in-${folder.replaceAll(/[^a-z]/gi, '')}`))
  }
  // As converters of mbox files call them: by the second, and by the place in the file.
  for (const folder of [
    '',
    '.INBOX',
    '.Sent',
    '.Sent Messages',
    '.R&D',
    '.Q&A.2019',
    '.Lists.Caf&AOk-',
    '.Old&AJY-New',
  ])
    put(folder)
  const all = ['in-', 'in-INBOX', 'in-ListsCafAOk', 'in-OldAJYNew', 'in-QA', 'in-RD', 'in-Sent', 'in-SentMessages']
  expect(await moved(`converted:${path}`)).toMatchObject({ code: 0, err: '', tally: { imported: 8, known: 0 } })
  expect(await subjects(user)).toEqual(all)
  expect(await moved(`converted:${path}`)).toMatchObject({ code: 0, tally: { imported: 0, known: 8 } })
  const { body } = await service.call('GET', `/users/${user}/mailboxes`)
  const paths = body.results.map((one: Body) => one.path)
  expect(paths).toEqual(expect.arrayContaining(['R&D', 'Q&A/2019', 'Lists/Café', 'Old_New']))
  expect(paths).not.toContain('Sent Messages')
  // Mail of folders that cannot be called so here was not moved.
  for (const folder of ['.a..b', 'Plain']) put(folder)
  const { code, err, tally } = await moved(`converted:${path}`)
  expect({ code, tally }).toMatchObject({ code: 3, tally: { imported: 0, known: 8, skipped: 0, failed: 2 } })
  for (const name of ['/.a..b: ', '/Plain: ']) expect(err).toContain(name)
})

test('a file of many messages is told of by how many there were', async () => {
  await service.user('many')
  const file = join(root, 'many.mbox')
  const one = (at: number) =>
    `From a@example.org Mon Jan  1 10:00:00 2024\n${message(`many ${at}`)}${'y\n'.repeat(at)}\n`
  writeFileSync(file, Array.from({ length: 300 }, (_, at) => one(at)).join(''))
  const { code, err } = await runTeal(['import-mbox', `many:${file}`], environment())
  expect(code).toBe(0)
  expect(err).toContain('100% 300/300 messages')
})
