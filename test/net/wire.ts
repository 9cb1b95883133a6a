// A client of bytes for tests: sends what it is told, in the clear or over TLS, and reads lines as they come.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'

export class Wire {
  #socket: Socket
  #received = ''
  #closed = false
  #wake: (() => void) | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    this.#attach(socket)
  }

  static async open(at: { host: string; port: number }): Promise<Wire> {
    const socket = connect({ port: at.port, host: at.host, noDelay: true, allowHalfOpen: true })
    await once(socket, 'connect')
    return new Wire(socket)
  }

  static async openTls(at: { host: string; port: number }, options: ConnectionOptions = {}): Promise<Wire> {
    const socket = connectTls({ port: at.port, host: at.host, rejectUnauthorized: false, ...options })
    await once(socket, 'secureConnect')
    return new Wire(socket)
  }

  get tls(): TLSSocket {
    return this.#socket as TLSSocket
  }

  /** What has come and was not read. */
  get unread(): string {
    return this.#received
  }

  send(bytes: string | Buffer): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : bytes)
  }

  /** Sends the end of the stream and goes on reading. */
  finish(): void {
    this.#socket.end()
  }

  /** Stops taking what the other side sends. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** The next line without its end. @throws when the other side closed before one */
  async line(): Promise<string> {
    for (;;) {
      const end = this.#received.indexOf('\r\n')
      if (end >= 0) {
        const line = this.#received.slice(0, end)
        this.#received = this.#received.slice(end + 2)
        return line
      }
      if (this.#closed) throw new Error(`closed after ${JSON.stringify(this.#received)}`)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  /** The next reply in the manner of SMTP, all its lines. */
  async reply(): Promise<string[]> {
    const lines: string[] = []
    do lines.push(await this.line())
    while (lines.at(-1)?.[3] === '-')
    return lines
  }

  /** Sends a command and gives the last line of its reply. */
  async ask(command: string): Promise<string> {
    this.send(`${command}\r\n`)
    return (await this.reply()).at(-1) ?? ''
  }

  /** Puts TLS over the connection; what has come before is kept. */
  async startTls(options: ConnectionOptions = {}): Promise<void> {
    const plain = this.#socket
    plain.removeAllListeners('data')
    plain.removeAllListeners('close')
    const socket = connectTls({ socket: plain, rejectUnauthorized: false, ...options })
    this.#socket = socket
    this.#attach(socket)
    await once(socket, 'secureConnect')
  }

  /** Resolves when the connection is gone. */
  async closed(): Promise<void> {
    while (!this.#closed) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  close(): void {
    this.#socket.destroy()
  }

  #attach(socket: Socket): void {
    socket.on('data', chunk => {
      this.#received += chunk.toString('latin1')
      if (chunk.includes('\n')) this.#wake?.()
    })
    socket.on('end', () => socket.end())
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#closed = true
      this.#wake?.()
    })
  }
}
