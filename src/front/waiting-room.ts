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

export class WaitingRoom {
  readonly #open: Promise<Listener | undefined>[]

  constructor(options: RoomOptions, ports: Ports) {
    this.#open = mailProtocols.flatMap(({ name: protocol, config: names }) =>
      names.flatMap(name => {
        const port = ports[name]
        const word = words[protocol]?.(options.config.hostname) ?? ''
        return port === undefined ? [] : [openRoom(options, { name, port, word })]
      }),
    )
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.map(async opening => (await opening)?.close()))
  }
}

interface Room {
  readonly name: keyof Ports
  readonly port: number
  readonly word: string
}

async function openRoom(
  { config, admission, tls, log }: RoomOptions,
  { name, port, word }: Room,
): Promise<Listener | undefined> {
  const { toldMax, toldMs } = limits.front
  const implicitTls = name === 'imaps' || name === 'pop3s' || name === 'submissions'
  try {
    return await listen({
      ...{ host: config[name].host, port, shared: true, admission, tls, implicitTls },
      ...{ sessionsMax: toldMax, sessionsPerNetworkMax: toldMax, idleMs: toldMs, drainMs: toldMs, busy: word },
      serve: async connection => connection.write(word),
      onError: error => log.debug({ error, listener: name }, 'a connection could not be asked to come back'),
    })
  } catch (error) {
    log.warn({ error, listener: name }, 'the port is nobody’s until a front thread is back')
    return undefined
  }
}
