// An IMAP client that costs next to nothing: it sends a command and waits for its tag, however much comes before it.
//
// Answers are not taken apart but for what a measure needs to know that it happened: how many responses, how many bytes.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { monotonic } from '#lib/clock.ts'
import type { Target } from './line.ts'

export interface Took {
  readonly ms: number
  /** Bytes of the answer. */
  readonly bytes: number
  /** The end of the answer, its tagged line included. */
  readonly tail: string
}

export class ImapLoad {
  readonly #socket: Socket
  #serial = 0
  #tag = Buffer.alloc(0)
  #bytes = 0
  #tail: Buffer = Buffer.alloc(0)
  #done: ((error?: Error) => void) | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', chunk => this.#take(chunk))
    socket.on('error', () => {})
    socket.on('close', () => this.#done?.(new Error(`the connection closed: ${this.#tail.toString('latin1')}`)))
  }

  /** Connects, from an address where one is given, and logs in. */
  static async open(at: Target, name: string, password: string, from?: string): Promise<ImapLoad> {
    const local = from === undefined ? {} : { localAddress: from }
    const socket = connect({ host: at.host, port: at.port, noDelay: true, ...local })
    await once(socket, 'data')
    const client = new ImapLoad(socket)
    await client.run(`LOGIN ${name} ${password}`)
    return client
  }

  /** One command from its first byte to its tagged answer. @throws unless that is OK */
  async run(command: string, bytes?: Buffer): Promise<Took> {
    this.#serial += 1
    const tag = `tag${this.#serial}x`
    this.#tag = Buffer.from(`\n${tag} `)
    this.#bytes = 0
    // A line end before the first line, so that every line has one.
    this.#tail = Buffer.from('\n')
    const started = monotonic()
    const done = new Promise<void>((resolve, reject) => {
      this.#done = error => (error === undefined ? resolve() : reject(error))
    })
    this.#socket.cork()
    this.#socket.write(`${tag} ${command}\r\n`)
    if (bytes !== undefined) {
      this.#socket.write(bytes)
      this.#socket.write('\r\n')
    }
    this.#socket.uncork()
    await done
    const tail = this.#tail.toString('latin1')
    if (!tail.includes(`\n${tag} OK`)) throw new Error(`${command.slice(0, 60)}: ${tail.slice(-200)}`)
    return { ms: monotonic() - started, bytes: this.#bytes, tail }
  }

  /** Begins to wait for changes. */
  async idle(): Promise<void> {
    this.#socket.write('idle IDLE\r\n')
    await once(this.#socket, 'data')
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    this.#bytes += chunk.length
    // The tag may be cut by the border of two chunks; its line is short.
    this.#tail = chunk.length > 4096 ? chunk.subarray(-4096) : Buffer.concat([this.#tail.subarray(-4096), chunk])
    if (chunk[chunk.length - 1] !== 0x0a || !this.#tail.includes(this.#tag)) return
    const done = this.#done
    this.#done = undefined
    done?.()
  }
}
