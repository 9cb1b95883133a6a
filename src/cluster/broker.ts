// The line between nodes: NATS. The one place that knows its client.
//
// It carries bytes to whoever listens to a subject, quickly and without a promise: what is lost while a connection is made
// again is lost, and whoever uses it finds out (src/cluster/line.ts).

import { connect, type NatsConnection } from '@nats-io/transport-node'
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
  let connection: NatsConnection
  try {
    connection = await connect({
      ...optionsOf(place),
      name: `teal ${name}`,
      timeout: limits.cluster.connectMs,
      reconnectTimeWait: limits.cluster.againMs,
      maxReconnectAttempts: -1,
      pingInterval: limits.cluster.pingMs,
      noEcho: true,
    })
  } catch (cause) {
    throw new Fault('StorageUnavailable', { text: 'The NATS server of cluster.nats is not to be had', cause })
  }
  let connected = true
  void (async () => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') {
        connected = false
        log.warn('the line to other nodes is gone')
      } else if (type === 'reconnect') {
        connected = true
        log.info('the line to other nodes is there again')
      }
    }
  })()
  return {
    payloadMax: connection.info?.max_payload ?? 1024 * 1024,
    get connected() {
      return connected
    },
    publish(subject, bytes) {
      if (!connection.isClosed()) connection.publish(subject, bytes)
    },
    async subscribe(subject, hear) {
      const subscription = connection.subscribe(subject, {
        callback: (error, { data }) => {
          if (error === null || error === undefined) hear(Buffer.from(data.buffer, data.byteOffset, data.byteLength))
        },
      })
      await connection.flush()
      return () => subscription.unsubscribe()
    },
    async close() {
      await connection.flush().catch(() => {})
      await connection.close()
    },
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
