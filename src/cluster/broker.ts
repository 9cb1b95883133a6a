// The line between nodes: NATS. The one place that knows its client.
//
// It carries bytes to whoever listens to a subject, quickly and without a promise: what is lost while a connection is made
// again is lost, and whoever uses it finds out (src/cluster/line.ts).

import { connect, type NatsConnection } from '@nats-io/transport-node'
import { sleep } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'

export interface Broker {
  /** Bytes of one message. */
  readonly payloadMax: number
  /** Whether there is a connection at this moment. */
  readonly connected: boolean
  publish(subject: string, bytes: Uint8Array): void
  /** Hears what is said there from when this resolves on, until the returned function is called. */
  subscribe(subject: string, hear: (bytes: Buffer) => void): Promise<() => void>
  close(): Promise<void>
}

/** Where it is: nats://user:password@host:port, several with commas between them; `ca` is a file of certificates, '' for the public ones. */
export interface BrokerPlace {
  readonly nats: string
  readonly ca: string
}

/** @throws Fault StorageUnavailable */
export async function connectBroker(place: BrokerPlace, name: string, log: Log): Promise<Broker> {
  const connection = await open(place, name).catch((cause: unknown) => {
    throw new Fault('StorageUnavailable', { text: 'The NATS server of cluster.nats is not to be had', cause })
  })
  return new NatsBroker({ place, name, log }, connection)
}

function open(place: BrokerPlace, name: string): Promise<NatsConnection> {
  return connect({
    ...optionsOf(place),
    name: `teal ${name}`,
    timeout: limits.cluster.connectMs,
    reconnectTimeWait: limits.cluster.againMs,
    maxReconnectAttempts: -1,
    pingInterval: limits.cluster.pingMs,
    noEcho: true,
  })
}

interface Heard {
  readonly subject: string
  readonly hear: (bytes: Buffer) => void
  ends: () => void
}

class NatsBroker implements Broker {
  readonly #of: { readonly place: BrokerPlace; readonly name: string; readonly log: Log }
  #connection: NatsConnection
  #connected = true
  readonly #heard = new Set<Heard>()
  readonly #over = new AbortController()

  constructor(of: { place: BrokerPlace; name: string; log: Log }, connection: NatsConnection) {
    this.#of = of
    this.#connection = connection
    this.#follow()
  }

  get payloadMax(): number {
    return this.#connection.info?.max_payload ?? 1024 * 1024
  }

  get connected(): boolean {
    return this.#connected
  }

  publish(subject: string, bytes: Uint8Array): void {
    if (!this.#connection.isClosed()) this.#connection.publish(subject, bytes)
  }

  async subscribe(subject: string, hear: Heard['hear']): Promise<() => void> {
    const heard: Heard = { subject, hear, ends: () => {} }
    this.#heard.add(heard)
    this.#hearAt(heard)
    await this.#connection.flush()
    return () => {
      this.#heard.delete(heard)
      heard.ends()
    }
  }

  async close(): Promise<void> {
    this.#over.abort()
    await this.#connection.flush().catch(() => {})
    await this.#connection.close()
  }

  #hearAt(heard: Heard): void {
    const subscription = this.#connection.subscribe(heard.subject, {
      callback: (error, { data }) => {
        if (error === null || error === undefined)
          heard.hear(Buffer.from(data.buffer, data.byteOffset, data.byteLength))
      },
    })
    heard.ends = () => subscription.unsubscribe()
  }

  #follow(): void {
    const connection = this.#connection
    void (async () => {
      for await (const { type } of connection.status()) {
        if (type === 'disconnect') this.#isConnected(false)
        else if (type === 'reconnect') this.#isConnected(true)
      }
    })()
    void connection.closed().then(error => this.#again(error ?? undefined))
  }

  #isConnected(connected: boolean): void {
    if (connected === this.#connected) return
    this.#connected = connected
    if (connected) this.#of.log.info('the line to other nodes is there again')
    else this.#of.log.warn('the line to other nodes is gone')
  }

  /** The client gives up for good where a server lets it in no more; which it may do again, when its password is right, or the one of this node is there. */
  async #again(refused: Error | undefined): Promise<void> {
    const { signal } = this.#over
    if (signal.aborted) return
    this.#isConnected(false)
    this.#of.log.warn({ error: refused }, 'the NATS server refuses this node, which goes on asking')
    while (!signal.aborted) {
      await sleep(limits.cluster.againMs, signal).catch(() => {})
      const connection = await open(this.#of.place, this.#of.name).catch(() => undefined)
      if (connection === undefined) continue
      if (signal.aborted) return connection.close()
      this.#connection = connection
      for (const heard of this.#heard) this.#hearAt(heard)
      this.#follow()
      this.#isConnected(true)
      return
    }
  }
}

/** Who we are stands in the address; the client wants it apart. */
function optionsOf({ nats, ca }: BrokerPlace) {
  const [first = '', ...others] = nats.split(',').map(one => new URL(one))
  const { username, password, protocol } = first as URL
  const servers = [first as URL, ...others].map(one => `${one.hostname}:${one.port || 4222}`)
  const user = decodeURIComponent(username)
  return {
    servers,
    ...(password !== '' ? { user, pass: decodeURIComponent(password) } : user !== '' && { token: user }),
    ...((protocol === 'tls:' || ca !== '') && { tls: ca === '' ? {} : { caFile: ca } }),
  }
}
