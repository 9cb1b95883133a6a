// A DNS server of a test: knows what it is told, over UDP on loopback, and can fall silent.

import { createSocket } from 'node:dgram'

export interface NameServer {
  /** As a resolver takes it. */
  readonly address: string
  /** TXT records by name; a name that is not here does not exist. */
  readonly texts: Map<string, readonly string[]>
  /** Addresses and names by type and name: `A name`, `PTR name`; `MX name` holds `10 host`. */
  readonly records: Map<string, readonly string[]>
  /** What was asked: `TXT name`. */
  readonly asked: string[]
  /** Names under one of these are never answered. */
  readonly silent: Set<string>
  /** Answers every question with a failure. */
  failing: boolean
  close(): Promise<void>
}

const types: Readonly<Record<number, string>> = { 1: 'A', 12: 'PTR', 15: 'MX', 16: 'TXT', 28: 'AAAA' }
const textType = 16
const headerBytes = 12
const stringBytesMax = 255

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket('udp4')
  const server = {
    ...{
      texts: new Map<string, readonly string[]>(),
      records: new Map<string, readonly string[]>(),
      asked: [] as string[],
      silent: new Set<string>(),
      failing: false,
    },
    address: '',
    close: () => new Promise<void>(resolve => socket.close(() => resolve())),
  }
  socket.on('message', (query, from) => {
    const { name, type, end } = question(query)
    server.asked.push(`${types[type] ?? type} ${name}`)
    if ([...server.silent].some(suffix => name === suffix || name.endsWith(`.${suffix}`))) return
    const texts = server.texts.get(name)
    const kind = types[type] ?? String(type)
    const others = server.records.get(`${kind} ${name}`)
    const known = texts !== undefined || [...server.records.keys()].some(key => key.endsWith(` ${name}`))
    const answers = type === textType ? (texts ?? []).map(textData) : (others ?? []).map(value => dataOf(kind, value))
    const code = server.failing ? 2 : known ? 0 : 3
    const header = Buffer.alloc(headerBytes)
    query.copy(header, 0, 0, 2)
    header.writeUInt16BE(0x8180 | code, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(code === 0 ? answers.length : 0, 6)
    const rows = code === 0 ? answers.map(data => record(type, data)) : []
    socket.send(Buffer.concat([header, query.subarray(headerBytes, end), ...rows]), from.port, from.address)
  })
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', () => resolve()))
  return Object.assign(server, { address: `127.0.0.1:${socket.address().port}` })
}

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
  if (kind === 'PTR') return nameData(value)
  if (kind !== 'MX') return Buffer.from(value, 'hex')
  const [priority = '0', host = ''] = value.split(' ')
  return Buffer.concat([Buffer.from([0, Number(priority)]), nameData(host)])
}

function nameData(name: string): Buffer {
  const labels = name.split('.').map(label => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]))
  return Buffer.concat([...labels, Buffer.from([0])])
}

/** A record of the name that was asked for. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 1, 0, 0])
  head.writeUInt16BE(data.length, head.length - 2)
  return Buffer.concat([head, data])
}
