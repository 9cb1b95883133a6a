// COMPRESS=DEFLATE (RFC 4978).

import { once } from 'node:events'
import { connect } from 'node:net'
import { constants, createDeflateRaw, createInflateRaw, deflateRawSync } from 'node:zlib'
import { beforeAll, expect, test } from 'vitest'
import { type FaultCode, faultForms } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { useTeal } from '../running.ts'
import { Client } from './client.ts'

const service = useTeal()

beforeAll(async () => {
  await service.user('small')
})

interface Talk {
  send(text: string | Buffer): void
  /** Everything up to a text. */
  until(text: string): Promise<string>
  compress(): void
  closed(): Promise<void>
  /** Sends the last words and says that they were the last. */
  last(text: string): void
  destroy(): void
}

async function talk(): Promise<Talk> {
  const { host, port } = service.at('imap')
  const socket = connect(port, host)
  await once(socket, 'connect')
  let heard = ''
  let wake = () => {}
  let ended = false
  const take = (chunk: Buffer) => {
    heard += chunk.toString('latin1')
    wake()
  }
  const end = () => {
    ended = true
    wake()
  }
  socket.on('data', take)
  socket.on('close', end)
  socket.on('error', () => {})
  let write = (bytes: Buffer) => void socket.write(bytes)
  return {
    send: text => write(Buffer.from(text as string)),
    async until(text) {
      while (!heard.includes(text)) {
        if (ended) throw new Error(`closed after ${heard.slice(-200)}`)
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
      const end = heard.indexOf('\n', heard.indexOf(text)) + 1
      const found = heard.slice(0, end)
      heard = heard.slice(end)
      return found
    },
    compress() {
      const deflate = createDeflateRaw()
      const inflate = createInflateRaw()
      deflate.on('data', chunk => socket.write(chunk))
      socket.off('data', take)
      socket.off('close', end)
      // What came last is still being inflated when the connection is closed.
      socket.pipe(inflate).on('data', take).on('close', end)
      inflate.on('error', () => {})
      // What came with the answer is compressed already.
      inflate.write(Buffer.from(heard, 'latin1'))
      heard = ''
      write = bytes => {
        deflate.write(bytes)
        deflate.flush(constants.Z_SYNC_FLUSH)
      }
    },
    async closed() {
      while (!ended) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    },
    last: text => socket.end(deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH })),
    destroy: () => socket.destroy(),
  }
}

async function compressed(name = 'small'): Promise<Talk> {
  const one = await talk()
  await one.until('ready')
  one.send(`a LOGIN ${name} "secret of ${name}"\r\n`)
  expect(await one.until('a OK')).toContain('COMPRESS=DEFLATE')
  one.send('b COMPRESS DEFLATE\r\n')
  await one.until('b OK')
  one.compress()
  return one
}

test('everything goes through compressed, large things too', async () => {
  const one = await compressed()
  const body = `Subject: x\r\n\r\n${'text and more text\r\n'.repeat(50_000)}`
  one.send('c CAPABILITY\r\n')
  expect(await one.until('c OK')).not.toContain('COMPRESS')
  one.send(`d APPEND INBOX {${body.length}+}\r\n${body}\r\ne SELECT INBOX\r\nf FETCH 1 BODY.PEEK[]\r\n`)
  expect((await one.until('f OK')).includes(body)).toBe(true)
  one.send('g COMPRESS DEFLATE\r\n')
  const code: FaultCode = 'CompressionActive'
  const form: { imap?: string } = faultForms[code]
  expect(await one.until('g NO')).toContain(`[${form.imap}]`)
  one.send('h LOGOUT\r\n')
  expect(await one.until('h OK')).toContain('* BYE')
  await one.closed()
})

