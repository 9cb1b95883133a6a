// A DNS server of a test: knows what it is told, over UDP and TCP on loopback; it can say that it proved something (AD), that it
// was lied to, and fall silent.

import { createSocket } from 'node:dgram'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

export interface NameServer {
  /** As a resolver takes it. */
  readonly address: string
  /** TXT records by name; a name that is not here does not exist. */
  readonly texts: Map<string, readonly string[]>
  /** Addresses and names by type and name: `A name`, `PTR name`; `MX name` holds `10 host`. */
  readonly records: Map<string, readonly string[]>
  /** What was asked: `TXT name`. */
  readonly asked: string[]
  /** Names under one of these are not answered. */
  readonly silent: Set<string>
  /** Answers what was asked over UDP and was not answered. */
  answerLate(): void
  /** Names under one of these are proven, where the question asks for that. */
  readonly secure: Set<string>
  /** Questions of names under one of these (or `TLSA name`) fail. */
  readonly bogus: Set<string>
  /** Answers over UDP are cut off for names under one of these. */
  readonly long: Set<string>
  /** Bytes that are sent instead of an answer, for names under one of these; undefined: the answer is sent. */
  readonly odd: Map<string, (query: Buffer) => Buffer | undefined>
  /** The address of every name that is not known; '' for none. */
  otherwise: string
  /** Answers every question with a failure. */
  failing: boolean
  close(): Promise<void>
}

const types: Readonly<Record<number, string>> = {
  ...{ 1: 'A', 5: 'CNAME', 12: 'PTR', 15: 'MX', 16: 'TXT', 28: 'AAAA', 33: 'SRV', 52: 'TLSA' },
}
const textType = 16
const headerBytes = 12
const stringBytesMax = 255

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket('udp4')
  const unanswered: (() => void)[] = []
  const server = {
    ...{
      texts: new Map<string, readonly string[]>(),
      records: new Map<string, readonly string[]>(),
      asked: [] as string[],
      ...{ silent: new Set<string>(), secure: new Set<string>(), bogus: new Set<string>(), long: new Set<string>() },
      odd: new Map<string, (query: Buffer) => Buffer | undefined>(),
      failing: false,
      otherwise: '',
    },
    address: '',
    answerLate: () => {
      for (const say of unanswered.splice(0)) say()
    },
    close: async () => {
      for (const one of streams) one.destroy()
      await new Promise<void>(resolve => socket.close(() => resolve()))
      await new Promise<void>(resolve => overTcp.close(() => resolve()))
    },
  }
  socket.on('message', (query, from) => {
    const say = () => {
      const answer = answerOf(server, query, false)
      if (answer === undefined) unanswered.push(say)
      else socket.send(answer, from.port, from.address)
    }
    say()
  })
  const streams = new Set<Socket>()
  const overTcp = createServer(stream => {
    streams.add(stream)
    stream.on('error', () => {})
    stream.on('close', () => streams.delete(stream))
    stream.once('data', bytes => {
      const answer = answerOf(server, bytes.subarray(2), true)
      if (answer === undefined) return
      const length = Buffer.alloc(2)
      length.writeUInt16BE(answer.length, 0)
      stream.end(Buffer.concat([length, answer]))
    })
  })
  const port = await freePort(overTcp)
  await new Promise<void>(resolve => socket.bind(port, '127.0.0.1', () => resolve()))
  return Object.assign(server, { address: `127.0.0.1:${port}` })
}

/** Listens where UDP has the same port free. */
async function freePort(server: Server): Promise<number> {
  for (;;) {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
    const { port } = server.address() as AddressInfo
    const trial = createSocket('udp4')
    const free = await new Promise<boolean>(resolve => {
      trial.once('error', () => resolve(false))
      trial.bind(port, '127.0.0.1', () => resolve(true))
    })
    await new Promise<void>(resolve => trial.close(() => resolve()))
    if (free) return port
    await new Promise<void>(resolve => server.close(() => resolve()))
  }
}

type Zone = Omit<NameServer, 'address' | 'answerLate' | 'close'>

const under = (names: Iterable<string>, name: string) =>
  [...names].find(suffix => name === suffix || name.endsWith(`.${suffix}`))

