// Mail from IMAP servers that number as others do, refuse, or lie: what they have arrives, and nothing is taken for something else.

import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { environmentOf, runTeal } from '../../../child.ts'
import { type Body, useTeal } from '../../../running.ts'
import { type Account, account } from '../mail-world.ts'

const service = useTeal({ network: { allowPrivate: ['127.0.0.0/8', '::1/128'] } })

/** Folder of the other server -> subjects of its messages, or the answer to whoever opens or searches it, or what is told beside. */
type Folders = Readonly<
  Record<
    string,
    readonly string[] | { readonly opened: string } | { readonly searched: string } | { readonly beside: string }
  >
>

/** Accounts there, by their login. Every folder there has UIDVALIDITY 1. */
const there: Record<string, Folders> = {
  alice: {
    INBOX: ['alice one', 'alice two'],
    Sent: ['alice sent'],
    'Sent Items': ['alice sent from elsewhere'],
    Closed: { opened: 'NO [NOPERM] not for you' },
    Busy: { searched: 'NO [INUSE] not now' },
    Zoo: ['alice last'],
  },
  sales: { INBOX: ['sales one', 'sales two'] },
  // Each line names as many numbers as a client counts up to.
  liar: { INBOX: { beside: '* VANISHED 1:16777216\r\n'.repeat(200) } },
}

/** Subjects of messages that the other server has and does not hand over, and what it does when it is asked. */
const withheld: Record<string, 'NO' | 'NIL' | 'end'> = { damaged: 'NO', bodiless: 'NIL', fatal: 'end', deadly: 'end' }

/** An account there with such messages among others, and with a folder whose name cannot be one here. */
const troubled: Folders = {
  INBOX: ['trouble one', 'damaged', 'bodiless', 'trouble two', 'fatal', 'trouble three'],
  'No//where': ['homeless'],
  Work: ['deadly', 'trouble last'],
}

/** One that ends the connection over everything. */
const hopeless: Folders = { INBOX: ['hope', ...Array.from({ length: 9 }, () => 'fatal'), 'despair'] }

let server: Server
let port = 0

