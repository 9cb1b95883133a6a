// Short looks at the net for those who set a server up: whether a port answers or is free, which certificate is shown, how far
// the clock is off.
//
// Nothing is sent but what the protocol begins with, and every look ends in a few seconds.

import { createSocket } from 'node:dgram'
import { connect, createServer } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { after, now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'

/**
 * The first line a server says, empty where it says nothing; undefined where it cannot be reached.
 *
 * @param speaks whether it is to speak first; of one that waits for us no line is waited for
 */
export function greeting(host: string, port: number, speaks = true): Promise<string | undefined> {
  return new Promise(resolve => {
    const socket = connect({ host, port })
    let connected = false
    const end = (line?: string) => {
      timer.cancel()
      socket.destroy()
      resolve(line)
    }
    const timer = after(limits.probe.waitMs, () => end(connected ? '' : undefined))
    socket.once('connect', () => {
      connected = true
      if (!speaks) end('')
    })
    socket.once('data', data => end(data.toString('latin1').split(/\r?\n/)[0]?.slice(0, limits.probe.lineLengthMax)))
    socket.once('close', () => end(connected ? '' : undefined))
    socket.once('error', () => end(connected ? '' : undefined))
  })
}

/** Whether a port can be listened on; if not, the system's word for why (EADDRINUSE, EACCES, EADDRNOTAVAIL). */
export function portState(host: string, port: number): Promise<string> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'))
    server.listen({ host, port }, () => server.close(() => resolve('free')))
  })
}

export interface ShownCertificate {
  /** Names it is good for. */
  readonly names: readonly string[]
  /** Milliseconds since 1970. */
  readonly expires: number
  readonly selfSigned: boolean
}

/** The certificate that a server shows for a name; undefined where there is no TLS. */
export function shownCertificate(
  host: string,
  port: number,
  servername: string,
): Promise<ShownCertificate | undefined> {
  return new Promise(resolve => {
    const socket = connectTls({ host, port, servername, rejectUnauthorized: false })
    const end = (shown?: ShownCertificate) => {
      timer.cancel()
      socket.destroy()
      resolve(shown)
    }
    const timer = after(limits.probe.waitMs, () => end())
    socket.once('error', () => end())
    socket.once('secureConnect', () => {
      const certificate = socket.getPeerX509Certificate()
      if (certificate === undefined) return end()
      const names = (certificate.subjectAltName ?? '').split(', ').map(name => name.replace(/^(DNS|IP Address):/, ''))
      const expires = certificate.validToDate.getTime()
      end({ names, expires, selfSigned: certificate.checkIssued(certificate) })
    })
  })
}

const ntpPort = 123
const ntpBytes = 48
/** Seconds from 1900, where NTP counts from, to 1970 (RFC 5905 6). */
const ntpEpoch = 2_208_988_800
const transmitAt = 40
const fraction = 2 ** 32

/** Milliseconds by which a time server is ahead of this clock (SNTP, RFC 5905 14); undefined where it does not answer. */
export function clockOffset(server: string): Promise<number | undefined> {
  const [host = '', port = String(ntpPort)] = server.split(':')
  return new Promise(resolve => {
    const socket = createSocket('udp4')
    const end = (offset?: number) => {
      timer.cancel()
      socket.close()
      resolve(offset)
    }
    const timer = after(limits.probe.waitMs, () => end())
    const asked = now()
    socket.once('error', () => end())
    socket.once('message', answer => {
      if (answer.length < ntpBytes) return end()
      const seconds = answer.readUInt32BE(transmitAt) - ntpEpoch
      const there = (seconds + answer.readUInt32BE(transmitAt + 4) / fraction) * 1000
      end(there - (asked + now()) / 2)
    })
    const query = Buffer.alloc(ntpBytes)
    // Version 4, a client.
    query[0] = 0x23
    socket.send(query, Number(port), host)
  })
}
