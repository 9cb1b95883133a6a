// What a peer may not do: too big, too many, too slow, too early, too long; and what is left behind when it leaves.

import { describe, expect, test } from 'vitest'
import { Wire } from '../net/wire.ts'
import { fault, start } from './memory.ts'

const transaction = 'MAIL FROM:<a@remote.test>\r\nRCPT TO:<u@teal.test>\r\nDATA\r\n'

/** Opens a transaction up to the go-ahead. */
async function begin(wire: Wire): Promise<void> {
  wire.send(transaction)
  for (let reply = 0; reply < 3; reply++) await wire.line()
}

/** Sends `begin` and then a byte at a time until there is an answer. */
async function dribble(wire: Wire, begin: string, answer: Promise<string>): Promise<void> {
  let waits = true
  const done = answer.finally(() => {
    waits = false
  })
  wire.send(begin)
  while (waits) {
    wire.send('x')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await done
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setImmediate(resolve))
}

describe('size', () => {
  test('is announced, and a declared size over it is refused at MAIL', async () => {
    const { open } = await start('smtp', { bounds: { messageBytesMax: 1000 } })
    const wire = await open()
    wire.send('EHLO c.test\r\n')
    expect(await wire.reply()).toContain('250-SIZE 1000')
    expect(await wire.ask('MAIL FROM:<a@b.test> SIZE=1001')).toMatch(/^552 5\.3\.4 /)
    expect(await wire.ask('MAIL FROM:<a@b.test> SIZE=1000')).toBe('250 2.1.0 OK')
  })

  test('is counted while the message comes; nothing of one that is too large is kept, and the next is taken', async () => {
    const { greeted, backend } = await start('lmtp', { bounds: { messageBytesMax: 100_000 } })
    const wire = await greeted()
    await begin(wire)
    wire.send(`${'x'.repeat(98)}\r\n`.repeat(1000))
    wire.send('y\r\n.\r\n')
    expect(await wire.line()).toMatch(/^552 5\.3\.4 The message is larger than allowed/)
    expect([backend.kept.length, backend.underway]).toEqual([0, 0])
    await begin(wire)
    wire.send(`${'x'.repeat(98)}\r\n`.repeat(1000))
    wire.send('.\r\n')
    expect(await wire.line()).toMatch(/^250 /)
    expect(backend.kept[0]?.message.length).toBe(100_000)
  })

  test('a backend learns the declared size before recipients are looked up', async () => {
    const declared: number[] = []
    const { greeted, backend } = await start('smtp')
    backend.recipient = (address, ...[speaker]: [{ declaredBytes: number }?]) => {
      declared.push(speaker?.declaredBytes ?? -1)
      return address
    }
    const wire = await greeted()
    await wire.ask('MAIL FROM:<a@b.test> SIZE=4321')
    await wire.ask('RCPT TO:<u@teal.test>')
    await wire.ask('RSET')
    await wire.ask('MAIL FROM:<a@b.test>')
    await wire.ask('RCPT TO:<u@teal.test>')
    expect(declared).toEqual([4321, 0])
  })
})

