import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { Blocked, Outward, outwardFailure } from '#net/outward/outward.ts'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

const inside = [
  '127.0.0.1',
  '127.255.255.254',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '255.255.255.255',
  '224.0.0.1',
  '192.0.0.192',
  '198.18.0.1',
  '240.0.0.1',
  '168.63.129.16',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:a00:1',
  '::ffff:169.254.169.254',
  '64:ff9b::7f00:1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::1',
  '2002:7f00:1::',
  '2001::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
  '100::1',
  '2001:db8::1',
  '4000::1',
  'no address',
  '',
]
const outside = ['8.8.8.8', '193.0.14.129', '172.32.0.1', '2606:4700:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808']

describe('addresses', () => {
  const outward = new Outward({ allowPrivate: [] })
  test.each(inside)('%s is inside', address => expect(outward.permits(address)).toBe(false))
  test.each(outside)('%s is outside', address => expect(outward.permits(address)).toBe(true))

  test('an allowed range is reachable, in every way it can be written, and nothing else is', () => {
    const local = new Outward({ allowPrivate: ['127.0.0.0/8', 'fd00:1::/32'] })
    expect(['127.0.0.1', '::ffff:127.0.0.1', 'fd00:1::5'].every(address => local.permits(address))).toBe(true)
    expect(['10.0.0.1', '::1', 'fd00:2::5'].some(address => local.permits(address))).toBe(false)
  })

  test('of a name with addresses inside the others are reached alone', async () => {
    const mixed = new Outward({ allowPrivate: [], resolve: async () => ['10.0.0.1', '8.8.8.8', 'fd00::1'] })
    expect(await mixed.addresses('mixed.example.com')).toEqual(['8.8.8.8'])
    const inside = new Outward({ allowPrivate: [], resolve: async () => ['10.0.0.1', 'fd00::1'] })
    await expect(inside.addresses('inside.example.com')).rejects.toThrow(Blocked)
  })

  test('localhost is as reachable as its addresses', async () => {
    const both = ['127.0.0.1', '::1']
    const resolve = async () => both
    await expect(new Outward({ allowPrivate: [], resolve }).addresses('localhost')).rejects.toThrow(Blocked)
    const local = new Outward({ allowPrivate: ['127.0.0.0/8'], resolve })
    expect(await local.addresses('localhost')).toEqual(['127.0.0.1'])
  })

  test('a name without an address says so', async () => {
    const empty = new Outward({ allowPrivate: [], resolve: async () => [] })
    await expect(empty.addresses('nowhere.example.com').catch(outwardFailure)).resolves.toBe('unresolved')
  })
})