beforeAll(async () => {
  server = createServer(socket => {
    let folders: Folders = {}
    let folder = ''
    socket.on('error', () => {})
    socket.write('* OK [CAPABILITY IMAP4rev1] ready\r\n')
    let held = ''
    socket.on('data', chunk => {
      held += chunk.toString('latin1')
      for (let end = held.indexOf('\r\n'); end >= 0; end = held.indexOf('\r\n')) {
        const line = held.slice(0, end)
        held = held.slice(end + 2)
        const [tag, ...words] = line.split(' ')
        const text = words.join(' ')
        const say = (...lines: string[]) => void socket.write(lines.map(one => `${one}\r\n`).join(''))
        const opened = folders[folder]
        const subjects = Array.isArray(opened) ? (opened as string[]) : []
        if (/^LOGIN/i.test(text)) {
          folders = { ...there, troubled, hopeless }[/^LOGIN "?(\w+)/i.exec(text)?.[1] ?? ''] ?? {}
          say(`${tag} OK in`)
        } else if (/^(LIST|LSUB)/i.test(text)) {
          const names = / ""$/.test(text) ? ['* LIST (\\Noselect) "/" ""'] : []
          const word = text.slice(0, 4).toUpperCase()
          if (names.length === 0) for (const name of Object.keys(folders)) names.push(`* ${word} () "/" "${name}"`)
          say(...names, `${tag} OK listed`)
        } else if (/^(EXAMINE|SELECT)/i.test(text)) {
          folder = /^\w+ "?([^"]*)"?/.exec(text)?.[1] ?? ''
          const found = folders[folder]
          if (found !== undefined && 'opened' in found) say(`${tag} ${found.opened}`)
          else {
            const exists = Array.isArray(found) ? found.length : 1
            if (found !== undefined && 'beside' in found) socket.write(found.beside)
            say(`* ${exists} EXISTS`, '* FLAGS (\\Seen)', '* OK [UIDVALIDITY 1] it is', `${tag} OK [READ-ONLY] open`)
          }
        } else if (/^UID SEARCH/i.test(text)) {
          if (opened !== undefined && 'searched' in opened) say(`${tag} ${opened.searched}`)
          else say(`* SEARCH ${subjects.map((_, at) => at + 1).join(' ')}`, `${tag} OK found`)
        } else if (/^UID FETCH/i.test(text)) {
          const uid = Number(/^UID FETCH (\d+)/i.exec(text)?.[1])
          const message = `Subject: ${subjects[uid - 1]}\r\n\r\nx\r\n`
          const about = `UID ${uid} FLAGS () RFC822.SIZE ${message.length} INTERNALDATE "01-Jan-2020 00:00:00 +0000"`
          const trouble = /BODY/i.test(text) ? withheld[subjects[uid - 1] ?? ''] : undefined
          const whole = trouble === 'NIL' ? 'NIL' : `{${message.length}}\r\n${message}`
          const body = /BODY/i.test(text) ? ` BODY[] ${whole}` : ''
          if (trouble === 'end') socket.end(`* ${uid} FETCH (UID ${uid} BODY[] {${message.length}}\r\nSubj`)
          else if (trouble === 'NO') say(`${tag} NO [SERVERBUG] this one is damaged`)
          else say(`* ${uid} FETCH (${about}${body})`, `${tag} OK fetched`)
        } else if (/^LOGOUT/i.test(text)) {
          say('* BYE', `${tag} OK out`)
          socket.end()
        } else if (/^CAPABILITY/i.test(text)) say('* CAPABILITY IMAP4rev1', `${tag} OK done`)
        else say(`${tag} OK done`)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})

afterAll(() => void server.close())

const form = (login: string) => ({ host: '127.0.0.1', port, security: 'none', login, password: 'x' })

async function fetched(to: Account, login: string): Promise<Body> {
  return await to.done((await to.call('POST', '/import/imap', form(login))).body.task)
}

/** The same from the command line. */
async function run(to: string, login: string): ReturnType<typeof runTeal> {
  const password = join(service.teal.config.dataDir, 'password')
  writeFileSync(password, 'x')
  const from = ['--host', '127.0.0.1', '--port', String(port), '--login', login, '--password-file', password]
  return await runTeal(['import-imap', to, ...from, '--insecure', '--json'], environmentOf(service.teal.config))
}

/** Subjects of all of an account, sorted. */
async function subjects(to: Account): Promise<string[]> {
  const found: string[] = []
  for (const { id } of (await to.call('GET', '/mailboxes')).body.results) {
    const { results } = (await to.call('GET', `/mailboxes/${id}/messages`)).body
    found.push(...results.map((one: Body) => one.subject))
  }
  return found.toSorted()
}

const all = Object.values(there)
  .flatMap(folders => Object.values(folders))
  .flatMap(one => (Array.isArray(one) ? (one as string[]) : []))

test('two accounts there become one here, and two folders one folder, though all their numbers are the same', async () => {
  const to = await account(service, 'merged')
  expect(await fetched(to, 'alice')).toMatchObject({ state: 'done', result: { imported: 5, known: 0, failed: 2 } })
  expect(await fetched(to, 'sales')).toMatchObject({ state: 'done', result: { imported: 2, known: 0 } })
  expect(await subjects(to)).toEqual(all.toSorted())
  expect(await fetched(to, 'alice')).toMatchObject({ result: { imported: 0, known: 5 } })
  expect(await fetched(to, 'sales')).toMatchObject({ result: { imported: 0, known: 2 } })
})

test('a server that tells of billions of numbers in a few lines holds nobody up', async () => {
  const to = await account(service, 'lied')
  expect(await fetched(to, 'liar')).toMatchObject({ state: 'done', result: { folders: 1, found: 0, imported: 0 } })
})

test('the same from the command line, which names what it was refused', async () => {
  const to = await account(service, 'operated')
  const first = await run('operated', 'alice')
  expect(JSON.parse(first.out)).toMatchObject({ imported: 5, known: 0, failed: 2 })
  expect(first.code).toBe(3)
  expect(first.err).toMatch(/Closed/)
  expect(first.err).toMatch(/Busy/)
  expect(JSON.parse((await run('operated', 'sales')).out)).toMatchObject({ imported: 2, known: 0 })
  expect(await subjects(to)).toEqual(all.toSorted())
  expect(JSON.parse((await run('operated', 'alice')).out)).toMatchObject({ imported: 0, known: 5 })
})

const whole = ['trouble last', 'trouble one', 'trouble three', 'trouble two']

test('what the other server refuses, has no text of, or ends the connection over is counted, and the rest arrives', async () => {
  const to = await account(service, 'troubled')
  const result = { imported: 4, known: 0, skipped: 0, failed: 5 }
  expect(await fetched(to, 'troubled')).toMatchObject({ state: 'done', result })
  expect(await subjects(to)).toEqual(whole)
  expect(await fetched(to, 'troubled')).toMatchObject({ result: { imported: 0, known: 4, failed: 5 } })
})

test('the same from the command line, which names each of them', async () => {
  const to = await account(service, 'named')
  const first = await run('named', 'troubled')
  expect(first.code).toBe(3)
  expect(JSON.parse(first.out)).toMatchObject({ imported: 4, known: 0, skipped: 0, failed: 5 })
  for (const name of ['INBOX 2: ', 'INBOX 3: ', 'INBOX 5: ', 'Work 1: ', 'No//where: '])
    expect(first.err).toContain(name)
  expect(await subjects(to)).toEqual(whole)
})

test('where it ends every connection, what was fetched before is there', async () => {
  const to = await account(service, 'hoping')
  const { code, err } = await run('hoping', 'hopeless')
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringContaining('127.0.0.1 ended the connection: run this again, it goes on where it was'),
  })
  expect(await subjects(to)).toEqual(['hope'])
})
