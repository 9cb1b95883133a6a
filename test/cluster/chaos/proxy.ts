// A wire between a node and a server that a test may slow down, stall and cut.
//
// What goes through arrives in its order whatever is done to it. A wire that stalls takes connections and carries nothing, as
// when packets are lost on the way; one that was cut ends those that are open.

import {
  type AddressInfo,
  createServer,
  connect as dial,
  type NetConnectOpts,
  type Server,
  type Socket,
} from 'node:net'
import { after } from '#lib/clock.ts'

export class Wire {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #waiting: (() => void)[] = []
  #stalled: 'both' | 'from' | 'to' | undefined
  /** What each byte takes, in milliseconds. */
  delay = 0

  private constructor(to: () => NetConnectOpts) {
    this.#server = createServer({ noDelay: true }, near => {
      const far = dial(to())
      far.setNoDelay(true)
      this.#carry(near, far, 'from')
      this.#carry(far, near, 'to')
    })
  }

  static async open(to: () => NetConnectOpts): Promise<Wire> {
    const wire = new Wire(to)
    await new Promise<void>(done => wire.#server.listen(0, '127.0.0.1', () => done()))
    return wire
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** @param way what the node says, or what is said to it */
  stall(way: 'both' | 'from' | 'to' = 'both'): void {
    this.#stalled = way
  }

  /** Goes on with all that waited. */
  goOn(): void {
    this.#stalled = undefined
    for (const go of this.#waiting.splice(0)) go()
  }

  /** Ends every connection; new ones are carried. */
  cut(): void {
    this.#stalled = undefined
    this.#waiting.length = 0
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise(done => this.#server.close(done))
  }

  #carry(from: Socket, to: Socket, way: 'from' | 'to'): void {
    this.#sockets.add(from)
    from.on('error', () => {})
    const late: (() => void)[] = []
    from.on('data', chunk => this.#pass(from, way, late, () => void to.write(chunk)))
    from.on('close', () => {
      this.#sockets.delete(from)
      this.#pass(from, way, late, () => to.destroySoon())
    })
  }

  /** @param late what is on its way, in its order */
  #pass(from: Socket, way: 'from' | 'to', late: (() => void)[], pass: () => void): void {
    if (this.#stalled === 'both' || this.#stalled === way) {
      from.pause()
      this.#waiting.push(() => {
        pass()
        from.resume()
      })
    } else if (this.delay > 0 || late.length > 0) {
      late.push(pass)
      after(this.delay, () => late.shift()?.())
    } else pass()
  }
}
