// One request of Node's HTTP as an exchange wants it.
//
// The connection's timer runs while the client is to send or to take something, and only then: an answer that is being
// made, and an event stream that is silent, take what time they need. Once the answer has ended or the client has left
// nothing is touched any more.

import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { limits } from '#lib/limits.ts'
import type { HttpConnections } from '../guard/connections.ts'
import type { Body } from '../input/body.ts'
import type { Wire } from '../wire.ts'

export class NodeWire implements Wire {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly secure: boolean
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  readonly #connections: HttpConnections | null
  readonly #address: string
  /** The answer has ended or the client has left. */
  #over = false
  #gone = false
  #received = false
  #onGone: (() => void) | null = null

  /** @param address the peer's, or who is behind it */
  constructor(req: IncomingMessage, res: ServerResponse, connections: HttpConnections | null, address: string) {
    this.#req = req
    this.#res = res
    this.#connections = connections
    this.#address = address
    this.secure = 'encrypted' in req.socket
    const target = utf8(req.url ?? '')
    const mark = target.indexOf('?')
    this.method = req.method ?? ''
    this.path = mark === -1 ? target : target.slice(0, mark)
    this.query = mark === -1 ? '' : target.slice(mark + 1)
    const length = this.header('content-length')
    const bare = (length === '' || /^0+$/.test(length)) && this.header('transfer-encoding') === ''
    if (bare) this.#watch(false)
    else req.once('end', () => this.#watch(false))
    req.on('error', () => {})
    res.on('error', () => {})
    res.once('close', () => this.#closed())
  }

  get gone(): boolean {
    return this.#gone
  }

  get crowded(): boolean {
    return this.#connections?.crowded === true
  }

  recognised(): void {
    this.#connections?.remember(this.#address)
  }

  /** The first of several. */
  header(name: string): string {
    const { rawHeaders } = this.#req
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const one = rawHeaders[at] ?? ''
      if (one.length === name.length && one.toLowerCase() === name) return utf8(rawHeaders[at + 1] ?? '')
    }
    return ''
  }

  headers(name: string): readonly string[] {
    const { rawHeaders } = this.#req
    return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name).map(utf8)
  }

  address(): string {
    return this.#address
  }

  receive(body: Body): void {
    this.#received = true
    this.#req.on('data', (chunk: Buffer) => body.push(chunk, false))
    this.#req.on('end', () => body.push(Buffer.alloc(0), true))
  }

  /** The exchange has seen the head. `onGone` hears that an answer still to come is wanted by nobody. */
  leave(onGone: () => void): void {
    if (this.#over) return
    this.#onGone = onGone
    // A body nobody asked for.
    if (!this.#received) this.#req.resume()
  }

  pause(): void {
    if (this.#over) return
    this.#watch(false)
    this.#req.pause()
  }

  resume(): void {
    if (this.#over) return
    if (!this.#req.complete) this.#watch(true)
    this.#req.resume()
  }

  send(head: string, body: string | Uint8Array, close: boolean): void {
    if (this.#over) return
    this.#over = true
    const bodiless = head.startsWith('204') || head.startsWith('304')
    this.#begin(head, bodiless ? undefined : Buffer.byteLength(body), close)
    this.#watch(true)
    if (bodiless || this.method === 'HEAD') this.#res.end()
    else this.#res.end(typeof body === 'string' ? body : Buffer.from(body))
    this.#discard()
  }

  async pipe(
    head: string,
    chunks: AsyncIterator<Uint8Array>,
    length: number | undefined,
    close: boolean,
  ): Promise<void> {
    if (!this.#over) this.#begin(head, length, close)
    let left = length ?? Number.POSITIVE_INFINITY
    while (!this.#over) {
      const result = await chunks.next()
      if (this.#over) break
      if (result.done === true) {
        this.#finish(length, left)
        return
      }
      const part = result.value.length > left ? result.value.subarray(0, left) : result.value
      left -= part.length
      if (part.length > 0 && !this.#res.write(part)) await this.#drained()
    }
    await chunks.return?.()
  }

  /** Resolves once the client has taken what was written, or has gone. */
  #drained(): Promise<void> {
    const res = this.#res
    this.#watch(true)
    return new Promise(resolve => {
      const done = () => {
        res.off('drain', done)
        res.off('close', done)
        if (!this.#over) this.#watch(false)
        resolve()
      }
      res.on('drain', done)
      res.on('close', done)
    })
  }

  /** Ends an answer whose source has ended. Throws where that gave less than was announced. */
  #finish(length: number | undefined, left: number): void {
    if (length !== undefined && left > 0) throw new Error(`An answer of ${length} bytes ended ${left} bytes early`)
    this.#over = true
    this.#watch(true)
    this.#res.end()
    this.#discard()
  }

  cut(): void {
    if (this.#over && !this.#res.writable) return
    this.#over = true
    this.#gone = true
    this.#req.socket.destroy()
  }

  #begin(head: string, length: number | undefined, close: boolean): void {
    const [status = '', ...lines] = head.split('\r\n')
    const headers: string[] = []
    for (const line of lines) {
      const at = line.indexOf(': ')
      headers.push(line.slice(0, at), bytes(line.slice(at + 2)))
    }
    if (length !== undefined) headers.push('Content-Length', String(length))
    if (close) headers.push('Connection', 'close')
    this.#res.writeHead(Number(status.slice(0, 3)), status.slice(4), headers)
  }

  /** What is left of the body of an answered request. */
  #discard(): void {
    if (!this.#req.complete) this.#req.resume()
  }

  /** Whether the client has to do something within `idleMs`. */
  #watch(on: boolean): void {
    this.#req.socket.setTimeout(on ? limits.http.idleMs : 0)
  }

  #closed(): void {
    if (this.#over) return
    this.#over = true
    this.#gone = true
    this.#onGone?.()
  }
}

/** Node reads heads byte by byte; what is not ASCII was meant as UTF-8. */
function utf8(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text, 'latin1').toString()
}

/** The other way. */
function bytes(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text).toString('latin1')
}
