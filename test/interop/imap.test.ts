// Real IMAP programs against the service: mbsync, offlineimap, interimap, fetchmail, mutt, curl, imapflow, Python's imaplib.

import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ImapFlow } from 'imapflow'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { append, Client } from '../imap/client.ts'
import { useTeal } from '../running.ts'
import { messages } from './messages.ts'
import { folder, good, needPrograms } from './programs.ts'

const service = useTeal()
let number = 0
let user = ''
let password = ''
let place = { path: '', remove: () => {} }

beforeAll(() => {
  needPrograms('mbsync', 'offlineimap', 'interimap', 'fetchmail', 'mutt', 'curl', 'script', 'python3')
})

beforeEach(async () => {
  user = `anna${++number}`
  password = `secret of ${user}`
  await service.user(user)
  place = folder()
})

afterEach(() => place.remove())

async function fill(mailbox = 'INBOX'): Promise<void> {
  const client = await Client.login(service.at('imap'), user)
  for (const message of messages) await client.ok(append(mailbox, message))
  client.close()
}

/** The messages of a mailbox as the service has them, with their flags. */
async function stored(mailbox: string, of = user): Promise<{ text: string; flags: string }[]> {
  const client = await Client.login(service.at('imap'), of)
  await client.ok(`EXAMINE ${mailbox}`)
  const lines = (await client.ok('FETCH 1:* (FLAGS BODY.PEEK[])')).filter(line => / FETCH /.test(line))
  client.close()
  return lines.map(line => {
    const literal = /BODY\[\] \{(\d+)\}\r\n/.exec(line)
    const start = Buffer.byteLength(line.slice(0, (literal?.index ?? 0) + (literal?.[0].length ?? 0)))
    const text = Buffer.from(line)
      .subarray(start, start + Number(literal?.[1]))
      .toString()
    return { text, flags: /FLAGS \(([^)]*)\)/.exec(line)?.[1] ?? '' }
  })
}

/** The files of a Maildir folder. */
function files(path: string): { name: string; text: string }[] {
  return ['cur', 'new'].flatMap(part =>
    readdirSync(join(path, part)).map(name => ({
      name: join(path, part, name),
      text: readFileSync(join(path, part, name), 'utf8'),
    })),
  )
}

/** As a Maildir has it: LF, and without the line mbsync writes into what it is copying. */
const unix = (text: string) => text.replaceAll('\r\n', '\n').replace(/^X-TUID: .*\n/m, '')
const sorted = (texts: readonly string[]) => [...texts].sort()

test('mbsync goes both ways until nothing is left to do, byte for byte', async () => {
  await fill()
  const { host, port } = service.at('imap')
  const rc = join(place.path, 'mbsyncrc')
  const mail = join(place.path, 'mail')
  mkdirSync(mail)
  writeFileSync(
    rc,
    `IMAPAccount teal\nHost ${host}\nPort ${port}\nUser ${user}\nPass "${password}"\nSSLType None\nAuthMechs PLAIN\n\n` +
      `IMAPStore far\nAccount teal\n\nMaildirStore near\nPath ${mail}/\nInbox ${mail}/INBOX\nSubFolders Verbatim\n\n` +
      `Channel all\nFar :far:\nNear :near:\nPatterns *\nCreate Both\nExpunge Both\nSyncState *\n`,
  )
  const sync = () => good('mbsync', ['-c', rc, 'all'])
  await sync()
  const inbox = join(mail, 'INBOX')
  expect(sorted(files(inbox).map(file => unix(file.text)))).toEqual(sorted(messages.map(unix)))

  // Here: one is read, one deleted, one is new. There: one is flagged, one deleted.
  const [first, second] = files(inbox)
  const rename = (name: string, flags: string) =>
    renameSync(name, name.replace(/\/(new|cur)\/([^:]*)(:.*)?$/, `/cur/$2:2,${flags}`))
  rename(first?.name ?? '', 'S')
  rename(second?.name ?? '', 'T')
  writeFileSync(join(inbox, 'new', '1700000000.local.host'), unix(messages[0] ?? '').replace('plain', 'made here'))
  const client = await Client.login(service.at('imap'), user, 'INBOX')
  const here = files(inbox).map(file => file.text)
  await client.ok('STORE 5 +FLAGS (\\Flagged)')
  await client.ok('STORE 7 +FLAGS (\\Deleted)')
  await client.ok('EXPUNGE')
  client.close()
  await sync()
  await sync()
  const there = await stored('INBOX')
  expect(sorted(there.map(one => unix(one.text)))).toEqual(sorted(files(inbox).map(file => unix(file.text))))
  expect(there.length).toBe(here.length - 2)
  expect(there.filter(one => one.flags.includes('\\Seen'))).toHaveLength(1)
  expect(files(inbox).filter(file => /:2,[A-Z]*F/.test(file.name))).toHaveLength(1)
  expect(there.some(one => one.text.includes('made here'))).toBe(true)

  const before = files(inbox).map(file => file.name)
  await sync()
  expect(files(inbox).map(file => file.name)).toEqual(before)
  expect(await stored('INBOX')).toEqual(there)
})

