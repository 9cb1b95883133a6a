// What the HTTP front costs: an authenticated read of the size of GET /health against a bare uWebSockets.js answer with
// the same headers and the same number of bytes, in the same run, each in a process of its own.
//
// Run `node bench/http.ts [seconds] [rounds]`. Prints requests a second and processor time for each request of both,
// round by round, and the ratios of the medians. The load comes from wrk where it is installed, else from this process
// over raw sockets; one request is in flight on each of the connections. Where the load generator is the slower side the
// ratio of rates flatters; the ratio of processor times does not.

import { type ChildProcess, execFile, fork, spawnSync } from 'node:child_process'
import net from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const connections = 64
const token = '0123456789abcdef0123456789abcdef01234567'
const role = process.argv[2]

if (process.send !== undefined) {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.(user + system)
  })
}
if (role === 'front') await serveFront()
else if (role === 'bare') await serveBare()
else await main(Number(process.argv[2] ?? 3), Number(process.argv[3] ?? 5))

/** The front end as it runs: router, token, grant, validation, metrics. */
async function serveFront(): Promise<void> {
  const { Exchange } = await import('../src/http/exchange.ts')
  const { listenHttp } = await import('../src/http/server.ts')
  const { RequestCounters } = await import('#http/request-counters.ts')
  const { endpoint } = await import('../src/http/endpoint.ts')
  const { userId } = await import('../src/http/schema.ts')
  const { makeMetrics } = await import('../src/lib/metrics.ts')
  const { makeLog } = await import('../src/lib/log.ts')
  const { Fault } = await import('../src/lib/fault.ts')
  const { default: Type } = await import('typebox')
  const caller = { role: 'root', user: null, tokenKind: 'provisioned' } as const
  const read = endpoint({
    method: 'GET',
    path: '/users/:user',
    tag: 'Bench',
    summary: 'A small read',
    allow: 'users.read',
    params: { user: userId },
    reply: { success: Type.Boolean(), version: Type.String() },
    run: async () => ({ success: true, version: '0.1.0' }),
  })
  const exchange = new Exchange({
    endpoints: () => [read],
    identify: async given => {
      if (given !== token) throw new Fault('InvalidToken')
      return caller
    },
    log: makeLog('error'),
    counters: new RequestCounters(makeMetrics('0')),
    cors: { origins: ['*'] },
  })
  const server = await listenHttp(exchange, { host: '127.0.0.1', port: 0 })
  process.send?.(server.port)
}

/** uWebSockets.js alone, with an answer of the same bytes. */
async function serveBare(): Promise<void> {
  const uws = await import('uWebSockets.js')
  ;(uws as unknown as { _cfg(setting: string): void })._cfg('silent')
  const head = process.argv[3] ?? ''
  const body = process.argv[4] ?? ''
  const app = uws.App().any('/*', res => {
    res.writeStatus(head).end(body)
  })
  app.listen('127.0.0.1', 0, socket => {
    if (socket !== false) process.send?.(uws.us_socket_local_port(socket as never))
  })
}