describe('numbers', () => {
  test('recipients are capped with 452, those before keep their message', async () => {
    const { greeted, backend } = await start('smtp', { bounds: { recipientsMax: 2 } })
    const wire = await greeted()
    await wire.ask('MAIL FROM:<a@b.test>')
    const replies = []
    for (const name of ['a', 'b', 'c']) replies.push(await wire.ask(`RCPT TO:<${name}@teal.test>`))
    expect(replies[2]).toMatch(/^452 4\.5\.3 /)
    await wire.ask('DATA')
    wire.send('.\r\n')
    await wire.line()
    expect(backend.kept[0]?.recipients).toEqual(['a@teal.test', 'b@teal.test'])
  })

  test('errors end the session', async () => {
    const { greeted } = await start('smtp', { bounds: { errorsMax: 3 } })
    const wire = await greeted()
    wire.send('A\r\nB\r\nC\r\nNOOP\r\n')
    const replies = [await wire.line(), await wire.line(), await wire.line(), await wire.line()]
    expect(replies.map(reply => reply.slice(0, 9))).toEqual(['500 5.5.1', '500 5.5.1', '500 5.5.1', '421 4.7.0'])
    await wire.closed()
    expect(wire.unread).toBe('')
  })

  test('errors before a message that was taken count no more', async () => {
    const { greeted } = await start('smtp', { bounds: { errorsMax: 3 } })
    const wire = await greeted()
    for (let round = 0; round < 3; round++) {
      for (const bad of ['A', 'B']) expect(await wire.ask(bad)).toMatch(/^500 /)
      for (const good of ['MAIL FROM:<a@b.test>', 'RCPT TO:<u@teal.test>', 'DATA']) await wire.ask(good)
      expect(await wire.ask('x\r\n.')).toMatch(/^250 /)
    }
    expect(await wire.ask('NOOP')).toMatch(/^250 /)
  })

  test('looking for names over SMTP ends the session, a relay over LMTP may go on', async () => {
    for (const [service, survives] of [
      ['smtp', false],
      ['lmtp', true],
    ] as const) {
      const { greeted, backend } = await start(service)
      backend.unknown.set('x@teal.test', fault('UserNotFound'))
      const wire = await greeted()
      await wire.ask('MAIL FROM:<a@b.test>')
      wire.send(`${'RCPT TO:<x@teal.test>\r\n'.repeat(250)}NOOP\r\n`)
      const replies: string[] = []
      for (let reply = await wire.line(); reply.startsWith('550 5.1.1'); reply = await wire.line()) replies.push(reply)
      expect(replies.length).toBe(survives ? 250 : 200)
    }
  })

  test('sessions are capped for one network, and one that ends makes room', async () => {
    // A quarter of eight before a message.
    const { at, open, listener } = await start('smtp', { bounds: { sessionsPerNetworkMax: 8 } })
    const first = await open()
    await open()
    const third = await Wire.open(at)
    expect(await third.line()).toBe('421 4.7.0 mx.teal.test Too many sessions, try again later')
    await third.closed()
    await first.ask('QUIT')
    await first.closed()
    await until(() => listener.sessions === 1)
    const fourth = await Wire.open(at)
    expect(await fourth.line()).toMatch(/^220 /)
    fourth.close()
  })
})

describe('sessions that send no message', () => {
  test('end after so many commands; a message starts the count anew', async () => {
    const { greeted } = await start('smtp', { bounds: { messagelessCommandsMax: 5 } })
    const wire = await greeted()
    for (let round = 0; round < 2; round++) {
      for (let count = 0; count < 3; count++) expect(await wire.ask('NOOP')).toMatch(/^250 /)
      await begin(wire)
      wire.send('.\r\n')
      expect(await wire.line()).toMatch(/^250 /)
    }
    wire.send('NOOP\r\nRSET\r\nVRFY x\r\nHELP\r\nEHLO c.test\r\n')
    for (let count = 0; count < 4; count++) expect((await wire.reply()).at(-1)).toMatch(/^2/)
    await wire.reply()
    expect(await wire.ask('NOOP')).toBe('421 4.7.0 mx.teal.test No message came for too long')
    await wire.closed()
  })

  test('end after a time, however busy they are', async () => {
    const { open } = await start('smtp', { bounds: { messagelessMs: 0 } })
    const wire = await open()
    let reply = await wire.ask('NOOP')
    while (reply.startsWith('250 ')) reply = await wire.ask('NOOP')
    expect(reply).toMatch(/^421 4\.7\.0 /)
    await wire.closed()
  })

  test('a relay that speaks LMTP and meets unknown recipients all day may go on', async () => {
    const { greeted, backend } = await start('lmtp', { bounds: { messagelessCommandsMax: 5 } })
    backend.unknown.set('x@teal.test', fault('UserNotFound'))
    const wire = await greeted()
    for (let round = 0; round < 40; round++) {
      expect(await wire.ask('MAIL FROM:<a@b.test>')).toMatch(/^250 /)
      expect(await wire.ask('RCPT TO:<x@teal.test>')).toMatch(/^550 /)
      expect(await wire.ask('RSET')).toMatch(/^250 /)
    }
  })
})