test('offlineimap fetches everything and carries flags back', async () => {
  await fill()
  const { host, port } = service.at('imap')
  const rc = join(place.path, 'offlineimaprc')
  const mail = join(place.path, 'mail')
  writeFileSync(
    rc,
    `[general]\naccounts = teal\nmetadata = ${place.path}/meta\n\n[Account teal]\nlocalrepository = near\nremoterepository = far\n\n` +
      `[Repository near]\ntype = Maildir\nlocalfolders = ${mail}\nsep = /\n\n` +
      `[Repository far]\ntype = IMAP\nremotehost = ${host}\nremoteport = ${port}\nremoteuser = ${user}\nremotepass = ${password}\n` +
      `ssl = no\nstarttls = no\nauth_mechanisms = PLAIN\n`,
  )
  const sync = () => good('offlineimap', ['-o', '-c', rc, '-u', 'basic'], { ms: 120_000 })
  await sync()
  const inbox = join(mail, 'INBOX')
  const subject = (text: string) => /^Subject: (.*)$/m.exec(text)?.[1]?.trim()
  expect(sorted(files(inbox).map(file => subject(file.text) ?? ''))).toEqual(
    sorted(messages.map(text => subject(text) ?? '')),
  )
  const [first] = files(inbox)
  renameSync(first?.name ?? '', (first?.name ?? '').replace(/\/(new|cur)\//, '/cur/').replace(/:2,.*$/, ':2,FS'))
  await sync()
  expect((await stored('INBOX')).filter(one => one.flags.includes('\\Flagged'))).toHaveLength(1)
})

test('interimap, which asks for nothing but what changed (QRESYNC), keeps two accounts alike', async () => {
  const other = `other${number}`
  await service.user(other)
  const small = messages.filter(text => text.length < 10_000)
  const far = await Client.login(service.at('imap'), user, 'INBOX')
  for (const message of small) await far.ok(append('INBOX', message))
  const odd = '"a.b/\\"c\\" &APY-"'
  for (const command of [`CREATE ${odd}`, append(odd, small[0] ?? '')]) await far.ok(command)
  const { host, port } = service.at('imap')
  const side = (name: string, account: string) =>
    `[${name}]\ntype = imap\nhost = ${host}\nport = ${port}\nSTARTTLS = NO\nauth = PLAIN\nusername = ${account}\npassword = secret of ${account}\n`
  const rc = join(place.path, 'interimaprc')
  writeFileSync(rc, `database = ${place.path}/state.db\n${side('local', other)}${side('remote', user)}`, {
    mode: 0o600,
  })
  const sync = () => good('interimap', [`--config=${rc}`], { env: { XDG_DATA_HOME: place.path } })
  const inbox = async (of: string) =>
    sorted((await stored('INBOX', of)).map(one => `${one.flags.split(' ').sort().join(' ')} ${one.text}`))
  await sync()
  expect((await stored(odd, other)).map(one => one.text)).toEqual([small[0]])

  const near = await Client.login(service.at('imap'), other, 'INBOX')
  await far.ok('STORE 1,4 +FLAGS (\\Flagged $Work)')
  await far.ok('STORE 2 +FLAGS (\\Deleted)')
  await near.ok('STORE 5 +FLAGS (\\Seen)')
  await near.ok('STORE 3 +FLAGS (\\Deleted)')
  for (const client of [far, near]) await client.ok('EXPUNGE')
  await near.ok(append('INBOX', (small[0] ?? '').replace('plain', 'made here')))
  for (const client of [far, near]) client.close()
  await sync()
  const here = await inbox(other)
  expect(here).toEqual(await inbox(user))
  expect(here).toHaveLength(small.length - 1)
  expect(here.filter(one => one.startsWith('$Work \\Flagged '))).toHaveLength(2)
  expect(here.filter(one => one.startsWith('\\Seen '))).toHaveLength(1)
})

test('fetchmail fetches over IMAP and marks what it took', async () => {
  await fill()
  const { host, port } = service.at('imap')
  const rc = join(place.path, 'fetchmailrc')
  const box = join(place.path, 'box')
  writeFileSync(
    rc,
    `poll ${host} service ${port} protocol IMAP auth password user "${user}" password "${password}" sslproto "" keep mda "cat >> ${box}"\n`,
    { mode: 0o600 },
  )
  await good('fetchmail', ['-f', rc, '--pidfile', join(place.path, 'pid'), '--invisible'], {
    env: { HOME: place.path },
  })
  const taken = readFileSync(box, 'utf8')
  for (const message of messages) expect(taken).toContain(/^Subject: .*$/m.exec(message)?.[0].trim())
  expect((await stored('INBOX')).every(one => one.flags.includes('\\Seen'))).toBe(true)
})

test('mutt copies, flags and deletes', async () => {
  await fill()
  const { host, port } = service.at('imap')
  const rc = join(place.path, 'muttrc')
  writeFileSync(
    rc,
    `set imap_user="${user}"\nset imap_pass="${password}"\nset ssl_starttls=no\nset ssl_force_tls=no\nset folder="imap://${host}:${port}/"\n` +
      `set spoolfile="+INBOX"\nset confirmappend=no\nset confirmcreate=no\nset delete=yes\nset quit=yes\nset copy=no\nset header_cache=""\nset tmpdir="${place.path}"\nset resolve=no\nset wait_key=no\n` +
      `push "<tag-pattern>~A<enter><tag-prefix><copy-message>=Copied<enter><first-entry><flag-message><last-entry><delete-message><sync-mailbox><quit>"\n`,
  )
  await good('script', ['-qec', `mutt -F ${rc}`, '/dev/null'], { env: { TERM: 'vt100', HOME: place.path }, ms: 60_000 })
  const copied = await stored('Copied')
  expect(copied.map(one => one.text)).toEqual(messages)
  const inbox = await stored('INBOX')
  expect(inbox).toHaveLength(messages.length - 1)
  expect(inbox.filter(one => one.flags.includes('\\Flagged'))).toHaveLength(1)
})

test('curl lists, fetches, searches and stores', async () => {
  await fill()
  const { host, port } = service.at('imap')
  const url = `imap://${host}:${port}`
  const login = ['-s', '-S', '-u', `${user}:${password}`]
  expect(await good('curl', [...login, `${url}/`])).toContain('"Sent Mail"')
  expect(await good('curl', [...login, `${url}/INBOX;UID=1`])).toBe(messages[0])
  expect(await good('curl', [...login, `${url}/INBOX?SUBJECT%20dots`])).toContain('* SEARCH 2')
  const file = join(place.path, 'message.eml')
  writeFileSync(file, messages[3] ?? '')
  await good('curl', [...login, '-T', file, `${url}/Drafts`])
  expect((await stored('Drafts')).map(one => one.text)).toEqual([messages[3]])
  const secure = service.at('imaps')
  expect(await good('curl', [...login, '-k', `imaps://${secure.host}:${secure.port}/INBOX;UID=1`])).toBe(messages[0])
  expect(await good('curl', [...login, '-k', '--ssl-reqd', `${url}/INBOX;UID=1`])).toBe(messages[0])
})

test('imapflow reads, changes, searches, moves and idles', async () => {
  await fill()
  const { host, port } = service.at('imap')
  const client = new ImapFlow({
    host,
    port,
    secure: false,
    auth: { user, pass: password },
    logger: false,
    tls: { rejectUnauthorized: false },
  })
  await client.connect()
  const lock = await client.getMailboxLock('INBOX')
  try {
    const sources: string[] = []
    for await (const message of client.fetch('1:*', {
      source: true,
      envelope: true,
      bodyStructure: true,
      flags: true,
      threadId: true,
    })) {
      sources.push(message.source?.toString() ?? '')
      expect(message.envelope?.from?.[0]?.address).toBe('bea@example.net')
    }
    expect(sources).toEqual(messages)
    await client.messageFlagsAdd('1:2', ['\\Seen', '$Work'])
    expect(await client.search({ seen: true }, { uid: true })).toEqual([1, 2])
    expect(await client.search({ body: 'From here' })).toEqual([2])
    const { content = [] } = await client.download('6', '1')
    let size = 0
    for await (const chunk of content) size += (chunk as Buffer).length
    expect(size).toBe(20_000 * 60)
    expect(await client.messageMove('3', 'Trash')).toMatchObject({ destination: 'Trash' })
    expect(await client.status('Trash', { messages: true })).toMatchObject({ messages: 1 })
    const arrived = new Promise(resolve => client.once('exists', resolve))
    const idling = client.idle()
    await fill()
    expect(await arrived).toMatchObject({ path: 'INBOX' })
    await client.noop()
    await idling
  } finally {
    lock.release()
    await client.logout()
  }
})

test("Python's imaplib", async () => {
  await fill()
  const { host, port } = service.at('imap')
  const text = await good('python3', ['-c', python, host, String(port), user, password])
  expect(text.trim().split('\n')).toEqual([
    `exists ${messages.length}`,
    'same True',
    'search 2',
    'flags True',
    'moved 1',
    'left 6',
  ])
})

const python = `
import imaplib, sys
host, port, user, password = sys.argv[1:5]
m = imaplib.IMAP4(host, int(port))
m.login(user, password)
status, data = m.select('INBOX')
print('exists', data[0].decode())
sizes = m.fetch('1:*', '(RFC822.SIZE BODY.PEEK[])')[1]
print('same', all(int(p[0].split(b'RFC822.SIZE ')[1].split()[0]) == len(p[1]) for p in sizes if isinstance(p, tuple)))
print('search', m.search(None, 'SUBJECT', '"dots"')[1][0].decode())
print('flags', b'Flagged' in m.store('1', '+FLAGS', '(\\\\Flagged)')[1][0])
m.create('Moved')
m.copy('1', 'Moved')
m.store('1', '+FLAGS', '(\\\\Deleted)')
m.expunge()
print('moved', m.select('Moved')[1][0].decode())
print('left', m.select('INBOX')[1][0].decode())
m.close()
m.logout()
`
