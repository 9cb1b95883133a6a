// The PROXY protocol, version 1 and 2 (haproxy.org, The PROXY protocol): a proxy that is trusted begins each connection with who is
// behind it.
//
// Whoever is expected to say it and does not, or says it wrongly, is cut off: an address that was guessed would be somebody
// else's. What follows the header is given back to the socket, untouched. Who is not trusted is never asked.

import type { Server, Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { after } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { detach } from '#lib/process/background.ts'
import { plainAddress } from './address.ts'

export interface Behind {
  readonly address: string
  readonly port: number
}

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const headBytes = 16
const word = 'PROXY '
const textBytesMax = 107
const families: Readonly<Record<number, { readonly bytes: number; readonly addressBytes: number }>> = {
  17: { bytes: 12, addressBytes: 4 },
  33: { bytes: 36, addressBytes: 16 },
}

/**
 * What the first bytes of a connection say: who is behind it (undefined: the proxy itself speaks, for a look at our health) and
 * how long the header is; 'more' where its end has not come, 'none' where there is no header or a wrong one.
 */
export function parseProxyHeader(bytes: Buffer): { behind: Behind | undefined; length: number } | 'more' | 'none' {
  const begun = bytes.subarray(0, signature.length)
  if (begun.equals(signature.subarray(0, begun.length))) return binary(bytes)
  return text(bytes)
}

/** Version 2. */
function binary(bytes: Buffer): ReturnType<typeof parseProxyHeader> {
  if (bytes.length < headBytes) return 'more'
  const [version = 0, family = 0] = [bytes[12], bytes[13]]
  const length = headBytes + bytes.readUInt16BE(14)
  if (version >> 4 !== 2 || length > limits.net.proxyHeaderBytesMax) return 'none'
  if (bytes.length < length) return 'more'
  const command = version & 15
  if (command === 0) return { behind: undefined, length }
  if (command !== 1) return 'none'
  const form = families[family]
  // Not TCP: the addresses mean nothing here, and the connection's own are used (2.2).
  if (form === undefined) return { behind: undefined, length }
  if (length - headBytes < form.bytes) return 'none'
  const address = ipaddr.fromByteArray([...bytes.subarray(headBytes, headBytes + form.addressBytes)])
  const port = bytes.readUInt16BE(headBytes + 2 * form.addressBytes)
  return { behind: { address: plain(address), port }, length }
}

/** Version 1. */
function text(bytes: Buffer): ReturnType<typeof parseProxyHeader> {
  const begun = bytes.subarray(0, textBytesMax).toString('latin1')
  if (!begun.startsWith(word.slice(0, begun.length))) return 'none'
  const end = begun.indexOf('\r\n')
  if (end < 0) return bytes.length >= textBytesMax ? 'none' : 'more'
  const length = end + 2
  const [, family = '', source = '', , port = ''] = begun.slice(0, end).split(' ')
  if (family === 'UNKNOWN') return { behind: undefined, length }
  const known = family === 'TCP4' ? ipaddr.IPv4.isValidFourPartDecimal(source) : ipaddr.IPv6.isValid(source)
  const fits = (family === 'TCP4' || family === 'TCP6') && known && /^\d{1,5}$/.test(port) && Number(port) <= 65_535
  return fits ? { behind: { address: plain(ipaddr.parse(source)), port: Number(port) }, length } : 'none'
}

function plain(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()
    ? address.toIPv4Address().toString()
    : address.toString()
}

/** Waits for the header of a connection from a trusted proxy; null where none came, and the socket is gone then. */
export function readProxyHeader(socket: Socket): Promise<{ readonly behind: Behind | undefined } | null> {
  return new Promise(resolve => {
    let held: Buffer = Buffer.alloc(0)
    const done = (result: { readonly behind: Behind | undefined } | null) => {
      timer.cancel()
      socket.off('readable', onReadable)
      socket.off('close', onClose)
      if (result === null) socket.destroy()
      resolve(result)
    }
    const onReadable = () => {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
        held = Buffer.concat([held, chunk])
        const found = parseProxyHeader(held)
        if (found === 'none') return done(null)
        if (found === 'more') continue
        const rest = held.subarray(found.length)
        done({ behind: found.behind })
        if (rest.length > 0) socket.unshift(rest)
        return
      }
    }
    const onClose = () => done(null)
    const timer = after(limits.net.proxyHeaderMs, () => done(null))
    socket.on('error', () => {})
    socket.on('readable', onReadable)
    socket.on('close', onClose)
    socket.on('end', onClose)
  })
}

const announcedBy = new WeakMap<Socket, Behind>()

/** The address of who is on the other side: behind a proxy that `announced` heard, else the peer's. */
export function visitorAddress(socket: Socket): string {
  return announcedBy.get(socket)?.address ?? plainAddress(socket.remoteAddress)
}

/**
 * Has a server of somebody else's making (of HTTP, of TLS) hear of connections from announcing peers only after their header.
 * To be called once all that listens for connections is in place.
 *
 * @param waits is given those whose header is still to come: they are ended with the server
 */
export function announced(
  server: Server,
  announces: (address: string) => boolean,
  waits: (socket: Socket) => void,
): void {
  const listeners = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  const handOn = (socket: Socket) => {
    for (const listener of listeners) listener.call(server, socket)
  }
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    if (!announces(plainAddress(socket.remoteAddress))) {
      handOn(socket)
      return
    }
    waits(detach(socket))
    void readProxyHeader(socket).then(header => {
      if (header === null || socket.destroyed) return
      if (header.behind !== undefined) announcedBy.set(socket, header.behind)
      handOn(socket)
    })
  })
}
