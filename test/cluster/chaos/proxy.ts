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
  #stalled = false
  /** What each byte takes, in milliseconds. */
  delay = 0

  private constructor(to: () => NetConnectOpts) {
    this.#server = createServer({ noDelay: true }, near => {
      const far = dial(to())
      far.setNoDelay(true)
      this.#carry(near, far)
      this.#carry(far, near)
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

  stall(): void {
    this.#stalled = true
  }

  /** Goes on with all that waited. */
  goOn(): void {
    this.#stalled = false
    for (const go of this.#waiting.splice(0)) go()
  }

  /** Ends every connection; new ones are carried. */
  cut(): void {
    this.#stalled = false
    this.#waiting.length = 0
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise(done => this.#server.close(done))
  }

  #carry(from: Socket, to: Socket): void {
    this.#sockets.add(from)
    from.on('error', () => {})
    const late: (() => void)[] = []
    from.on('data', chunk => this.#pass(from, late, () => void to.write(chunk)))
    from.on('close', () => {
      this.#sockets.delete(from)
      this.#pass(from, late, () => to.destroySoon())
    })
  }

  /** @param late what is on its way, in its order */
  #pass(from: Socket, late: (() => void)[], pass: () => void): void {
    if (this.#stalled) {
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
