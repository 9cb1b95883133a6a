// An IMAP client that costs next to nothing: it sends a command and waits for its tag, however much comes before it.
//
// Answers are not taken apart but for what a measure needs to know that it happened: how many responses, how many bytes.

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

const lineEnd = Buffer.from('\r\n')
/** What a read gives is looked at before the next one, of whichever client. */
const received = Buffer.allocUnsafeSlow(64 * 1024)

export class ImapLoad {
  readonly #socket: Socket
  #serial = 0
  #tag = Buffer.alloc(0)
  #bytes = 0
  #tail: Buffer = Buffer.alloc(0)
  #done: ((error?: Error) => void) | undefined

  private constructor(at: Target, localAddress: string | undefined) {
    const onread = {
      buffer: received,
      callback: (length: number, buffer: Uint8Array) => {
        this.#take(Buffer.from(buffer.buffer, buffer.byteOffset, length))
        return true
      },
    }
    const socket = connect({ host: at.host, port: at.port, noDelay: true, localAddress, onread })
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('close', () => this.#done?.(new Error(`the connection closed: ${this.#tail.toString('latin1')}`)))
  }

  /** Connects, from an address where one is given, and logs in. */
  static async open(at: Target, name: string, password: string, from?: string): Promise<ImapLoad> {
    const client = new ImapLoad(at, from)
    await client.#expect('*')
    await client.run(`LOGIN ${name} ${password}`)
    return client
  }

  /** One command from its first byte to its tagged answer. @throws unless that is OK */
  async run(command: string, bytes?: Buffer): Promise<Took> {
    const took = await this.ask(command, bytes)
    const { tail } = took
    if (!tail.includes(`\ntag${this.#serial}x OK`)) throw new Error(`${command.slice(0, 60)}: ${tail.slice(-200)}`)
    return took
  }

  /** The same, whose answer may also be NO. @throws where it is BAD, or the server's own mistake */
  async ask(command: string, bytes?: Buffer): Promise<Took> {
    this.#serial += 1
    const tag = `tag${this.#serial}x`
    const done = this.#expect(tag)
    const started = monotonic()
    const line = `${tag} ${command}\r\n`
    if (bytes === undefined) this.#socket.write(line, 'latin1')
    else this.#socket.write(Buffer.concat([Buffer.from(line, 'latin1'), bytes, lineEnd]))
    await done
    const ms = monotonic() - started
    const tail = this.#tail.toString('latin1')
    if (tail.includes(`\n${tag} BAD`) || tail.includes('[SERVERBUG]'))
      throw new Error(`${command.slice(0, 60)}: ${tail.slice(-200)}`)
    return { ms, bytes: this.#bytes, tail }
  }

  /** Begins to wait for changes. */
  async idle(): Promise<void> {
    const invited = this.#expect('+')
    this.#socket.write('idle IDLE\r\n', 'latin1')
    await invited
  }

  /** Waits for changes no longer. */
  async done(): Promise<void> {
    const done = this.#expect('idle')
    this.#socket.write('DONE\r\n', 'latin1')
    await done
  }

  /** Resolves with a line that begins so. */
  #expect(tag: string): Promise<void> {
    this.#tag = Buffer.from(`\n${tag} `)
    this.#bytes = 0
    // A line end before the first line, so that every line has one.
    this.#tail = Buffer.from('\n')
    return new Promise<void>((resolve, reject) => {
      this.#done = error => (error === undefined ? resolve() : reject(error))
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    this.#bytes += chunk.length
    // The tag may be cut by the border of two chunks; its line is short. The bytes are overwritten by the next ones.
    this.#tail = Buffer.concat(chunk.length > 4096 ? [chunk.subarray(-4096)] : [this.#tail.subarray(-4096), chunk])
    if (chunk[chunk.length - 1] !== 0x0a || !this.#tail.includes(this.#tag)) return
    const done = this.#done
    this.#done = undefined
    done?.()
  }
}
