// What new connections meet while no front listens: the main thread keeps the ports and asks to come back in a moment.
//
// Promises: the ports stay the service's; every connection has an answer of its protocol and ends. It must not serve anything:
// what brought a front down may come again with the next connection.

import type { Config } from '#config'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Admission } from '#net/admission.ts'
import { type Listener, listen } from '#net/listener.ts'
import type { TlsStore } from '#net/tls/tls.ts'
import { mailProtocols } from './mail-protocols.ts'
import type { Ports } from './protocol.ts'

export interface RoomOptions {
  readonly config: Config
  readonly admission: Admission
  readonly tls: TlsStore
  readonly log: Log
}

const words: Readonly<Record<string, (hostname: string) => string>> = {
  imap: () => '* BYE [UNAVAILABLE] Try again in a moment\r\n',
  pop3: () => '-ERR [SYS/TEMP] Try again in a moment\r\n',
  smtp: hostname => `421 4.3.2 ${hostname} Try again in a moment\r\n`,
}

/** The same over HTTP, to whoever has asked for something. */
function httpWord(): string {
  const body = `${JSON.stringify({ error: 'Try again in a moment', code: 'Overloaded' }, null, 2)}\n`
  const head = ['HTTP/1.1 503 Service Unavailable', 'Server: Teal', 'Retry-After: 1', 'Connection: close']
  const type = 'Content-Type: application/json; charset=utf-8'
  return [...head, type, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n')
}

export class WaitingRoom {
  readonly #open: Promise<Listener | undefined>[]

  constructor(options: RoomOptions, ports: Ports) {
    const { hostname } = options.config
    const mail = mailProtocols.flatMap(({ name: protocol, config: names }) =>
      names.map(name => ({ name, word: words[protocol]?.(hostname) ?? '', asked: false })),
    )
    const http = (['api', 'web'] as const).map(name => ({ name, word: httpWord(), asked: true }))
    this.#open = [...mail, ...http].flatMap(room => {
      const port = ports[room.name]
      return port === undefined ? [] : [openRoom(options, { ...room, port })]
    })
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.map(async opening => (await opening)?.close()))
  }
}

interface Room {
  readonly name: keyof Ports
  readonly port: number
  readonly word: string
  /** It is an answer: who asks for nothing is told nothing. */
  readonly asked: boolean
}

async function openRoom(
  { config, admission, tls, log }: RoomOptions,
  { name, port, word, asked }: Room,
): Promise<Listener | undefined> {
  const { toldMax, toldMs } = limits.front
  const secure: readonly string[] = ['imaps', 'pop3s', 'submissions', 'web', ...(config.api.secure ? ['api'] : [])]
  const implicitTls = secure.includes(name)
  // Over HTTP each listener says for itself whether proxies announce who is behind them.
  const alone = (name === 'api' || name === 'web') && !config[name].proxyProtocol
  try {
    return await listen({
      ...{ host: config[name].host, port, shared: true, tls, implicitTls, ...(!alone && { admission }) },
      ...{ sessionsMax: toldMax, sessionsPerNetworkMax: toldMax, idleMs: toldMs, drainMs: toldMs, busy: word },
      async serve(connection) {
        // A head ends with an empty line.
        if (asked) while ((await connection.line()).length > 0) {}
        connection.write(word)
      },
      onError: error => log.debug({ error, listener: name }, 'a connection could not be asked to come back'),
    })
  } catch (error) {
    log.warn({ error, listener: name }, 'the port is nobody’s until a front thread is back')
    return undefined
  }
}