async function serve(): Promise<{ port: number; hosts: string[] }> {
  const hosts: string[] = []
  const server: Server = createServer((request, response) => {
    hosts.push(String(request.headers.host))
    response.end('in')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  closers.push(
    () => server.close(),
    () => server.closeAllConnections(),
  )
  return { port: (server.address() as AddressInfo).port, hosts }
}

const agentOf = (outward: Outward) => {
  const agent = outward.agent({ connectionsMax: 4, answerBytesMax: 1000 })
  closers.push(() => agent.destroy())
  return agent
}
const get = (agent: ReturnType<typeof agentOf>, origin: string) =>
  agent.request({ origin, path: '/', method: 'GET' }).then(
    async answer => answer.body.text(),
    (error: unknown) => outwardFailure(error),
  )

describe('connections', () => {
  test('a name that changes its mind after the check is refused, for it is asked once for each connection', async () => {
    const { port, hosts } = await serve()
    const answers = [['127.0.0.2'], ['127.0.0.1']]
    const asked: string[] = []
    const resolve = async (host: string) => {
      asked.push(host)
      return answers.shift() ?? ['127.0.0.1']
    }
    // Only the first answer is in an allowed range; the connection goes to it or nowhere.
    const outward = new Outward({ allowPrivate: ['127.0.0.2/32'], resolve })
    const first = await get(agentOf(outward), `http://rebind.example.com:${port}`)
    const second = await get(agentOf(outward), `http://rebind.example.com:${port}`)
    expect([first, second]).toEqual(['refused', 'blocked'])
    expect(asked).toEqual(['rebind.example.com', 'rebind.example.com'])
    expect(hosts).toEqual([])
  })

  test.each(['127.0.0.1', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '127.1'])(
    '%s is blocked as a host',
    async host => {
      const { port, hosts } = await serve()
      expect(await get(agentOf(new Outward({ allowPrivate: [] })), new URL(`http://${host}:${port}`).origin)).toBe(
        'blocked',
      )
      expect(hosts).toEqual([])
    },
  )

  test('an allowed address is reached, by name and by number', async () => {
    const { port, hosts } = await serve()
    const outward = new Outward({ allowPrivate: ['127.0.0.0/8'], resolve: async () => ['127.0.0.1'] })
    const agent = agentOf(outward)
    expect(await get(agent, `http://inner.example.com:${port}`)).toBe('in')
    expect(await get(agent, `http://127.0.0.1:${port}`)).toBe('in')
    expect(hosts).toEqual([`inner.example.com:${port}`, `127.0.0.1:${port}`])
  })

  test('a dialled connection goes to a checked address or not at all', async () => {
    const { port } = await serve()
    const open = new Outward({ allowPrivate: ['127.0.0.0/8'], resolve: async () => ['127.0.0.1'] })
    const socket = await open.dial({ host: 'inner.example.com', port })
    expect(socket.remoteAddress).toBe('127.0.0.1')
    socket.destroy()
    const shut = new Outward({ allowPrivate: [], resolve: async () => ['127.0.0.1'] })
    const dialled = (host: string) => shut.dial({ host, port }).catch(outwardFailure)
    expect(await dialled('inner.example.com')).toBe('blocked')
    expect(await dialled('127.0.0.1')).toBe('blocked')
    expect(await dialled('[::1]')).toBe('blocked')
  })

  test('a host with an address that does not answer is reached by the next one, of either family', async () => {
    const server = createServer()
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
    closers.push(() => server.close())
    const { port } = server.address() as AddressInfo
    const first = ['::1', '127.0.0.9', '10.255.255.1']
    for (const dead of first) {
      const allowPrivate = ['127.0.0.0/8', '::1/128', '10.0.0.0/8']
      const outward = new Outward({ allowPrivate, resolve: async () => [dead, '127.0.0.1'] })
      const socket = await outward.dial({ host: 'two.test', port })
      expect(socket.remoteAddress).toBe('127.0.0.1')
      socket.destroy()
    }
  })

  test('an address that takes half a second is not given up for one that is out of reach', async () => {
    // A listener that stands still, and whose queue is full: the next one hears of it when he asks again, a second later.
    const listen =
      'listen({ port: 0, host: "127.0.0.1", backlog: 1 }, function () { console.log(this.address().port) })'
    const still = spawn(process.execPath, ['-e', `require("node:net").createServer().${listen}`])
    closers.push(() => still.kill('SIGKILL'))
    const [line] = await once(still.stdout, 'data')
    const port = Number(String(line))
    still.kill('SIGSTOP')
    for (let at = 0; at < 4; at++) {
      const waiting = connect(port, '127.0.0.1')
      waiting.on('error', () => {})
      closers.push(() => waiting.destroy())
    }
    await sleep(200)
    const allowPrivate = ['127.0.0.0/8', '::1/128']
    const outward = new Outward({ allowPrivate, resolve: async () => ['127.0.0.1', '::1'] })
    const dialled = outward.dial({ host: 'far.test', port })
    dialled.catch(() => {})
    await sleep(500)
    still.kill('SIGCONT')
    const socket = await dialled
    expect(socket.remoteAddress).toBe('127.0.0.1')
    socket.destroy()
  })

  test('a dial that gets no answer ends in time, and one that is called off ends at once', async () => {
    const never = new Outward({ allowPrivate: [], resolve: () => new Promise(() => {}) })
    expect(await never.dial({ host: 'slow.example.com', port: 1, timeoutMs: 20 }).catch(outwardFailure)).toBe('timeout')
    const off = new AbortController()
    const dialled = never.dial({ host: 'slow.example.com', port: 1, signal: off.signal }).catch(outwardFailure)
    off.abort()
    expect(await dialled).toBe('protocol')
  })
})
