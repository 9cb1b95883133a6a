// One accepted connection as line protocols use it: lines and chunks in, text and bytes out, STARTTLS in between.
//
// Reading is by pull: `takeLine` and `peek` give what is there at once, `line` and `fill` wait for more. What nobody reads
// stays in the kernel (limits.net.inputBytesMax), and a peer that does not read its answers gets no further line handled,
// so a hostile pipeline costs nothing. What is written goes out together at the end of the tick, in one system call. Waiting ends
// with a Fault: IdleTimeout, Stopping, LineTooLong; or with `Disconnected`, which nobody answers. Ten thousand wait at once: none has a function of its own.

import assert from 'node:assert'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { breathe, monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { hearAtOnce } from '#lib/process/link.ts'
import { plainAddress } from './address.ts'
import { type Peer, type Place, untold } from './admission.ts'
import { DeflateSocket } from './deflate.ts'
import { Disconnected } from './disconnected.ts'
import { Gone } from './gone.ts'
import { deafen, hear, type Owner, type Stream, type StreamHearer, type Waiter } from './hearing.ts'
import { Endless, Input, LongLine } from './input.ts'
import { Pending } from './output.ts'
import type { Behind } from './proxy-header.ts'
import { secureSocket, type TlsInfo, type TlsStore, tlsInfo } from './tls/tls.ts'

export { Disconnected, LongLine }

export class Connection implements StreamHearer {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly localAddress: string
  readonly localPort: number
  /** Longest line that `line` and `takeLine` give, its end included; longer ones are LineTooLong. May be changed. */
  lineBytesMax: number = limits.net.lineBytesMax
  /** Time for a whole line, however it comes, and silence after which `fill` gives up: both end with IdleTimeout. May be changed. */
  idleMs: number
  /** Its place among all connections: whoever logs in or hands in a message keeps it longer. */
  ticket: Place = untold

  #socket: Stream
  #gone: Gone | undefined
  #phase: 'open' | 'ending' | 'closed' = 'open'
  readonly #input = new Input()
  #paused = false
  #inputEnded = false
  readonly #pending = new Pending()
  #flushPlanned = false
  /** Lines given since the event loop last had its turn: a pipeline of quick commands would hold up everybody else. */
  #lines = 0
  #stopping = false
  #reader: Waiter | undefined
  #drained: Waiter[] | undefined
  /** Monotonic times at which input and output that are waited for are given up. */
  #deadline = Number.POSITIVE_INFINITY
  #stallDeadline = Number.POSITIVE_INFINITY
  #secure = false
  readonly #owner: Owner

  /** @param behind who is behind a proxy */
  constructor(socket: Socket, idleMs: number, owner: Owner, behind?: Behind) {
    this.#socket = socket
    this.#owner = owner
    this.idleMs = idleMs
    this.remoteAddress = behind?.address ?? plainAddress(socket.remoteAddress)
    this.remotePort = behind?.port ?? socket.remotePort ?? 0
    this.localAddress = plainAddress(socket.localAddress)
    this.localPort = socket.localPort ?? 0
    hear(socket, this)
  }

  get closed(): boolean {
    return this.#phase === 'closed'
  }

  get gone(): Gone {
    this.#gone ??= new Gone(this.#phase !== 'open')
    return this.#gone
  }

  /** Whether the service asked sessions to finish. */
  get stopping(): boolean {
    return this.#stopping
  }

  /** Whether the last line ended in LF without CR. */
  get bareLine(): boolean {
    return this.#input.bareLine
  }

  get secure(): boolean {
    return this.#secure
  }

  /** How TLS was agreed on, or undefined without TLS. */
  get tls(): TlsInfo | undefined {
    const socket = this.#socket
    return this.#secure && socket instanceof TLSSocket ? tlsInfo(socket) : undefined
  }

  /** Bytes of output that the kernel has not taken. */
  get backlogBytes(): number {
    return this.#pending.bytes + this.#socket.writableLength
  }

  /**
   * The next line without its end if it is here whole, else undefined: then await `line`. Valid as long as it is kept.
   *
   * @throws Fault LineTooLong, once for each such line, which is then gone; Disconnected where it does not end
   */
  takeLine(): Buffer | undefined {
    if (this.#pending.bytes > limits.net.backlogBytesSoft || this.#stopping) return undefined
    if (this.#lines >= limits.net.linesPerTurn) return undefined
    this.#lines += 1
    try {
      return this.#input.takeLine(this.lineBytesMax)
    } catch (error) {
      if (!(error instanceof Endless)) throw error
      this.destroy()
      throw new Disconnected(error.message)
    } finally {
      this.#unpause()
    }
  }

  /** The next line without its end; a byte of it now and then holds no place. @throws Fault IdleTimeout, Stopping, LineTooLong; Disconnected */
  async line(): Promise<Buffer> {
    let until: number | undefined
    for (;;) {
      if (this.#stopping) throw new Fault('Stopping')
      const line = this.takeLine()
      if (line !== undefined) return line
      // A pipeline of quick commands would hold up everybody else.
      if (this.#lines >= limits.net.linesPerTurn) {
        await breathe()
        this.#lines = 0
      } else if (this.backlogBytes > limits.net.backlogBytesSoft) await this.drain()
      else {
        until ??= monotonic() + this.idleMs
        await this.#wait(true, until)
      }
    }
  }

  /** The bytes in hand without taking them, or undefined: then await `fill`. `consume` takes them. */
  peek(): Buffer | undefined {
    return this.#input.peek()
  }

  /**
   * Waits for bytes and gives them without taking them. Goes on while the service stops, since it is in the middle of
   * something that the peer began; what holds it up too long is cut off by the listener.
   *
   * @throws Fault IdleTimeout; Disconnected
   */
  async fill(): Promise<Buffer> {
    for (;;) {
      const chunk = this.peek()
      if (chunk !== undefined) return chunk
      await this.#wait(false)
    }
  }

  /**
   * Resolves when there are bytes again, none being in hand; for who waits long between two commands, since of all waiting this keeps least.
   *
   * @throws Fault IdleTimeout, Stopping; Disconnected
   */
  arrival(): Promise<void> {
    return this.#stopping ? Promise.reject(new Fault('Stopping')) : this.#wait(true)
  }

  /** Takes `length` of the bytes that `peek` showed. */
  consume(length: number): void {
    this.#input.consume(length)
    this.#unpause()
  }

  /**
   * Takes exactly `length` bytes, a chunk at a time, and hands each to `sink`, whose promise is waited for. The chunks may
   * be kept.
   *
   * @throws Fault IdleTimeout; Disconnected; whatever `sink` throws, the rest then being unread
   */
  async literal(length: number, sink: (chunk: Buffer) => void | Promise<void>): Promise<void> {
    for (let left = length; left > 0; ) {
      const chunk = this.peek() ?? (await this.fill())
      const part = chunk.length <= left ? chunk : chunk.subarray(0, left)
      this.consume(part.length)
      left -= part.length
      const work = sink(part)
      if (work !== undefined) await work
    }
  }

  /**
   * Sends text (as UTF-8) or bytes, which must not change before `taken` is called, which may never happen. Whoever writes
   * much awaits `drain` in between.
   */
  write(data: string | Uint8Array, taken?: () => void): void {
    if (this.#phase !== 'open') return
    this.#pending.add(data, taken)
    if (this.backlogBytes > limits.net.backlogBytesMax) this.destroy()
    if (this.#flushPlanned) return
    this.#flushPlanned = true
    process.nextTick(Connection.#flushLater, this)
  }

  /** Resolves when the peer has taken what was written but for a little. @throws Disconnected */
  async drain(): Promise<void> {
    this.#flush()
    if (this.#socket.destroyed) throw new Disconnected()
    if (!this.#socket.writableNeedDrain) return
    this.#stallDeadline = monotonic() + limits.net.stallMs
    await new Promise<void>((resolve, reject) => {
      this.#drained ??= []
      this.#drained.push({ resolve, reject })
    })
  }

  /**
   * Answers STARTTLS: what was written goes out first, what the peer sent too early is dropped (it was not protected), and
   * the handshake is made, all of it in the time for a handshake. @throws Disconnected where it fails
   */
  async startTls(store: TlsStore): Promise<void> {
    const plain = this.#socket
    // A peer that has said its last word will not shake hands.
    if (this.#inputEnded) {
      this.#flush()
      throw new Disconnected()
    }
    this.#forget()
    deafen(plain)
    this.#flush()
    this.#deadline = monotonic() + limits.net.handshakeMs
    if (plain.writableLength > 0) await this.ticket.lend(new Promise<void>(taken => plain.write('', () => taken())))
    if (plain.destroyed) {
      // Nobody listened meanwhile.
      this.heardClose()
      throw new Disconnected()
    }
    const socket = secureSocket(plain, store)
    this.#socket = socket
    hear(socket, this)
    await new Promise<void>((resolve, reject) => {
      this.#reader = { resolve, reject }
      socket.once('secure', () => {
        this.#secure = true
        this.#wake()
      })
    })
    if (this.#secure) return
    this.destroy()
    throw new Disconnected()
  }

  /** Compresses both directions from here on (RFC 4978): what was written before goes out plain, what is not read yet came compressed. */
  compress(): void {
    const plain = this.#socket
    assert(!(plain instanceof DeflateSocket))
    const early = this.#input.takeAll()
    this.#forget()
    this.#flush()
    deafen(plain)
    this.#socket = new DeflateSocket(plain, early)
    hear(this.#socket, this)
  }

  /** Sends what was written and ends the connection; what the peer still sends is thrown away. */
  end(): void {
    if (this.#phase !== 'open') return
    this.#flush()
    this.#phase = 'ending'
    this.#gone?.tell()
    this.#forget()
    this.#deadline = monotonic() + limits.net.stallMs
    this.#socket.end(() => {
      this.#deadline = monotonic() + limits.net.lingerMs
    })
    this.#socket.resume()
  }

  /** Cuts the connection off. */
  destroy(): void {
    this.#socket.destroy()
  }

  /** For the listener: whether the peer is waited for, or may be told to go in place of the answer it waits for. */
  get waiting(): Peer['waiting'] {
    if (this.#phase !== 'open') return 'idle'
    if (this.#reader !== undefined) return this.#reader.idle === true ? 'idle' : 'midway'
    return this.#drained === undefined ? this.ticket.owing && 'idle' : 'midway'
  }

  /** For the listener: ends the connection to make room, with a last word where one can be said. */
  displace(): void {
    const word = this.#owner.displaced()
    if (this.#phase !== 'open' || this.waiting !== 'idle') return void this.#socket.destroy()
    this.#flush()
    this.#phase = 'ending'
    this.#deadline = monotonic() + limits.net.displaceMs
    this.#socket.write(word, () => this.#socket.destroy())
  }

  /** For the listener: asks the session to finish. A session that waits for a line gets Fault Stopping. */
  stop(): void {
    this.#stopping = true
    const reader = this.#reader
    if (reader?.idle !== true) return
    this.#reader = undefined
    reader.reject(new Fault('Stopping'))
  }

  /** For the listener: gives up what has been waited for too long at `time` (monotonic). */
  sweep(time: number): void {
    const stalled = time >= this.#stallDeadline
    if (!stalled && time < this.#deadline) return
    this.#deadline = Number.POSITIVE_INFINITY
    const reader = this.#reader
    const speechless = this.#phase !== 'open' || (this.#socket instanceof TLSSocket && !this.#secure)
    if (stalled || speechless || reader === undefined) return void this.destroy()
    this.#reader = undefined
    reader.reject(new Fault('IdleTimeout'))
  }

  // What follows is for the socket (hearing.ts).

  heardBytes(chunk: Buffer): void {
    hearAtOnce()
    if (this.#phase !== 'open') return
    this.#input.push(chunk)
    if (this.#input.heldBytes > Math.max(limits.net.inputBytesMax, this.lineBytesMax) && !this.#paused) {
      this.#paused = true
      this.#socket.pause()
    }
    this.#wake()
  }

  heardEnd(): void {
    this.#inputEnded = true
    this.#wake()
  }

  heardRoom(): void {
    for (const waiter of this.#drained ?? []) waiter.resolve()
    this.#drained = undefined
    this.#stallDeadline = Number.POSITIVE_INFINITY
  }

  heardClose(): void {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    this.#gone?.tell()
    this.#inputEnded = true
    this.#pending.clear()
    for (const waiter of this.#drained ?? []) waiter.reject(new Disconnected())
    this.#drained = undefined
    this.#wake()
    this.#owner.closed(this)
  }

  #unpause(): void {
    if (!this.#paused || this.#input.heldBytes > limits.net.inputBytesMax / 2) return
    this.#paused = false
    this.#socket.resume()
  }

  #forget(): void {
    this.#input.clear()
    this.#paused = false
  }

  /** Waits for input, until a monotonic time at most; `idle` says that a stopping service may interrupt. */
  #wait(idle: boolean, until = monotonic() + this.idleMs): Promise<void> {
    assert(this.#reader === undefined, 'one reader at a time')
    if (this.#inputEnded || this.#phase !== 'open' || this.#socket.destroyed) return Promise.reject(new Disconnected())
    this.#deadline = until
    return new Promise<void>((resolve, reject) => {
      this.#reader = { resolve, reject, idle }
    })
  }

  #wake(): void {
    this.#lines = 0
    const reader = this.#reader
    if (reader === undefined) return
    this.#reader = undefined
    this.#deadline = Number.POSITIVE_INFINITY
    if (this.#phase === 'closed') reader.reject(new Disconnected())
    else reader.resolve()
  }

  static #flushLater(connection: Connection): void {
    connection.#flushPlanned = false
    connection.#flush()
  }

  #flush(): void {
    if (this.#phase === 'open') this.#pending.flush(this.#socket)
  }
}
