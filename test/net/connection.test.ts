// Lines, literals, output and its back-pressure, and the orderly and disorderly ends of a connection.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Ticket } from '#net/admission.ts'
import { type Connection, Disconnected } from '#net/connection.ts'
import { type Listener, type ListenOptions, listen } from '#net/listener.ts'
import { selfSigned } from '#net/tls/self-signed.ts'
import { TlsStore } from '#net/tls/tls.ts'
import { Wire } from './wire.ts'

const listeners: Listener[] = []
const wires: Wire[] = []

afterEach(async () => {
  for (const wire of wires.splice(0)) wire.close()
  for (const listener of listeners.splice(0)) await listener.close()
})

interface Server {
  readonly listener: Listener
  readonly errors: unknown[]
  open(): Promise<Wire>
}

async function serve(session: ListenOptions['serve'], options: Partial<ListenOptions> = {}): Promise<Server> {
  const errors: unknown[] = []
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    sessionsMax: 100,
    sessionsPerNetworkMax: 100,
    idleMs: 60_000,
    drainMs: 5000,
    busy: 'busy\r\n',
    serve: session,
    onError: error => errors.push(error),
    ...options,
  })
  listeners.push(listener)
  const open = async () => {
    const wire = await Wire.open(listener.address)
    wires.push(wire)
    return wire
  }
  return { listener, errors, open }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setImmediate(resolve))
}

/** Answers each line with what it was; `quit` ends. */
async function echo(connection: Connection): Promise<void> {
  for (;;) {
    try {
      const line = connection.takeLine() ?? (await connection.line())
      connection.write(`${line.length}${connection.bareLine ? ' bare' : ''}: ${line.toString('latin1')}\r\n`)
      if (line.toString() === 'quit') return
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      connection.write(`${error.code}\r\n`)
      if (error.code !== 'LineTooLong') return
    }
  }
}

