// An IMAP client for tests: sends what it is told, gives back every response with its literals in place. Whatever the grammar does not allow is an error (grammar.ts).

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { checkResponse } from './grammar.ts'
import type { Enabled } from './scanner.ts'

export interface Answer {
  /** Untagged and continuation lines in order; a literal stands behind its `{n}` and a line end. */
  readonly lines: readonly string[]
  readonly status: string
  /** What follows the status. */
  readonly text: string
}

export class Client {
  /** Whether \Recent is shown among the flags: few tests are about it. */
  showsRecent = false
  #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #ended = false
  #wake: (() => void) | undefined
  #tag = 0
  #enabled: Enabled = { utf8: false, rev2: false }

  private constructor(socket: Socket) {
    this.#socket = socket
    this.#listen(socket)
  }

  /** Connects and reads the greeting. */
  static async open(at: { host: string; port: number }, tls = false): Promise<Client> {
    const socket = tls
      ? connectTls({ host: at.host, port: at.port, rejectUnauthorized: false })
      : connect(at.port, at.host)
    socket.setNoDelay(true)
    await once(socket, tls ? 'secureConnect' : 'connect')
    const client = new Client(socket)
    await client.line()
    return client
  }

  /** Connects, logs in and selects a mailbox. */
  static async login(at: { host: string; port: number }, user: string, mailbox?: string): Promise<Client> {
    const client = await Client.open(at)
    const { status, text } = await client.ask(`LOGIN ${user} "secret of ${user}"`)
    if (status !== 'OK') throw new Error(`login: ${text}`)
    if (mailbox !== undefined) await client.ok(`SELECT ${mailbox}`)
    return client
  }

  send(bytes: string | Buffer): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes) : bytes)
  }

  /** Stops reading. */
  pause(): void {
    this.#socket.pause()
  }

  /** What came and was not asked for, as latin1. */
  get unread(): string {
    return this.#received.toString('latin1')
  }

  /** Goes on reading. */
  resume(): void {
    this.#socket.resume()
  }

  /** Sends a command under a new tag and returns that. */
  command(text: string | Buffer): string {
    this.#tag += 1
    const tag = `t${this.#tag}`
    this.send(Buffer.concat([Buffer.from(`${tag} `), Buffer.from(text as string), Buffer.from('\r\n')]))
    return tag
  }

  /** Sends a command and reads up to its tagged answer. */
  async ask(text: string | Buffer): Promise<Answer> {
    return this.answer(this.command(text))
  }

  /** The same; an answer that is not OK is an error. */
  async ok(text: string | Buffer): Promise<readonly string[]> {
    const answer = await this.ask(text)
    if (answer.status !== 'OK') throw new Error(`${String(text).slice(0, 60)}: ${answer.status} ${answer.text}`)
    return answer.lines
  }

  async answer(tag: string): Promise<Answer> {
    const lines: string[] = []
    for (;;) {
      const line = await this.line()
      if (line.startsWith(`${tag} `)) {
        const [, status = '', ...rest] = line.split(' ')
        return { lines, status, text: rest.join(' ') }
      }
      lines.push(line)
    }
  }

  /** One response, literals included (as latin1). @throws when the other side closes first */
  async line(): Promise<string> {
    let whole = ''
    for (;;) {
      const end = await this.#indexOf('\n')
      const line = this.#take(end + 1)
        .toString('latin1')
        .replace(/\r\n$/, '')
      whole += line
      const literal = /\{(\d+)\}$/.exec(line)
      if (literal === null) {
        checkResponse(whole, this.#enabled)
        if (whole.startsWith('* ENABLED ')) {
          const rev2 = this.#enabled.rev2 || whole.includes('IMAP4rev2')
          this.#enabled = { rev2, utf8: this.#enabled.utf8 || rev2 || whole.includes('UTF8=ACCEPT') }
        }
        const text = Buffer.from(whole, 'latin1').toString('utf8')
        return this.showsRecent ? text : text.replace(/(FLAGS \([^)]*?)\\Recent ?/, '$1')
      }
      const size = Number(literal[1])
      while (this.#received.length < size) await this.#more()
      whole += `\r\n${this.#take(size).toString('latin1')}`
    }
  }

  /** Speaks TLS from now on. */
  async startTls(): Promise<void> {
    this.#socket.removeAllListeners('data')
    const socket = connectTls({ socket: this.#socket, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    this.#socket = socket
    this.#listen(socket)
  }

  /** Resolves when the other side has closed. */
  async closed(): Promise<void> {
    while (!this.#ended) await this.#more().catch(() => {})
  }

  close(): void {
    this.#socket.destroy()
  }

  #listen(socket: Socket): void {
    socket.on('data', chunk => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#wake?.()
    })
    socket.on('close', () => {
      this.#ended = true
      this.#wake?.()
    })
    socket.on('error', () => {})
  }

  #take(length: number): Buffer {
    const bytes = this.#received.subarray(0, length)
    this.#received = this.#received.subarray(length)
    return bytes
  }

  async #indexOf(text: string): Promise<number> {
    for (;;) {
      const at = this.#received.indexOf(text)
      if (at >= 0) return at
      await this.#more()
    }
  }

  async #more(): Promise<void> {
    if (this.#ended) throw new Error('the connection closed')
    await new Promise<void>(resolve => {
      this.#wake = resolve
    })
  }
}

/** A small message; `more` are further header lines. */
export function mail(subject: string, body = 'Hello.', more = ''): string {
  return (
    `From: "Bea B." <bea@example.net>\r\nTo: anna@example.com\r\nSubject: ${subject}\r\n` +
    `Message-ID: <${subject.replace(/\W/g, '')}@example.net>\r\nDate: Sat, 21 Nov 2026 10:00:00 +0100\r\n${more}\r\n${body}\r\n`
  )
}

/** APPEND with a non-synchronising literal. */
export function append(mailbox: string, message: string | Buffer, flags = ''): Buffer {
  const bytes = Buffer.from(message as string)
  const head = `APPEND ${mailbox} ${flags === '' ? '' : `(${flags}) `}{${bytes.length}+}\r\n`
  return Buffer.concat([Buffer.from(head), bytes])
}
