// A raw conversation with a line protocol, for tests that must control every byte.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export class Dialogue {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #ended = false
  #wake: (() => void) | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
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

  /** @param localAddress where it comes from: every 127.x.y.z is an address of this machine */
  static async open(at: { host: string; port: number }, localAddress?: string): Promise<Dialogue> {
    const socket = connect({ ...at, ...(localAddress !== undefined && { localAddress }) })
    socket.setNoDelay(true)
    await once(socket, 'connect')
    return new Dialogue(socket)
  }

  /** Sends bytes as they are; to who has ended the connection, none: writing there would throw away what it said last. */
  send(bytes: string | Buffer): void {
    if (this.#socket.readableEnded) return
    this.#socket.write(bytes)
  }

  /** The next line, without its end. @throws when the other side closes first */
  async line(): Promise<string> {
    for (;;) {
      const end = this.#received.indexOf('\n')
      if (end >= 0) {
        const line = this.#received.subarray(0, end).toString('utf8').replace(/\r$/, '')
        this.#received = this.#received.subarray(end + 1)
        return line
      }
      if (this.#ended) throw new Error('the connection closed')
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  /** The last line of a reply in the manner of SMTP (`250-...` lines before `250 ...`). */
  async reply(): Promise<string> {
    for (;;) {
      const line = await this.line()
      if (line[3] !== '-') return line
    }
  }

  /** Sends a command and returns its reply. */
  async ask(command: string): Promise<string> {
    this.send(`${command}\r\n`)
    return this.reply()
  }

  /** Resolves when the other side has closed. */
  async closed(): Promise<void> {
    if (!this.#ended) await once(this.#socket, 'close')
  }

  close(): void {
    this.#socket.destroy()
  }
}

/** A message as it goes over the wire after DATA: dots doubled, the final dot behind it. */
export function stuffed(message: Buffer): Buffer {
  const text = message.toString('latin1').replace(/^\./gm, '..')
  const end = text.endsWith('\r\n') ? '.\r\n' : '\r\n.\r\n'
  return Buffer.from(text + end, 'latin1')
}

/** Opens an LMTP session that has said LHLO. */
export async function openLmtp(at: { host: string; port: number }): Promise<Dialogue> {
  const lmtp = await Dialogue.open(at)
  await lmtp.reply()
  await lmtp.ask('LHLO test')
  return lmtp
}

/** Delivers a message over an open LMTP session; one reply for each recipient. */
export async function deliver(lmtp: Dialogue, from: string, to: readonly string[], message: Buffer): Promise<string[]> {
  const sender = await lmtp.ask(`MAIL FROM:<${from}>`)
  if (!sender.startsWith('250')) return to.map(() => sender)
  const replies: string[] = []
  const taken: number[] = []
  for (const [index, address] of to.entries()) {
    const reply = await lmtp.ask(`RCPT TO:<${address}>`)
    replies.push(reply)
    if (reply.startsWith('250')) taken.push(index)
  }
  if (taken.length === 0) {
    await lmtp.ask('RSET')
    return replies
  }
  const go = await lmtp.ask('DATA')
  if (!go.startsWith('354')) return replies.map(() => go)
  lmtp.send(stuffed(message))
  for (const index of taken) replies[index] = await lmtp.reply()
  return replies
}
