// Work for a service that is recorded, by every handle: what is asked for is marked in the journal before, what was answered
// after the answer is here. `Deeds` knows what must, may and must not be there at any moment of the journal.

import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { type Child, startChild } from '../../child.ts'
import { deliver, openLmtp } from '../../dialogue.ts'
import { append, Client } from '../../imap/client.ts'
import { type Entry, Marker } from './journal.ts'

/** What is asked for: mail put, marked, removed, sent; a file stored. */
export type Deed = 'put' | 'flag' | 'drop' | 'send' | 'file'

type Json = ReturnType<typeof JSON.parse>

export const users = ['u0', 'u1', 'u2']

export class Load {
  /** Content by name. */
  readonly sums = new Map<string, string>()
  /** The uids that were answered. */
  readonly uids = new Map<string, number>()
  readonly #marker: Marker
  readonly #random: () => number
  readonly #ids = new Map<string, { user: string; inbox: string }>()
  readonly #shared: Buffer[]
  #next = 0

  constructor(journal: string, root: string, random: () => number) {
    this.#marker = new Marker(journal)
    this.#marker.root(statSync(root).ino)
    this.#random = random
    this.#shared = [this.#noise(600_000), this.#noise(300_000)]
  }

  /** Does something between two marks. Where it fails nothing is known. */
  async #deed(deed: Deed, name: string, act: () => Promise<void>): Promise<void> {
    this.#marker.mark(`ask ${deed} ${name}`)
    await act()
    this.#marker.mark(`done ${deed} ${name}`)
  }

  mark(text: string): void {
    this.#marker.mark(text)
  }

  async users(service: Child): Promise<void> {
    for (const name of users) {
      const form = { username: name, password: `secret of ${name}`, address: `${name}@example.com` }
      const { id } = await this.call(service, 'POST', '/users', form)
      const { results } = await this.call(service, 'GET', `/users/${id}/mailboxes`)
      this.#ids.set(name, { user: id, inbox: results.find((one: Json) => one.path === 'INBOX').id })
      this.mark(`user ${name}`)
    }
  }

  /** Deliveries over one session. */
  async lmtp(service: Child, count: number): Promise<void> {
    const session = await openLmtp(service.listeners.lmtp as { host: string; port: number })
    for (let at = 0; at < count; at++) {
      const { name, message } = this.#compose('l')
      const to = `${users[at % users.length]}@example.com`
      await this.#deed('put', name, async () => {
        const [reply] = await deliver(session, 'sender@example.net', [to], message)
        if (reply?.startsWith('250') !== true) throw new Error(reply)
      })
    }
    session.close()
  }

  /** Uploads, flags and deletions over HTTP. */
  async http(service: Child, count: number): Promise<void> {
    const { user, inbox } = this.#ids.get('u0') ?? { user: '', inbox: '' }
    const messages = `/users/${user}/mailboxes/${inbox}/messages`
    for (let at = 0; at < count; at++) {
      const { name, message } = this.#compose('h')
      let uid = 0
      await this.#deed('put', name, async () => {
        uid = (await this.call(service, 'POST', messages, message)).message.id
        this.uids.set(name, uid)
      })
      if (at % 2 === 0) {
        await this.#deed('flag', name, () => this.call(service, 'PUT', `${messages}/${uid}`, { flagged: true }))
      }
      if (at % 3 === 0) {
        await this.#deed('drop', name, () => this.call(service, 'DELETE', `${messages}/${uid}`))
      }
      const file = `f${this.#next++}`
      const bytes = this.#noise(at % 8 === 0 ? 300_000 : 3000)
      this.sums.set(file, sumOf(bytes))
      await this.#deed('file', file, () => this.call(service, 'POST', `/users/${user}/storage?filename=${file}`, bytes))
    }
  }

  /** Mail on its way out, which nobody fetches. */
  async submissions(service: Child, count: number): Promise<void> {
    const { user } = this.#ids.get('u1') ?? { user: '' }
    for (let at = 0; at < count; at++) {
      const name = `q${this.#next++}`
      const to = ['a', 'b'].map(one => ({ address: `${one}@example.net` }))
      const form = { subject: name, text: `text of ${name}\n`.repeat(at % 3 === 0 ? 5000 : 50), to }
      await this.#deed('send', name, () => this.call(service, 'POST', `/users/${user}/submit`, form))
    }
  }

  /** APPEND, STORE and EXPUNGE. */
  async imap(service: Child, count: number): Promise<void> {
    const client = await Client.login(service.listeners.imap as { host: string; port: number }, 'u2', 'INBOX')
    for (let at = 0; at < count; at++) {
      const { name, message } = this.#compose('i')
      let uid = ''
      await this.#deed('put', name, async () => {
        const { status, text } = await client.ask(append('INBOX', message.toString('latin1')))
        if (status !== 'OK') throw new Error(text)
        uid = /APPENDUID \d+ (\d+)/.exec(text)?.[1] ?? ''
        this.uids.set(name, Number(uid))
      })
      if (at % 2 === 0) {
        await this.#deed('flag', name, async () => void (await client.ok(`UID STORE ${uid} +FLAGS (\\Flagged)`)))
      }
      if (at % 3 === 0) {
        await this.#deed('drop', name, async () => {
          await client.ok(`UID STORE ${uid} +FLAGS (\\Deleted)`)
          await client.ok(`UID EXPUNGE ${uid}`)
        })
      }
    }
    client.close()
  }

  async call(service: Child, method: string, path: string, body?: Buffer | object): Promise<Json> {
    const raw = Buffer.isBuffer(body)
    const type = raw ? (path.includes('/storage') ? 'application/octet-stream' : 'message/rfc822') : 'application/json'
    const headers = { 'x-access-token': service.token, 'content-type': type }
    const init =
      body === undefined ? { headers } : { headers, body: raw ? Uint8Array.from(body) : JSON.stringify(body) }
    const response = await fetch(service.url + path, { method, ...init })
    const answer = (await response.json()) as Json
    if (answer.success !== true) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
    return answer
  }

  close(): void {
    this.#marker.close()
  }

  #noise(count: number): Buffer {
    const bytes = Buffer.alloc(count)
    for (let at = 0; at + 4 <= count; at += 4) bytes.writeUInt32LE(Math.floor(this.#random() * 2 ** 32), at)
    return bytes
  }

  /** Of every size: in a row, in rows of its own, in a file, in a file that others share, too large for memory. */
  #compose(handle: string): { name: string; message: Buffer } {
    const number = this.#next++
    const name = `${handle}${number}`
    const kind = number % 16
    const head = `Message-ID: <${name}@example.net>\r\nSubject: ${name}\r\nFrom: b@example.net\r\n`
    let rest = `\r\n${this.#noise(200 + Math.floor(this.#random() * 1500)).toString('hex')}\r\n`
    if (kind === 3) rest = attached(this.#noise(300_000))
    else if (kind === 7) rest = attached(this.#shared[number % 2] as Buffer)
    else if (kind === 11 && number < 64) rest = attached(this.#noise(900_000))
    else if (kind % 4 === 1) rest = attached(this.#noise(180_000))
    else if (kind % 4 === 2) rest = `\r\n${'word '.repeat(14)}${name}\r\n`.repeat(700)
    const message = Buffer.from(head + rest)
    this.sums.set(name, sumOf(message))
    return { name, message }
  }
}

const attached = (bytes: Buffer) =>
  `Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n${(
    bytes.toString('base64').match(/.{1,76}/g) ?? []
  ).join('\r\n')}\r\n`

export const sumOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Starts the service with the recorder before it. */
export function startRecorded(dataDir: string, env: Record<string, string>): Promise<Child> {
  return startChild(dataDir, {
    ...env,
    TEAL_OUTBOUND_ENABLED: 'false',
    TEAL_HOSTNAME: 'localhost',
    UV_USE_IO_URING: '0',
  })
}

/** When what was asked for and when it was answered, by its mark's words. */
export class Deeds {
  readonly #asked = new Map<string, number>()
  readonly #done = new Map<string, number>()

  constructor(entries: readonly Entry[]) {
    for (const { kind, data, end } of entries) {
      if (kind !== 'k') continue
      const [word = '', ...rest] = data.toString().split(' ')
      const what = rest.join(' ')
      if (word === 'ask') this.#asked.set(what, end)
      else this.#done.set(word === 'done' ? what : data.toString(), end)
    }
  }

  /** Everything of that kind that was ever asked for. */
  names(deed: Deed): string[] {
    return [...this.#asked.keys()].filter(key => key.startsWith(`${deed} `)).map(key => key.slice(deed.length + 1))
  }

  /** Whether it must be there (true), must not (false), or may. */
  state(deed: Deed, name: string, until: number): boolean | undefined {
    if ((this.#done.get(`${deed} ${name}`) ?? Number.POSITIVE_INFINITY) <= until) return true
    return (this.#asked.get(`${deed} ${name}`) ?? Number.POSITIVE_INFINITY) <= until ? undefined : false
  }

  /** Where a mark stands; of all marks if none is named. */
  at(mark: string): number {
    return this.#done.get(mark) ?? Number.POSITIVE_INFINITY
  }

  /** How many answers had come. */
  answered(until: number): number {
    return [...this.#done.values()].filter(end => end <= until).length
  }
}