describe('time', () => {
  test('silence ends with 421, in commands and in the middle of a message, and so does a byte now and then of a command', async () => {
    const { greeted, backend } = await start('smtp', { bounds: { idleMs: 50 } })
    const idle = await greeted()
    const sending = await greeted()
    await begin(sending)
    sending.send('half a mess')
    const slow = await greeted()
    const told = slow.line()
    await dribble(slow, 'NOOP ', told)
    expect(await told).toMatch(/^421 4\.4\.2 /)
    expect(await idle.line()).toMatch(/^421 4\.4\.2 mx\.teal\.test Nothing was heard/)
    expect(await sending.line()).toMatch(/^421 4\.4\.2 /)
    await Promise.all([idle.closed(), sending.closed(), slow.closed()])
    expect([backend.kept.length, backend.underway, backend.aborted]).toEqual([0, 0, 1])
  })

  test('a chunk that nobody waits for may take no longer than a message, before a login than that', async () => {
    for (const [service, bounds, authenticate] of [
      ['smtp', { messageMs: 50 }, undefined],
      ['submission', { loginMs: 50 }, async () => ({})],
    ] as const) {
      const { greeted } = await start(service, { bounds, ...(authenticate !== undefined && { authenticate }) })
      const wire = await greeted()
      const reply = wire.line()
      await dribble(wire, 'BDAT 100000000\r\n', reply)
      expect(await reply).toMatch(/^421 4\.4\.2 /)
      await wire.closed()
    }
  })

  test('recipients without end and chunks without bytes hold a session no longer than a message may take', async () => {
    const { greeted, backend } = await start('smtp', { bounds: { messageMs: 50, recipientsMax: 1 } })
    for (const [command, refusal] of [
      ['RCPT TO:<v@teal.test>', /^421 4\.7\.0 /],
      ['BDAT 0', /^421 4\.4\.2 /],
    ] as const) {
      const wire = await greeted()
      await wire.ask('MAIL FROM:<a@b.test>')
      await wire.ask('RCPT TO:<u@teal.test>')
      let reply = await wire.ask(command)
      while (!reply.startsWith('421 ')) reply = await wire.ask(command)
      expect(reply).toMatch(refusal)
      await wire.closed()
    }
    expect([backend.kept.length, backend.underway, backend.aborted]).toEqual([0, 0, 1])
  })
})

describe('leaving', () => {
  test('a peer that leaves in the middle of a message leaves nothing behind', async () => {
    const { greeted, backend, listener } = await start('lmtp')
    const cut = await greeted()
    await begin(cut)
    cut.send('Subject: half\r\n\r\nand then')
    await until(() => backend.underway === 1)
    cut.close()
    const ended = await greeted()
    await begin(ended)
    ended.send('all but the dot\r\n.')
    ended.finish()
    await ended.closed()
    await until(() => listener.sessions === 0)
    expect([backend.kept.length, backend.underway, backend.aborted]).toEqual([0, 0, 2])
  })

  test('a stop answers 421 to the idle, and lets a message that is coming in arrive', async () => {
    const { greeted, backend, listener, at } = await start('smtp')
    const idle = await greeted()
    const sending = await greeted()
    await begin(sending)
    sending.send('first half, ')
    await until(() => backend.underway === 1)
    const closed = listener.close()
    expect(await idle.line()).toBe('421 4.3.2 mx.teal.test The service is stopping')
    sending.send('second half\r\n.\r\n')
    expect(await sending.line()).toMatch(/^250 2\.0\.0 Stored/)
    expect(await sending.line()).toMatch(/^421 4\.3\.2 /)
    await closed
    expect(backend.kept.map(({ message }) => message)).toEqual(['first half, second half\r\n'])
    await expect(Wire.open(at)).rejects.toThrow(/ECONNREFUSED/)
  })

  test('a stop waits for a delivery whose peer is gone', async () => {
    const { greeted, backend, listener } = await start('smtp', { bounds: { drainMs: 20 } })
    let release = () => {}
    backend.gate = new Promise(resolve => {
      release = resolve
    })
    const begun = new Promise<void>(resolve => {
      backend.onDeliver = resolve
    })
    const wire = await greeted()
    await begin(wire)
    wire.send('x\r\n.\r\n')
    await begun
    let closed = false
    const closing = listener.close().then(() => {
      closed = true
    })
    await wire.closed()
    await until(() => listener.sessions === 0)
    expect([closed, backend.kept.length]).toEqual([false, 0])
    release()
    await closing
    expect(backend.kept).toHaveLength(1)
  })

  test('a stop cuts off who takes too long', async () => {
    const { greeted, backend, listener } = await start('smtp', { bounds: { drainMs: 50 } })
    const sending = await greeted()
    await begin(sending)
    sending.send('never ending')
    await listener.close()
    await sending.closed()
    expect([backend.kept.length, backend.underway, listener.sessions]).toEqual([0, 0, 0])
  })
})