async function main(seconds: number, rounds: number): Promise<void> {
  const front = await start('front')
  const path = '/users/507f1f77bcf86cd799439011'
  const sample = await once(front.port, path)
  const [head = '', body = ''] = sample.split('\r\n\r\n')
  const lines = head.split('\r\n').filter(line => !/^(date|content-length):/i.test(line))
  const bare = await start('bare', lines.join('\r\n').replace('HTTP/1.1 ', ''), body)
  const other = await once(bare.port, path)
  if (other.length !== sample.length) throw new Error(`${other.length} bytes are not ${sample.length}`)

  const wrk = spawnSync('wrk', ['-v']).error === undefined
  const attack = wrk ? loadByWrk : load
  print(`load by ${wrk ? 'wrk' : 'raw sockets'}`)
  const results: Record<'front' | 'bare', Result[]> = { front: [], bare: [] }
  for (const server of [front, bare]) await measure(server, path, 1, sample.length, attack)
  for (let round = 0; round < rounds; round++) {
    const b = await measure(bare, path, seconds, sample.length, attack)
    const f = await measure(front, path, seconds, sample.length, attack)
    results.bare.push(b)
    results.front.push(f)
    print(
      `bare ${show(b)}  front ${show(f)}  rate ${percent(f.rate / b.rate)}, processor ${percent(b.micros / f.micros)}`,
    )
  }
  const rate = median(results.front.map(one => one.rate)) / median(results.bare.map(one => one.rate))
  const micros = median(results.bare.map(one => one.micros)) / median(results.front.map(one => one.micros))
  print(
    `http: authenticated read of ${sample.length} bytes, ${connections} connections: ` +
      `${percent(rate)} of the rate of bare uWebSockets.js, ${percent(micros)} by processor time`,
  )
  front.child.kill()
  bare.child.kill()
}

interface Server {
  readonly child: ChildProcess
  readonly port: number
}

interface Result {
  /** Answers a second. */
  readonly rate: number
  /** Microseconds of the server's processor time for each answer. */
  readonly micros: number
}

type Load = (port: number, path: string, seconds: number, bytes: number) => Promise<{ rate: number; answers: number }>

async function measure(server: Server, path: string, seconds: number, bytes: number, attack: Load): Promise<Result> {
  const before = await usage(server)
  const { rate, answers } = await attack(server.port, path, seconds, bytes)
  return { rate, micros: ((await usage(server)) - before) / answers }
}

function usage({ child }: Server): Promise<number> {
  return new Promise(resolve => {
    child.once('message', micros => resolve(Number(micros)))
    child.send('usage')
  })
}

async function loadByWrk(port: number, path: string, seconds: number): Promise<{ rate: number; answers: number }> {
  const url = `http://127.0.0.1:${port}${path}`
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '-H', `X-Access-Token: ${token}`, url]
  const { stdout } = await promisify(execFile)('wrk', options)
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout)
  const answers = Number(/(\d+) requests in/.exec(stdout)?.[1])
  return { rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]), answers }
}

function show({ rate, micros }: Result): string {
  return `${rate.toFixed(0)}/s ${micros.toFixed(1)} us`
}

function percent(ratio: number): string {
  return `${(ratio * 100).toFixed(0)}%`
}

function start(...args: string[]): Promise<Server> {
  const child = fork(fileURLToPath(import.meta.url), args)
  return new Promise((resolve, reject) => {
    child.once('message', port => resolve({ child, port: Number(port) }))
    child.once('exit', code => reject(new Error(`The server ended with ${code}`)))
  })
}

function request(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: bench\r\nX-Access-Token: ${token}\r\n\r\n`
}

function once(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(request(path)))
    socket.once('data', data => {
      socket.destroy()
      resolve(data.toString('latin1'))
    })
    socket.once('error', reject)
  })
}

/** Every answer has `bytes` bytes, which is all that is looked at. */
async function load(
  port: number,
  path: string,
  seconds: number,
  bytes: number,
): Promise<{ rate: number; answers: number }> {
  const message = Buffer.from(request(path))
  const until = performance.now() + seconds * 1000
  let answers = 0
  const one = () =>
    new Promise<void>((resolve, reject) => {
      let missing = bytes
      const socket = net.connect(port, '127.0.0.1', () => socket.write(message))
      socket.setNoDelay(true)
      socket.on('error', reject)
      socket.on('data', data => {
        missing -= data.length
        if (missing > 0) return
        answers += 1
        missing = bytes
        if (performance.now() < until) socket.write(message)
        else {
          socket.destroy()
          resolve()
        }
      })
    })
  const begun = performance.now()
  await Promise.all(Array.from({ length: connections }, one))
  return { rate: (answers * 1000) / (performance.now() - begun), answers }
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
