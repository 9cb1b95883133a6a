// A mail server that takes everything, or does as it is told, for tests of what leaves the service.

import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export interface SinkMessage {
  readonly from: string
  readonly to: readonly string[]
  readonly raw: string
  /** What was said about reports: of the message, then of each recipient (RFC 3461). */
  readonly dsn: readonly unknown[]
  /** Whether it came with REQUIRETLS (RFC 8689). */
  readonly requireTls: boolean
}

interface Answer {
  readonly code: number
  readonly text: string
}

export interface Sink {
  readonly port: number
  readonly url: string
  readonly messages: SinkMessage[]
  /** Connections so far. */
  connections: number
  /** Refuses recipients by address, and messages. */
  recipient: (address: string) => Answer | undefined
  message: (message: SinkMessage) => Answer | 'hang' | undefined
  /** Resolves when `count` messages have come. */
  received(count: number, ms?: number): Promise<SinkMessage[]>
  close(): Promise<void>
}

export async function startSink(port = 0, options: SMTPServerOptions = {}, host = '127.0.0.1'): Promise<Sink> {
  const waiting: { count: number; done: () => void }[] = []
  const error = ({ code, text }: Answer) => Object.assign(new Error(text), { responseCode: code })
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    ...options,
    onConnect(_session, done) {
      sink.connections += 1
      done()
    },
    onRcptTo({ address }, _session, done) {
      const answer = sink.recipient(address)
      done(answer === undefined ? null : error(answer))
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo, dsn, requireTLS } = session.envelope as typeof session.envelope & {
          dsn?: unknown
          requireTLS?: boolean
        }
        const message = {
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString('utf8'),
          requireTls: requireTLS === true,
          dsn: [dsn, ...rcptTo.map(one => (one as { dsn?: unknown }).dsn)],
        }
        const answer = sink.message(message)
        if (answer === 'hang') return
        if (answer !== undefined) return done(error(answer))
        sink.messages.push(message)
        for (const one of waiting) if (sink.messages.length >= one.count) one.done()
        done()
      })
    },
  })
  const sink: Sink = {
    ...{ port: 0, url: '', messages: [], connections: 0 },
    recipient: () => undefined,
    message: () => undefined,
    received: (count, ms = 10_000) =>
      new Promise((resolve, reject) => {
        const timer = globalThis.setTimeout(
          () => reject(new Error(`${sink.messages.length} messages came, not ${count}`)),
          ms,
        )
        const done = () => {
          clearTimeout(timer)
          resolve(sink.messages)
        }
        if (sink.messages.length >= count) done()
        else waiting.push({ count, done })
      }),
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
  server.on('error', () => {})
  await new Promise<void>(resolve => server.listen(port, host, () => resolve()))
  const address = server.server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : 0
  return Object.assign(sink, { port: bound, url: `smtp://127.0.0.1:${bound}` })
}