test('what a client says last is carried out, as it is without compression', async () => {
  for (let time = 0; time < 8; time++) {
    const one = await compressed()
    one.last('c NOOP\r\nd STATUS INBOX (UIDVALIDITY)\r\ne LOGOUT\r\n')
    expect(await one.until('e OK')).toContain('d OK')
    await one.closed()
  }
})

test('many who read many messages at once, plain, over TLS, compressed, one of them slowly, get the bytes of each', async () => {
  await service.user('many')
  const writer = await Client.login(service.at('imap'), 'many')
  const message = (n: number) => `Subject: m${n}\r\n\r\n${`${n} `.repeat(300 + 7 * n)}\r\n`
  const messages = Array.from({ length: 300 }, (_, n) => message(n))
  await writer.ok(`APPEND INBOX${messages.map(text => ` {${text.length}+}\r\n${text}`).join('')}`)
  const fetch = '1:* BODY.PEEK[]'
  const wanted = messages.map((text, n) => `* ${n + 1} FETCH (BODY[] {${text.length}}\r\n${text})`)
  const ask = async (client: Client) => {
    await client.ok('EXAMINE INBOX')
    for (let round = 0; round < 3; round++) expect(await client.ok(`FETCH ${fetch}`)).toEqual(wanted)
  }
  const open = async (tls: boolean) => {
    const client = await Client.open(service.at(tls ? 'imaps' : 'imap'), tls)
    await client.ok('LOGIN many "secret of many"')
    return client
  }
  const askCompressed = async () => {
    const one = await compressed('many')
    one.send('e EXAMINE INBOX\r\n')
    await one.until('e OK')
    for (let round = 0; round < 3; round++) {
      one.send(`f FETCH ${fetch}\r\n`)
      expect((await one.until('f OK')).startsWith(`${wanted.join('\r\n')}\r\n`)).toBe(true)
    }
    one.destroy()
  }
  const slow = await open(false)
  await slow.ok('EXAMINE INBOX')
  slow.pause()
  const late = slow.command(`FETCH ${fetch}`)
  const clients = await Promise.all([open(false), open(false), open(true), open(true)])
  await Promise.all([...clients.map(ask), askCompressed(), askCompressed()])
  slow.resume()
  expect((await slow.answer(late)).lines).toEqual(wanted)
  for (const client of [writer, slow, ...clients]) client.close()
})

test('what was pipelined behind COMPRESS is taken as compressed', async () => {
  const one = await talk()
  await one.until('ready')
  one.send('a LOGIN small "secret of small"\r\n')
  await one.until('a OK')
  const deflated = deflateRawSync(Buffer.from('c NOOP\r\nd LOGOUT\r\n'), { finishFlush: constants.Z_SYNC_FLUSH })
  one.send(Buffer.concat([Buffer.from('b COMPRESS DEFLATE\r\n'), deflated]))
  await one.until('b OK')
  one.compress()
  await one.until('d OK')
  await one.closed()
})

test('a stream that is none ends the session, and so does a line that inflates without end', async () => {
  const one = await compressed()
  one.destroy()
  const broken = await talk()
  await broken.until('ready')
  broken.send('a LOGIN small "secret of small"\r\nb COMPRESS DEFLATE\r\n')
  await broken.until('b OK')
  broken.send(Buffer.alloc(1000, 0xff))
  await broken.closed()
  const bomb = await talk()
  await bomb.until('ready')
  bomb.send('a LOGIN small "secret of small"\r\nb COMPRESS DEFLATE\r\n')
  await bomb.until('b OK')
  bomb.send(deflateRawSync(Buffer.alloc(limits.net.skipBytesMax * 8, 'x')))
  await bomb.closed()
  const after = await compressed()
  after.send('c NOOP\r\n')
  await after.until('c OK')
  after.destroy()
})

test('unknown compression is refused', async () => {
  const one = await talk()
  await one.until('ready')
  one.send('a LOGIN small "secret of small"\r\nb COMPRESS LZ4\r\n')
  await one.until('b BAD')
  one.destroy()
})
