// Messages in one file and back.

import { describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { mboxMessage, readMbox } from '#mail/exchange/mbox.ts'
import { mboxItem } from '#mail/exchange/mbox-item.ts'

async function* pieces(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function written(messages: readonly string[], size: number): Promise<Buffer> {
  const out: Buffer[] = []
  for (const message of messages) {
    const envelope = { from: 'a@example.org', date: 0, fields: [] }
    for await (const part of mboxMessage(envelope, pieces(Buffer.from(message), size))) out.push(part)
  }
  return Buffer.concat(out)
}

async function read(bytes: Buffer, size: number, most = 1e9): Promise<(string | null)[]> {
  const found: (string | null)[] = []
  for await (const { message } of readMbox(pieces(bytes, size), most)) found.push(message?.toString() ?? null)
  return found
}

describe('a message in an mbox', () => {
  const messages = [
    'Subject: a\r\n\r\nFrom here\r\n\r\nFrom there\r\n',
    'Subject: b\r\n\r\n>From\r\n>From x\r\n>>>>From y\r\n\r\n\r\n',
    `Subject: long\r\n\r\nFrom ${'x'.repeat(limits.transfer.lineBytesMax + 9000)}\r\nend`,
    'Subject: nothing\r\n\r\n',
    'no header at all',
  ]
  test.each([1, 7, 4096, 1e6])('comes back as it was, in pieces of %i bytes', async size => {
    const back = await read(await written(messages, size), size)
    const wanted = messages.map(one => `${one.replaceAll('\r', '')}${one.endsWith('\n') ? '' : '\n'}`)
    expect(back).toEqual(wanted)
  })

  test('that is too large is passed over', async () => {
    expect(await read(await written(messages, 100), 100, 1000)).toEqual([
      expect.any(String),
      expect.any(String),
      null,
      expect.any(String),
      expect.any(String),
    ])
  })

  test('keeps a From line that no empty line comes before', async () => {
    const text =
      'From a b\nSubject: x\n\nline\nFrom c d\nstill the first\n\nFrom e Sat Feb  3 04:05:06 2001\nSubject: y\n\nz\n'
    expect(await read(Buffer.from(text), 5)).toEqual([
      'Subject: x\n\nline\nFrom c d\nstill the first\n',
      'Subject: y\n\nz\n',
    ])
  })
})

test.each(['', '-', 'a@example.org', 'a@example.org Sat Feb  3 04:05:06 2001', '- Sat, 3 Feb 2001 4:05:06 +0100\r'])(
  'a line "From %s" ends a message, and what people write does not',
  async behind => {
    const text = `From ${behind}\nSubject: x\n\nSo:\n\nFrom now on we meet.\n\nFrom ${behind}\nSubject: y\n\nz\n`
    expect(await read(Buffer.from(text), 5)).toEqual([
      'Subject: x\n\nSo:\n\nFrom now on we meet.\n',
      'Subject: y\n\nz\n',
    ])
  },
)

test('what a message begins with is its own, though it looks like what is put on top of it', () => {
  const own = 'X-Keywords: theirs\r\nX-Export-Mailbox: Elsewhere\r\nSubject: s\r\n\r\nText\r\n'
  const put = 'Status: RO\r\nX-Status: F\r\nX-Export-Mailbox: Here\r\n'
  const { content, path, keywords, ...about } = mboxItem(
    Buffer.from(put + own),
    'a@example.org Sat Feb  3 04:05:06 2001',
  )
  expect(content.toString()).toBe(own)
  expect({ path, keywords, ...about }).toMatchObject({
    path: 'Here',
    keywords: [],
    idate: Date.UTC(2001, 1, 3, 4, 5, 6),
  })
})

describe('a message whose length is said', () => {
  const inner = 'See:\n>From me\n\nFrom a@b Sat Feb  3 04:05:06 2001\nSubject: inner\n\nx\n'
  const file = (length: number) =>
    `From a@b Sat Feb  3 04:05:06 2001\nSubject: x\nContent-Length: ${length}\n\n${inner}\nFrom c@d Sat Feb  3 04:05:06 2001\nSubject: y\n\nz\n`
  const whole = `Subject: x\nContent-Length: ${inner.length}\n\n${inner}`

  test.each([1, 7, 4096])('is as long as that where another one follows, in pieces of %i bytes', async size => {
    expect(await read(Buffer.from(file(inner.length)), size)).toEqual([whole, 'Subject: y\n\nz\n'])
    const alone = file(inner.length).split('\nFrom c@d')[0] ?? ''
    for (const end of ['', '\n']) expect(await read(Buffer.from(alone + end), size)).toEqual([whole])
  })

  test.each([1, -1, 5, -5, 30, 1000])(
    'ends at the next From line where that is wrong by more than a line end (%i bytes)',
    async by => {
      const length = inner.length + by
      const first = `Subject: x\nContent-Length: ${length}\n\nSee:\nFrom me\n`
      const wanted = Math.abs(by) === 1 ? [whole.replace(/\d+/, `${length}`)] : [first, 'Subject: inner\n\nx\n']
      expect(await read(Buffer.from(file(length)), 7)).toEqual([...wanted, 'Subject: y\n\nz\n'])
    },
  )

  test('is not read again and again where none of them is true', async () => {
    const bytes = Buffer.from(`${file(100_000)}\n`.repeat(200))
    expect(await read(bytes, 4096, 1e6)).toHaveLength(600)
  })
})