describe('lines', () => {
  test('come one by one however they were sent', async () => {
    const { open } = await serve(echo)
    const wire = await open()
    wire.send('one\r\ntwo\n\r\nfo')
    expect([await wire.line(), await wire.line(), await wire.line()]).toEqual(['3: one', '3 bare: two', '0: '])
    wire.send('u')
    wire.send('r\r')
    await new Promise(resolve => setImmediate(resolve))
    wire.send('\nquit\r\nnever\r\n')
    expect([await wire.line(), await wire.line()]).toEqual(['4: four', '4: quit'])
    await wire.closed()
    expect(wire.unread).toBe('')
  })

  test('a byte at a time, longer than a packet and up to the limit', async () => {
    const { open } = await serve(async connection => {
      connection.lineBytesMax = 300_000
      await echo(connection)
    })
    const wire = await open()
    const long = 'x'.repeat(299_998)
    wire.send(`${long}\r\n`)
    expect(await wire.line()).toBe(`299998: ${long}`)
    wire.send(`${long}y\r\n`)
    expect(await wire.line()).toBe('LineTooLong')
    for (const byte of 'slow but sure\r\n') {
      wire.send(byte)
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(await wire.line()).toBe('13: slow but sure')
  })

  test('many small packets of one line are put together', async () => {
    const { open } = await serve(echo)
    const wire = await open()
    let sent = ''
    for (let index = 0; index < 400; index++) {
      const packet = `${index},`
      wire.send(packet)
      sent += packet
      await new Promise(resolve => setImmediate(resolve))
    }
    wire.send('\r\n')
    expect(await wire.line()).toBe(`${sent.length}: ${sent}`)
  })

  test('a line without end is thrown away and then the peer too', async () => {
    const { open, listener, errors } = await serve(echo)
    const wire = await open()
    wire.send('x'.repeat(20_000))
    wire.send('\r\nshort\r\n')
    expect([await wire.line(), await wire.line()]).toEqual(['LineTooLong', '5: short'])
    for (let sent = 0; sent < 3_000_000; sent += 100_000) wire.send('x'.repeat(100_000))
    await until(() => listener.sessions === 0)
    expect(errors).toEqual([])
  })

  test('a long pipeline lets everybody else have a turn', async () => {
    let turns = 0
    let running = true
    const count = () => {
      turns += 1
      if (running) setImmediate(count)
    }
    const { open } = await serve(async connection => {
      setImmediate(count)
      for (let lines = 0; lines < 2000; lines++) {
        const line = connection.takeLine() ?? (await connection.line())
        await Promise.resolve(line)
      }
      running = false
      connection.write(`${turns}\r\n`)
    })
    const wire = await open()
    wire.send('x\r\n'.repeat(2000))
    expect(Number(await wire.line())).toBeGreaterThan(20)
  })

  test('a last line without end is no line', async () => {
    const { open } = await serve(echo)
    const wire = await open()
    wire.send('whole\r\nhalf')
    wire.finish()
    await wire.closed()
    expect(wire.unread).toBe('5: whole\r\n')
  })
})

describe('literals', () => {
  test('pass as they are, with lines before and behind', async () => {
    const received: Buffer[] = []
    const { open } = await serve(async connection => {
      const length = Number(await connection.line())
      await connection.literal(length, async chunk => {
        await new Promise(resolve => setImmediate(resolve))
        received.push(chunk)
      })
      connection.write(`${await connection.line()}\r\n`)
    })
    const bytes = Buffer.alloc(5_000_000, '\r\n\0\xff.abc', 'latin1')
    const wire = await open()
    wire.send(`${bytes.length}\r\n`)
    wire.send(bytes)
    wire.send('behind\r\n')
    expect(await wire.line()).toBe('behind')
    expect(Buffer.concat(received).equals(bytes)).toBe(true)
  })

  test('a reader that waits holds the sender up', async () => {
    let release = () => {}
    const gate = new Promise<void>(resolve => {
      release = resolve
    })
    let taken = 0
    const { open } = await serve(async connection => {
      await connection.literal(50_000_000, async chunk => {
        await gate
        taken += chunk.length
      })
      connection.write('done\r\n')
    })
    const wire = await open()
    const before = process.memoryUsage().arrayBuffers
    const bytes = Buffer.alloc(50_000_000)
    wire.send(bytes)
    for (let turn = 0; turn < 500; turn++) await new Promise(resolve => setImmediate(resolve))
    expect(taken).toBe(0)
    expect(process.memoryUsage().arrayBuffers - before - bytes.length).toBeLessThan(2_000_000)
    release()
    expect(await wire.line()).toBe('done')
    expect(taken).toBe(50_000_000)
  })
})

describe('output', () => {
  test('text and bytes go out in order, and drain holds the writer up until the peer reads', async () => {
    let written = 0
    const { open } = await serve(async connection => {
      connection.write('text ä ')
      connection.write(Buffer.from('bytes '))
      connection.write('text\r\n')
      await connection.line()
      for (; written < 60_000_000; written += 100_000) {
        connection.write(Buffer.alloc(100_000, 'x'))
        await connection.drain()
      }
      connection.write('\r\n')
    })
    const wire = await open()
    expect(Buffer.from(await wire.line(), 'latin1').toString()).toBe('text ä bytes text')
    wire.pause()
    wire.send('go\r\n')
    for (let turn = 0; turn < 500; turn++) await new Promise(resolve => setImmediate(resolve))
    expect(written).toBeLessThan(30_000_000)
    wire.resume()
    expect((await wire.line()).length).toBe(60_000_000)
  })

  test('no line is handled for a peer that does not read the answers', async () => {
    let handled = 0
    const answer = 'x'.repeat(4096)
    const { open } = await serve(async connection => {
      for (;;) {
        const line = connection.takeLine() ?? (await connection.line())
        handled += 1
        connection.write(`${line}${answer}\r\n`)
      }
    })
    const wire = await open()
    wire.pause()
    const lines = 20_000
    wire.send('x\r\n'.repeat(lines))
    for (let before = -1; handled !== before; ) {
      before = handled
      for (let turn = 0; turn < 500; turn++) await new Promise(resolve => setImmediate(resolve))
    }
    expect(handled).toBeGreaterThan(0)
    expect(handled).toBeLessThan(lines * 0.75)
    wire.resume()
    await until(() => handled === lines)
  })

  test('a writer that waits for nothing is cut off with its peer', async () => {
    const { open, listener } = await serve(async connection => {
      await connection.line()
      while (!connection.closed) {
        connection.write(Buffer.alloc(1_000_000))
        await new Promise(resolve => setImmediate(resolve))
      }
    })
    const wire = await open()
    wire.pause()
    wire.send('go\r\n')
    await until(() => listener.sessions === 0)
  })

  test('a peer that wants TLS and does not take what was said before has the time of a handshake', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'teal-connection-'))
    const store = new TlsStore(await selfSigned(folder, 'mx.teal.test'))
    rmSync(folder, { recursive: true })
    let connection: Connection | undefined
    const { open, listener } = await serve(async accepted => {
      await accepted.line()
      accepted.write(Buffer.alloc(12_000_000))
      connection = accepted
      await accepted.startTls(store)
    })
    const wire = await open()
    wire.pause()
    wire.send('STARTTLS\r\n')
    await until(() => connection !== undefined)
    // Who comes meanwhile may have its place.
    const ticket = connection?.ticket as Ticket | undefined
    expect(ticket?.waiting).toBe('idle')
    connection?.sweep(monotonic() + limits.net.handshakeMs)
    await until(() => listener.sessions === 0)
  })

  test('waiting for a peer that left ends with Disconnected', async () => {
    let ended: unknown
    const { open } = await serve(async connection => {
      await connection.line()
      try {
        for (;;) {
          connection.write(Buffer.alloc(1_000_000))
          await connection.drain()
        }
      } catch (error) {
        ended = error
        throw error
      }
    })
    const wire = await open()
    wire.pause()
    wire.send('go\r\n')
    for (let turn = 0; turn < 100; turn++) await new Promise(resolve => setImmediate(resolve))
    wire.close()
    await until(() => ended !== undefined)
    expect(ended).toBeInstanceOf(Disconnected)
  })
})

