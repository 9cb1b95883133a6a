// Several clients at once, each keeping its own picture of the mailbox from nothing but what it is told: whatever the
// others do meanwhile, the pictures must never contradict an answer and must agree in the end.

import { expect, test } from 'vitest'
import { deliver, openLmtp } from '../dialogue.ts'
import { Random } from '../fuzz/random.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()

/** What a mail program believes: uids by place (0: not asked yet), flags by uid. */
class Picture {
  readonly client: Client
  readonly uids: number[] = []
  readonly flags = new Map<number, string>()

  constructor(client: Client) {
    this.client = client
  }

  async ask(command: string | Buffer): Promise<readonly string[]> {
    const { lines, status, text } = await this.client.ask(command)
    for (const line of lines) this.hear(line)
    if (status === 'BAD') throw new Error(`${String(command).slice(0, 80)}: ${text}`)
    return lines
  }

  hear(line: string): void {
    const [, number = '', what] = /^\* (\d+) (EXISTS|EXPUNGE|FETCH)/.exec(line) ?? []
    const n = Number(number)
    if (what === 'EXISTS') {
      expect(n).toBeGreaterThanOrEqual(this.uids.length)
      while (this.uids.length < n) this.uids.push(0)
    } else if (what === 'EXPUNGE') {
      expect(n).toBeLessThanOrEqual(this.uids.length)
      this.uids.splice(n - 1, 1)
    } else if (what === 'FETCH') {
      const uid = Number(/UID (\d+)/.exec(line)?.[1])
      expect(n).toBeLessThanOrEqual(this.uids.length)
      expect([0, uid]).toContain(this.uids[n - 1])
      this.uids[n - 1] = uid
      const flags = /FLAGS \(([^)]*)\)/.exec(line)?.[1]
      if (flags !== undefined) this.flags.set(uid, flags.split(' ').sort().join(' '))
    }
  }

  /** Uid and flags by place. */
  get shown(): string[] {
    return this.uids.map(uid => `${uid} ${this.flags.get(uid) ?? '?'}`)
  }
}

function anything(random: Random, picture: Picture): string | Buffer {
  const { length } = picture.uids
  const seq = 1 + random.below(Math.max(1, length))
  const flag = random.pick(['\\Seen', '\\Flagged', '\\Deleted', '\\Deleted', '$Word'])
  const always = ['NOOP', append('INBOX', mail(`s${random.below(1_000_000)}`), random.chance(0.5) ? flag : '')]
  if (length === 0) return random.pick(always)
  return random.pick([
    ...always,
    append('INBOX', mail(`s${random.below(1_000_000)}`)),
    `STORE ${seq} ${random.pick(['+', '-'])}FLAGS (${flag})`,
    `STORE ${Math.min(seq, length)}:${length} +FLAGS (${flag})`,
    `FETCH ${seq} (UID FLAGS)`,
    'FETCH 1:* (UID FLAGS)',
    `UID FETCH 1:* (FLAGS)`,
    'SEARCH DELETED',
    'EXPUNGE',
    `COPY ${seq} INBOX`,
    `MOVE ${seq} Trash`,
  ])
}

test.each([21, 22, 23])('the pictures of four clients hold, seed %i', async seed => {
  const user = `many${seed}`
  await service.user(user)
  const random = new Random(seed)
  const pictures: Picture[] = []
  for (let count = 0; count < 4; count++) {
    const picture = new Picture(await Client.login(service.at('imap'), user))
    await picture.ask('SELECT INBOX')
    pictures.push(picture)
  }
  const lmtp = await openLmtp(service.at('lmtp'))
  const clients = pictures.map(async picture => {
    for (let step = 0; step < 120; step++) await picture.ask(anything(random, picture))
  })
  for (let count = 0; count < 30; count++) {
    await deliver(lmtp, 'bea@example.net', [`${user}@example.com`], Buffer.from(mail(`delivered ${count}`)))
  }
  await Promise.all(clients)
  lmtp.close()
  const [first] = pictures
  for (const picture of pictures) await picture.ask('NOOP')
  for (const picture of pictures) {
    const told = picture.shown
    await picture.ask('FETCH 1:* (UID FLAGS)')
    // What it knew already was true: nothing changes by asking, but for what it never asked.
    for (const [at, one] of told.entries()) if (!/^0|\?$/.test(one)) expect(picture.shown[at]).toBe(one)
    expect(picture.shown).toEqual(first?.shown)
  }
  expect(first?.shown.length).toBeGreaterThan(0)
  for (const { client } of pictures) client.close()
})

test('a long answer is true whatever others do before it is read', async () => {
  await service.user('long')
  const writer = await Client.login(service.at('imap'), 'long')
  const messages = Array.from({ length: 900 }, (_, n) => mail(`m${n}`, `${n} `.repeat(1500)))
  for (let at = 0; at < messages.length; at += 300) {
    const some = messages.slice(at, at + 300)
    await writer.ok(`APPEND INBOX${some.map(text => ` {${text.length}+}\r\n${text}`).join('')}`)
  }
  await writer.ok('SELECT INBOX')
  const reader = await Client.login(service.at('imap'), 'long', 'INBOX')
  // Its slices wait for a reader that does not read; meanwhile some of the messages change and some go.
  reader.pause()
  const late = reader.command('UID FETCH 1:* (FLAGS BODY.PEEK[])')
  await writer.ok('UID STORE 500:700 +FLAGS.SILENT (\\Flagged)')
  await writer.ok('UID STORE 650:900 +FLAGS.SILENT (\\Deleted)')
  await writer.ok('EXPUNGE')
  reader.resume()
  const { lines, status } = await reader.answer(late)
  expect(status).toBe('OK')
  const told = new Map<number, string>()
  for (const line of lines) {
    if (/^\* \d+ (EXPUNGE|EXISTS)$/.test(line)) continue
    const [head = '', uid, flags = ''] = /^\* \d+ FETCH \(UID (\d+) FLAGS \(([^)]*)\)/.exec(line) ?? []
    expect(head).not.toBe('')
    told.set(Number(uid), flags)
    // What changed meanwhile is told behind it.
    if (line === `${head})`) continue
    const text = messages[Number(uid) - 1] ?? ''
    expect(line.slice(head.length)).toBe(` BODY[] {${text.length}}\r\n${text})`)
  }
  // What stayed was told in full, and what it is now is known in the end.
  for (let uid = 1; uid < 650; uid++) expect(told.has(uid)).toBe(true)
  for (const line of (await reader.ask('NOOP')).lines) {
    const [, uid, flags] = /^\* \d+ FETCH \(.*?UID (\d+).*?FLAGS \(([^)]*)\)/.exec(line) ?? []
    if (uid !== undefined) told.set(Number(uid), flags ?? '')
  }
  for (let uid = 500; uid < 650; uid++) expect(told.get(uid)).toContain('\\Flagged')
  for (const client of [writer, reader]) client.close()
})
