// PostgreSQL is killed under a running service and comes back: who asks meanwhile is told to come later, sessions stay, and
// what was acknowledged is there once.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { Dialogue, deliver, openLmtp } from '../dialogue.ts'
import { accessTo } from '../running.ts'
import { loadStore } from './both.ts'
import { type Cluster, makeDatabase, startCluster } from './cluster.ts'

await loadStore()

let cluster: Cluster
let teal: Teal
const running = accessTo(() => teal)

beforeAll(async () => {
  cluster = await startCluster({ durable: true })
  teal = await startTeal({ store: { url: await makeDatabase(cluster.folder, 'template0') } }, { strict: true })
})

afterAll(async () => {
  await teal?.close()
  await cluster?.stop()
})

const rounds = 3

/** The line that ends the answer to a command of IMAP. */
async function asked(imap: Dialogue, command: string): Promise<string> {
  imap.send(`a ${command}\r\n`)
  for (;;) {
    const line = await imap.line()
    if (line.startsWith('a ')) return line
  }
}

const login = 'LOGIN berta "secret of berta"'

async function opened(): Promise<Dialogue> {
  const imap = await Dialogue.open(running.at('imap'))
  await imap.line()
  return imap
}

/** Makes a user. @returns where its messages are */
async function inbox(name: string): Promise<string> {
  const id = await running.user(name)
  const { body } = await running.call('GET', `/users/${id}/mailboxes`)
  return `/users/${id}/mailboxes/${body.results[0].id}/messages`
}

test('a service goes on when the engine comes back', async () => {
  const messages = await inbox('anna')
  // Whoever waits for what is under way does not hold up who only reads.
  const others = await inbox('berta')
  const imap = await opened()
  expect(await asked(imap, login)).toContain('OK')
  expect(await asked(imap, 'SELECT INBOX')).toContain('OK')

  const stored = new Set<string>()
  const said: Record<'mail' | 'api' | 'imap', string[]> = { mail: [], api: [], imap: [] }
  let stop = false
  const send = async (sender: number) => {
    const lmtp = await openLmtp(running.at('lmtp'))
    for (let at = 0; !stop; at++) {
      const name = `${sender}-${at}`
      const message = Buffer.from(`Message-ID: <${name}@example.org>\r\nSubject: ${name}\r\n\r\n${name}\r\n`)
      const [reply = ''] = await deliver(lmtp, 'x@example.org', ['anna@example.com'], message)
      if (reply.startsWith('250')) stored.add(`<${name}@example.org>`)
      said.mail.push(reply)
    }
    lmtp.close()
  }
  const list = async () => {
    while (!stop) said.api.push(String((await running.call('GET', others)).status))
  }
  const enter = async () => {
    while (!stop) {
      const other = await opened()
      const answer = await asked(other, login)
      // A program that may go on takes the password for wrong, and asks for another one.
      if (answer.startsWith('a NO')) await other.closed()
      said.imap.push(answer)
      other.close()
    }
  }
  const all = [send(1), send(2), send(3), list(), enter()]

  for (let round = 0; round < rounds; round++) {
    const before = stored.size
    await expect.poll(() => stored.size).toBeGreaterThan(before + 5)
    const seen = { api: said.api.length, imap: said.imap.length }
    await cluster.restart(async () => {
      await expect.poll(() => said.api.slice(seen.api)).toContain('503')
      await expect.poll(() => said.imap.slice(seen.imap).some(line => line.startsWith('a NO'))).toBe(true)
    })
    const back = { api: said.api.length, imap: said.imap.length }
    await expect.poll(() => said.api.slice(back.api)).toContain('200')
    await expect.poll(() => said.imap.slice(back.imap).some(line => line.startsWith('a OK'))).toBe(true)
    expect(await asked(imap, 'STATUS "Sent Mail" (MESSAGES)')).toContain('OK')
  }
  const before = stored.size
  await expect.poll(() => stored.size).toBeGreaterThan(before + 5)
  stop = true
  await Promise.all(all)
  imap.close()

  // Nobody was told anything but yes, or later.
  expect(said.mail.filter(line => !/^(?:250|4)/.test(line))).toEqual([])
  expect(said.api.filter(status => !['200', '503'].includes(status))).toEqual([])
  expect(said.imap.filter(line => !/^a (?:OK|NO \[UNAVAILABLE\])/.test(line))).toEqual([])

  const found: string[] = []
  for (let next = '?limit=250'; next !== ''; ) {
    const { body: page } = await running.call('GET', messages + next)
    for (const { messageId } of page.results) found.push(messageId)
    next = page.nextCursor ? `?limit=250&next=${page.nextCursor}` : ''
  }
  expect([...stored].filter(name => !found.includes(name))).toEqual([])
  expect(found.length).toBe(new Set(found).size)
  expect(await teal.check()).toEqual([])
})