describe('BDAT', () => {
  test('keeps bytes as they are, over several chunks and beside other commands', async () => {
    const { greeted, backend } = await start('smtp')
    const wire = await greeted()
    await wire.ask('MAIL FROM:<a@b.test>')
    await wire.ask('RCPT TO:<u@teal.test>')
    wire.send('BDAT 7\r\none\r\n.\rBDAT 6\r\n\n\r\n.\r\nBDAT 0 LAST\r\nNOOP\r\n')
    expect([await wire.line(), await wire.line(), await wire.line(), await wire.line()]).toEqual([
      '250 2.0.0 7 bytes',
      '250 2.0.0 6 bytes',
      expect.stringMatching(/^250 2\.0\.0 Stored/),
      '250 2.0.0 OK',
    ])
    expect(backend.kept[0]?.message).toBe('one\r\n.\r\n\r\n.\r\n')
  })

  test('what may not come now is read and refused', async () => {
    const { greeted, backend } = await start('lmtp', { bounds: { messageBytesMax: 10 } })
    const wire = await greeted()
    wire.send('BDAT 6 LAST\r\nNOOP\r\nNOOP\r\n')
    expect([await wire.line(), await wire.line()]).toEqual([expect.stringMatching(/^503 5\.5\.1 /), '250 2.0.0 OK'])
    await wire.ask('MAIL FROM:<a@b.test>')
    wire.send('BDAT 2\r\nabRCPT TO:<u@teal.test>\r\n')
    expect([await wire.line(), await wire.line()]).toEqual([expect.stringMatching(/^503 5\.5\.1 /), '250 2.1.5 OK'])
    wire.send('BDAT 8\r\n12345678DATA\r\nRCPT TO:<v@teal.test>\r\nBDAT 4\r\n1234BDAT 1 LAST\r\n1')
    expect([await wire.line(), await wire.line(), await wire.line(), await wire.line(), await wire.line()]).toEqual([
      '250 2.0.0 8 bytes',
      expect.stringMatching(/^503 5\.5\.1 /),
      expect.stringMatching(/^503 5\.5\.1 /),
      expect.stringMatching(/^552 5\.3\.4 /),
      expect.stringMatching(/^552 5\.3\.4 /),
    ])
    expect(await wire.ask('NOOP')).toBe('250 2.0.0 OK')
    expect([backend.kept.length, backend.underway]).toEqual([0, 0])
  })

  test('RSET forgets the chunks', async () => {
    const { greeted, backend } = await start('smtp')
    const wire = await greeted()
    await wire.ask('MAIL FROM:<a@b.test>')
    await wire.ask('RCPT TO:<u@teal.test>')
    wire.send('BDAT 3\r\nabcRSET\r\n')
    expect([await wire.line(), await wire.line()]).toEqual(['250 2.0.0 3 bytes', '250 2.0.0 OK'])
    expect([backend.underway, backend.aborted]).toEqual([0, 1])
  })

  test('a length that is none ends the session, since what follows could be anything', async () => {
    const { greeted } = await start('smtp')
    for (const length of ['x', '-1', '1 FIRST', '99999999999']) {
      const wire = await greeted()
      wire.send(`BDAT ${length}\r\nMAIL FROM:<a@b.test>\r\n`)
      await wire.closed()
      expect(wire.unread).toMatch(/^501 5\.5\.4 [^\r\n]*\r\n$/)
    }
    for (const line of ['BDAT 22\n', 'bdat\t22\r\n', `BDAT ${' '.repeat(4000)}22\r\n`]) {
      const wire = await greeted()
      wire.send(`${line}MAIL FROM:<a@b.test>\r\n`)
      await wire.closed()
      expect(wire.unread).toMatch(/^500 5\.5\.2 [^\r\n]*\r\n$/)
    }
  })
})