describe('the listener', () => {
  test('takes a free port and says which; a taken one is named', async () => {
    const { listener } = await serve(echo)
    const { host, port } = listener.address
    expect([host, port > 0]).toEqual(['127.0.0.1', true])
    const again = serve(echo, { port })
    await expect(again).rejects.toThrow(
      expect.objectContaining({ code: 'PortInUse', message: expect.stringContaining(`${port} on 127.0.0.1`) }),
    )
    await expect(serve(echo, { host: '192.0.2.1' })).rejects.toThrow(expect.objectContaining({ code: 'ConfigInvalid' }))
  })

  test('keeps to its caps', async () => {
    const { listener, open } = await serve(
      connection => {
        connection.ticket.prove()
        return echo(connection)
      },
      { sessionsMax: 2 },
    )
    const first = await open()
    await open()
    await until(() => listener.sessions === 2)
    const third = await open()
    expect(await third.line()).toBe('busy')
    await third.closed()
    first.close()
    await until(() => listener.sessions === 1)
    const fourth = await open()
    fourth.send('hi\r\n')
    expect(await fourth.line()).toBe('2: hi')
  })

  test('a stranger who waits makes room for the next, and hears it', async () => {
    let refused = 0
    const { listener, open } = await serve(echo, { sessionsMax: 4, onRefused: () => void refused++ })
    const first = await open()
    const second = await open()
    const third = await open()
    expect(await first.line()).toBe('busy')
    await first.closed()
    for (const wire of [second, third]) {
      wire.send('hi\r\n')
      expect(await wire.line()).toBe('2: hi')
    }
    expect([listener.sessions, refused]).toEqual([2, 1])
  })

  test('an idle session hears of it, and one that does not listen is ended', async () => {
    const { open } = await serve(echo, { idleMs: 20 })
    const wire = await open()
    expect(await wire.line()).toBe('IdleTimeout')
    await wire.closed()
  })

  test('a session that breaks is reported and cut off, others go on', async () => {
    const { open, errors } = await serve(async connection => {
      const line = await connection.line()
      if (line.toString() === 'break') throw new Error('our mistake')
      connection.write('fine\r\n')
    })
    const [bad, good] = [await open(), await open()]
    bad.send('break\r\n')
    await bad.closed()
    good.send('x\r\n')
    expect(await good.line()).toBe('fine')
    expect(errors).toEqual([expect.objectContaining({ message: 'our mistake' })])
  })

  test('closing asks the waiting to stop, waits for the busy, and refuses newcomers', async () => {
    let release = () => {}
    const gate = new Promise<void>(resolve => {
      release = resolve
    })
    let working = false
    const { open, listener } = await serve(async connection => {
      const line = await connection.line().catch((error: unknown) => error)
      if (line instanceof Fault) return connection.write(`${line.code}\r\n`)
      working = true
      await gate
      connection.write(`done, ${connection.stopping ? 'stopping' : 'going on'}\r\n`)
    })
    const [waiting, busy] = [await open(), await open()]
    busy.send('work\r\n')
    await until(() => working && listener.sessions === 2)
    let closed = false
    const closing = listener.close().then(() => {
      closed = true
    })
    expect(await waiting.line()).toBe('Stopping')
    await waiting.closed()
    expect(closed).toBe(false)
    release()
    expect(await busy.line()).toBe('done, stopping')
    await closing
  })
})
