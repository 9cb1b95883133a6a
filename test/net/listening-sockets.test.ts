// How many sockets listen on a port: of tables as the system has them, and of sockets that are open here.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { listenersOn, listening } from '#net/listening-sockets.ts'

const open: Server[] = []
afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
const rest = '00000000:00000000 00:00000000 00000000     0        0 20000 1 0000000000000000 100 0 0 10 0\n'

test('addresses of what listens are read from both tables; what is connected is left out', () => {
  const four =
    `${head}   0: 0100007F:008F 00000000:0000 0A ${rest}` +
    `   1: 0A0200C0:008F 00000000:0000 0A ${rest}` +
    `   2: 0100007F:008F 0100007F:C001 01 ${rest}` +
    `   3: 0100007F:018F 00000000:0000 0A ${rest}`
  expect(listening(four, 143)).toEqual(['127.0.0.1', '192.0.2.10'])
  const nothing = '0'.repeat(32)
  const six =
    `${head}   0: ${nothing}:008F ${nothing}:0000 0A ${rest}` +
    `   1: 0000000000000000FFFF00000100007F:008F ${nothing}:0000 0A ${rest}` +
    `   2: B80D0120000000000000000001000000:008F ${nothing}:0000 0A ${rest}`
  expect(listening(six, 143)).toEqual(['::', '127.0.0.1', '2001:db8::1'])
  expect(listening('', 143)).toEqual([])
})

async function listen(host: string, port: number): Promise<number> {
  const server = createServer()
  open.push(server)
  server.listen({ host, port, reusePort: true })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

if (process.platform === 'linux') {
  test('sockets that share a port are counted, those of other addresses are not', async () => {
    const port = await listen('127.0.0.1', 0)
    expect(await listenersOn('127.0.0.1', port)).toBe(1)
    await listen('127.0.0.2', port)
    expect(await listenersOn('127.0.0.1', port)).toBe(1)
    await listen('0.0.0.0', port)
    expect(await listenersOn('127.0.0.1', port)).toBe(2)
    await listen('127.0.0.1', port)
    expect(await listenersOn('127.0.0.1', port)).toBe(3)
    expect(await listenersOn('0.0.0.0', port)).toBe(4)
  })
}