/** Undefined: nobody answers. */
function answerOf(server: Zone, query: Buffer, whole: boolean): Buffer | undefined {
  const { name, type, end } = question(query)
  const kind = types[type] ?? String(type)
  server.asked.push(`${kind} ${name}`)
  if (under(server.silent, name) !== undefined) return undefined
  const odd = server.odd.get(under(server.odd.keys(), name) ?? '')
  const instead = odd?.(query)
  if (instead !== undefined) return instead
  const bogus = under(server.bogus, name) !== undefined || server.bogus.has(`${kind} ${name}`)
  const fallback = kind === 'A' && server.otherwise !== ''
  const known = fallback || server.texts.has(name) || [...server.records.keys()].some(key => key.endsWith(` ${name}`))
  const code = server.failing || bogus ? 2 : known ? 0 : 3
  const rows = code === 0 ? rowsOf(server, name, kind) : []
  const cut = !whole && under(server.long, name) !== undefined
  const wants = (query.readUInt16BE(2) & 0x0020) !== 0
  const proven = wants && rows.every(one => under(server.secure, one.name) !== undefined)
  const secure = proven && under(server.secure, name) !== undefined
  const header = Buffer.alloc(headerBytes)
  query.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8180 | code | (cut ? 0x0200 : 0) | (secure ? 0x0020 : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(cut ? 0 : rows.length, 6)
  const records = cut ? [] : rows.map(record)
  return Buffer.concat([header, query.subarray(headerBytes, end), ...records])
}

interface Row {
  readonly name: string
  readonly type: number
  readonly data: Buffer
}

/** With the aliases that lead to them. */
function rowsOf(server: Zone, name: string, kind: string): Row[] {
  const type = Number(Object.keys(types).find(key => types[Number(key)] === kind) ?? kind)
  if (type === textType) return (server.texts.get(name) ?? []).map(value => ({ name, type, data: textData(value) }))
  const [alias] = kind === 'CNAME' ? [] : (server.records.get(`CNAME ${name}`) ?? [])
  if (alias !== undefined) return [{ name, type: aliasType, data: nameData(alias) }, ...rowsOf(server, alias, kind)]
  const fallback = kind === 'A' && server.otherwise !== '' ? [server.otherwise] : []
  return (server.records.get(`${kind} ${name}`) ?? fallback).map(value => ({ name, type, data: dataOf(kind, value) }))
}

const aliasType = 5

function question(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = headerBytes
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function textData(text: string): Buffer {
  const bytes = Buffer.from(text)
  const strings: Buffer[] = []
  for (let at = 0; at < bytes.length; at += stringBytesMax) {
    const piece = bytes.subarray(at, at + stringBytesMax)
    strings.push(Buffer.from([piece.length]), piece)
  }
  return Buffer.concat(strings)
}

function dataOf(kind: string, value: string): Buffer {
  if (kind === 'A') return Buffer.from(value.split('.').map(Number))
  if (kind === 'PTR' || kind === 'CNAME') return nameData(value.replace(/\.$/, ''))
  if (kind === 'SRV') return serviceData(value)
  if (kind !== 'MX') return Buffer.from(value, 'hex')
  const [priority = '0', host = ''] = value.split(' ')
  return Buffer.concat([Buffer.from([0, Number(priority)]), nameData(host.replace(/\.$/, ''))])
}

function serviceData(value: string): Buffer {
  const [priority = '0', weight = '0', port = '0', host = ''] = value.split(' ')
  const numbers = Buffer.alloc(6)
  for (const [at, number] of [priority, weight, port].entries()) numbers.writeUInt16BE(Number(number), 2 * at)
  return Buffer.concat([numbers, nameData(host.replace(/\.$/, ''))])
}

function nameData(name: string): Buffer {
  const labels = name.split('.').map(label => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]))
  return Buffer.concat([...labels, Buffer.from([0])])
}

function record({ name, type, data }: Row): Buffer {
  const tail = Buffer.from([0, type, 0, 1, 0, 0, 0, 1, 0, 0])
  tail.writeUInt16BE(data.length, tail.length - 2)
  return Buffer.concat([nameData(name), tail, data])
}
