// Listeners for tests with a backend that keeps mail in memory and does what a test tells it to.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import pino from 'pino'
import { afterEach } from 'vitest'
import { Fault, type FaultCode } from '#lib/fault.ts'
import type { Listener } from '#net/listener.ts'
import { selfSigned } from '#net/tls/self-signed.ts'
import { TlsStore } from '#net/tls/tls.ts'
import type { Backend, Envelope, Outcome, SmtpService } from '#smtp/backend.ts'
import { type SmtpOptions, startSmtp } from '#smtp/server.ts'
import { Wire } from '../net/wire.ts'

interface Kept {
  readonly message: string
  readonly from: string
  readonly recipients: readonly string[]
  readonly utf8: boolean
  readonly protocol: string
  readonly user: unknown
}

/** Keeps every message; each hook may throw what the test wants refused. */
class MemoryBackend implements Backend<string, Buffer> {
  readonly kept: Kept[] = []
  /** Messages begun and neither finished nor aborted. */
  underway = 0
  aborted = 0
  /** Address -> what RCPT is refused with. */
  readonly unknown = new Map<string, unknown>()
  /** Address -> what its delivery is refused with. */
  readonly refused = new Map<string, unknown>()
  openFails: unknown
  writeFails: unknown
  finishFails: unknown
  deliverFails: unknown
  /** Resolves when deliveries may go on. */
  gate: Promise<void> = Promise.resolve()
  /** Called when a delivery begins. */
  onDeliver: () => void = () => {}

  sender: Backend<string, Buffer>['sender']

  recipient(address: string): string {
    const fault = this.unknown.get(address.toLowerCase())
    if (fault !== undefined) throw fault
    return address
  }

  open(): ReturnType<Backend<string, Buffer>['open']> {
    if (this.openFails !== undefined) throw this.openFails
    const chunks: Buffer[] = []
    let done = false
    const settle = () => {
      if (!done) this.underway -= 1
      done = true
    }
    this.underway += 1
    return {
      write: async chunk => {
        if (this.writeFails !== undefined) throw this.writeFails
        chunks.push(chunk)
      },
      finish: async () => {
        if (this.finishFails !== undefined) throw this.finishFails
        settle()
        return Buffer.concat(chunks)
      },
      abort: () => {
        this.aborted += 1
        settle()
      },
    }
  }

  async deliver(received: Buffer, { from, recipients, utf8, speaker }: Envelope<string>): Promise<Outcome[]> {
    this.onDeliver()
    await this.gate
    if (this.deliverFails !== undefined) throw this.deliverFails
    const outcomes = recipients.map(address => {
      const refused = this.refused.get(address)
      return refused === undefined ? { stored: address } : { refused }
    })
    const stored = recipients.filter(address => !this.refused.has(address))
    const { protocol, user } = speaker
    const message = received.toString('latin1')
    if (stored.length > 0) this.kept.push({ message, from, recipients: stored, utf8, protocol, user })
    return outcomes
  }
}

export interface Started {
  readonly at: { host: string; port: number }
  readonly listener: Listener
  readonly backend: MemoryBackend
  /** Lines of the log. */
  readonly logged: string[]
  /** A connection that has read the greeting. */
  open(): Promise<Wire>
  /** One that has said EHLO or LHLO too. */
  greeted(): Promise<Wire>
}

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** Starts a listener on a free port; it is closed after the test. */
export async function start(
  service: SmtpService,
  options: Partial<SmtpOptions<string, Buffer>> & { withTls?: boolean } = {},
): Promise<Started> {
  const backend = new MemoryBackend()
  const logged: string[] = []
  const sink = new Writable({
    write: (line, _encoding, done) => {
      logged.push(String(line))
      done()
    },
  })
  const secured = options.withTls === true || service === 'submissions' ? { tls: await store() } : {}
  const base = {
    service,
    host: '127.0.0.1',
    port: 0,
    hostname: 'mx.teal.test',
    backend,
    log: pino({ serializers: { error: pino.stdSerializers.err } }, sink),
  }
  const listener = await startSmtp({ ...base, ...secured, ...options })
  const wires: Wire[] = []
  closers.push(async () => {
    for (const wire of wires) wire.close()
    await listener.close()
  })
  const at = listener.address
  const open = async () => {
    const wire = service === 'submissions' ? await Wire.openTls(at) : await Wire.open(at)
    wires.push(wire)
    await wire.line()
    return wire
  }
  const greeted = async () => {
    const wire = await open()
    await wire.ask(`${service === 'lmtp' ? 'LHLO' : 'EHLO'} client.test`)
    return wire
  }
  return { at, listener, backend, logged, open, greeted }
}

/** Certificates of a service called mx.teal.test. */
async function store(): Promise<TlsStore> {
  const folder = mkdtempSync(join(tmpdir(), 'teal-tls-'))
  closers.push(() => rmSync(folder, { recursive: true, force: true }))
  return new TlsStore(await selfSigned(folder, 'mx.teal.test'))
}

export function fault(code: FaultCode): Fault {
  return new Fault(code)
}
