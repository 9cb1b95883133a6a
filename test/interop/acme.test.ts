// A real ACME server, Pebble of Let's Encrypt's, against the service: it rejects nonces at random, takes its time with
// orders, and looks challenges up by DNS as the public servers do.

import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { startTeal, type Teal } from '#service'
import { freePort } from '../free-port.ts'
import { openAuthority } from '../net/authority.ts'
import { Wire } from '../net/wire.ts'
import { accessTo } from '../running.ts'
import { folder, needPrograms } from './programs.ts'

const patience = { timeout: 60_000, interval: 200 }
const names = ['mx.teal.test', 'imap.teal.test']
const place = folder()
const running = accessTo(() => teal)

let teal: Teal
let pebble: ChildProcess
let dns: Socket
let management = 0
let output = ''

beforeAll(async () => {
  needPrograms('pebble')
  dns = await answerNames()
  const root = await openAuthority()
  const { key, cert } = await root.issue({ addresses: ['127.0.0.1'] })
  const [directory, port] = [await freePort(), await freePort()]
  management = await freePort()
  const files = {
    root: join(place.path, 'root.pem'),
    key: join(place.path, 'key.pem'),
    cert: join(place.path, 'cert.pem'),
  }
  writeFileSync(files.root, root.cert)
  writeFileSync(files.key, key)
  writeFileSync(files.cert, cert)
  const config = {
    listenAddress: `127.0.0.1:${directory}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: files.cert,
    privateKey: files.key,
    httpPort: port,
    tlsPort: port,
  }
  writeFileSync(join(place.path, 'pebble.json'), JSON.stringify({ pebble: config }))
  const args = ['-config', join(place.path, 'pebble.json'), '-dnsserver', `127.0.0.1:${dns.address().port}`]
  const env = { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '10' }
  pebble = spawn('pebble', args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  for (const stream of [pebble.stdout, pebble.stderr]) {
    stream?.on('data', chunk => {
      output += chunk
    })
  }
  for (let waited = 0; !output.includes('ACME directory available'); waited++) {
    if (waited > 500 || pebble.exitCode !== null) throw new Error(`Pebble did not start: ${output}`)
    await sleep(20)
  }
  const acme = {
    ...{ enabled: true, termsAgreed: true, email: 'admin@teal.test', names, http: `127.0.0.1:${port}` },
    ...{ directory: `https://127.0.0.1:${directory}/dir`, ca: files.root },
  }
  const network = { allowPrivate: ['127.0.0.0/8'] }
  teal = await startTeal({ hostname: 'mx.teal.test', network, tls: { acme } }, { strict: true })
})

afterAll(async () => {
  await teal?.close()
  pebble?.kill()
  if (pebble?.exitCode === null) await once(pebble, 'exit')
  dns?.close()
  place.remove()
})

test('Pebble issues for the names of the settings and for those of the API, with chains that can be verified', async () => {
  const { body } = await running.call('POST', '/certs', { servername: 'web.teal.test', acme: true })
  for (const servername of [...names, 'web.teal.test']) {
    const shown = async () => {
      const { id } = (await running.call('GET', `/certs/resolve/${servername}`)).body
      return id === undefined ? false : (await running.call('GET', `/certs/${id}`)).body.hasCert
    }
    await expect.poll(shown, patience).toBe(true)
    const ca = await read('/roots/0')
    const wire = await Wire.openTls(running.at('imaps'), { servername, ca, rejectUnauthorized: true })
    expect([servername, wire.tls.authorized]).toEqual([servername, true])
    expect(wire.tls.getPeerCertificate().subjectaltname).toBe(`DNS:${servername}`)
    wire.close()
  }
  expect((await running.call('GET', `/certs/${body.id}`)).body).toMatchObject({ acme: true, hasCert: true })
  expect(await teal.check()).toEqual([])
}, 120_000)

/** A page of Pebble's management. */
function read(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port: management, path, rejectUnauthorized: false }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () => resolve(text))
    })
    asked.on('error', reject)
    asked.end()
  })
}

/** A name server by which every name is this machine (A), and nothing else is known. */
async function answerNames(): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.on('message', (question, from) => {
    let end = 12
    while ((question[end] ?? 0) !== 0) end += (question[end] ?? 0) + 1
    const asked = question.subarray(12, end + 5)
    const isAddress = question.readUInt16BE(end + 1) === 1
    const head = Buffer.from([0, 0, 0x81, 0x80, 0, 1, 0, isAddress ? 1 : 0, 0, 0, 0, 0])
    question.copy(head, 0, 0, 2)
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1])
    socket.send(Buffer.concat([head, asked, ...(isAddress ? [answer] : [])]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return socket
}
