// `teal dns` against a name server of this file: what is set, what is set otherwise, what is not, and a server that is silent.

import { createSocket, type Socket } from 'node:dgram'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { childEnvironment, runTeal } from '../child.ts'
import type { Body } from '../running.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-dns-'))
const env = { ...childEnvironment(join(root, 'data')), TEAL_HOSTNAME: 'mail.example.com' }
let socket: Socket | undefined
let server = ''

const numbers: Readonly<Record<string, number>> = { CNAME: 5, MX: 15, TXT: 16, SRV: 33 }

/** Name and type -> data of its records. */
const zone: Readonly<Record<string, readonly Buffer[]>> = {
  'example.com MX': [Buffer.concat([Buffer.from([0, 10]), nameOf('mail.example.com')])],
  'example.com TXT': [text('other=1'), text('v=spf1 ip4:192.0.2.1 -all')],
  '_dmarc.example.com TXT': [text('v=DMARC1; p=none')],
  'autoconfig.example.com CNAME': [nameOf('elsewhere.example.net')],
}

function nameOf(name: string): Buffer {
  const parts = name.split('.').map(part => Buffer.concat([Buffer.from([part.length]), Buffer.from(part)]))
  return Buffer.concat([...parts, Buffer.from([0])])
}

function text(value: string): Buffer {
  return Buffer.concat([Buffer.from([value.length]), Buffer.from(value)])
}

/** RFC 1035 4.1: the question comes back with what the zone has. */
function answer(query: Buffer): Buffer {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = query.readUInt16BE(at + 1)
  const kind = Object.keys(numbers).find(one => numbers[one] === type)
  const found = zone[`${labels.join('.').toLowerCase()} ${kind}`] ?? []
  const head = Buffer.from(query.subarray(0, 12))
  head.writeUInt16BE(0x8580 | (found.length === 0 ? 3 : 0), 2)
  head.writeUInt16BE(found.length, 6)
  head.writeUInt32BE(0, 8)
  const records = found.map(data => {
    const fixed = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length])
    return Buffer.concat([fixed, data])
  })
  return Buffer.concat([head, query.subarray(12, at + 5), ...records])
}

beforeAll(async () => {
  const made = createSocket('udp4')
  socket = made
  made.on('message', (query, { port, address }) => made.send(answer(query), port, address))
  await new Promise<void>(resolve => made.bind(0, '127.0.0.1', resolve))
  server = `127.0.0.1:${made.address().port}`
  expect((await runTeal(['user', 'add', 'anna', '--generate', '--create'], env)).code).toBe(0)
})

afterAll(() => {
  socket?.close()
  rmSync(root, { recursive: true, force: true })
})

async function records(...more: string[]): Promise<Body[]> {
  const { code, out, err } = await runTeal(['dns', 'example.com', '--json', ...more], env)
  expect(`${code} ${err}`).toBe('0 ')
  return out
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}

test('says of every record whether it is set', async () => {
  const found = await records('--server', server)
  const stateOf = (name: string, type: string) => found.find(one => one.name === name && one.type === type)?.state
  expect(stateOf('example.com', 'MX')).toBe('set')
  expect(stateOf('example.com', 'TXT')).toBe('set')
  expect(stateOf('_dmarc.example.com', 'TXT')).toBe('set')
  expect(stateOf('autoconfig.example.com', 'CNAME')).toBe('set otherwise: elsewhere.example.net.')
  expect(stateOf('autodiscover.example.com', 'CNAME')).toBe('not set')
  expect(found.filter(one => one.type === 'SRV').every(one => one.state === 'not set')).toBe(true)
})

test('asks nobody offline, and says so where it was told a server that is none', async () => {
  expect(new Set((await records('--offline')).map(one => one.state))).toEqual(new Set(['unknown']))
  const { code, err } = await runTeal(['dns', 'example.com', '--server', 'example.com'], env)
  expect([code, err]).toEqual([1, 'teal: example.com is no address of a server\n'])
})
