// What a set-up looks at, inside a test: a name server, a mail server of others, a time server, each of which can be wrong.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type NameServer, startNameServer } from '../net/name-server.ts'

export interface Machine {
  readonly dns: NameServer
  /** Options that have a command ask these. */
  readonly asked: readonly string[]
  /** By how much the time server is ahead, milliseconds; what the mail server of others says first. */
  set(change: { ahead?: number; greeting?: string }): void
  close(): Promise<void>
}

const ntpEpoch = 2_208_988_800

/** @param lies the name server knows of no name that does not exist */
export async function startMachine({ lies = false } = {}): Promise<Machine> {
  const dns = await startNameServer()
  if (lies) dns.otherwise = '192.0.2.66'
  const state = { ahead: 0, greeting: '220 mx.example.net ESMTP' }
  const others = createServer(socket => socket.on('error', () => {}).end(`${state.greeting}\r\n`))
  others.listen(0, '127.0.0.1')
  await once(others, 'listening')
  const time = createSocket('udp4')
  time.on('message', (_query, { port, address }) => {
    const answer = Buffer.alloc(48)
    const at = (Date.now() + state.ahead) / 1000 + ntpEpoch
    answer.writeUInt32BE(Math.floor(at), 40)
    answer.writeUInt32BE(Math.floor((at % 1) * 2 ** 32), 44)
    time.send(answer, port, address)
  })
  time.bind(0, '127.0.0.1')
  await once(time, 'listening')
  const mailHost = `127.0.0.1:${(others.address() as AddressInfo).port}`
  return {
    dns,
    asked: ['--server', dns.address, '--mail-host', mailHost, '--time-server', `127.0.0.1:${time.address().port}`],
    set: change => void Object.assign(state, change),
    async close() {
      time.close()
      others.close()
      await dns.close()
    },
  }
}

/** Puts records in as a command prints them, but where the host leads: that is the test's, whatever addresses this machine has. */
export function publish(dns: NameServer, records: readonly { name: string; type: string; value: string }[]): void {
  for (const { name, type, value } of records) {
    if (type === 'A' || type === 'AAAA') continue
    const key = name.toLowerCase()
    if (type === 'TXT') dns.texts.set(key, [value])
    else dns.records.set(`${type} ${key}`, [value])
  }
}
