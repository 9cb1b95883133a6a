// Archives: what is put in comes out, in both forms; they are made no faster than they are read; names are good everywhere.

import { expect, test } from 'vitest'
import { FileNames, type ZipFile, zip } from '#mail/exchange/zip.ts'
import { unzip } from './unzip.ts'

async function* pieces(...all: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const one of all) yield Buffer.from(one)
}

async function* files(all: Readonly<Record<string, readonly (string | Buffer)[]>>): AsyncGenerator<ZipFile> {
  for (const [name, parts] of Object.entries(all)) yield { name, time: Date.UTC(2026, 1, 3), bytes: pieces(...parts) }
}

async function whole(archive: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const piece of archive) all.push(piece)
  return Buffer.concat(all)
}

const all = {
  'empty.txt': [],
  'mail/Entwürfe.mbox': ['one', 'two'],
  'files/a.bin': [Buffer.alloc(300_000, 7), Buffer.from([1, 2, 3])],
}

test.each([
  ['small', {}],
  ['larger', { largeFrom: 1 }],
])('what is put in comes out, in the %s form', async (_, options) => {
  const read = unzip(await whole(zip(files(all), options)))
  expect(read.map(({ name }) => name)).toEqual(Object.keys(all))
  for (const { name, bytes } of read)
    expect(bytes.equals(Buffer.concat(all[name as keyof typeof all].map(part => Buffer.from(part)))), name).toBe(true)
})

test('it is made as it is read, and what it is made of ends with it', async () => {
  let made = 0
  let isEnded = false
  async function* endless(): AsyncGenerator<Buffer> {
    const piece = Buffer.from(Array.from({ length: 65_536 }, (_, at) => (at * 7919 * (made + 1)) % 251))
    try {
      for (;;) {
        made += 1
        yield piece
      }
    } finally {
      isEnded = true
    }
  }
  async function* one(): AsyncGenerator<ZipFile> {
    yield { name: 'endless', time: 0, bytes: endless() }
  }
  const archive = zip(one())[Symbol.asyncIterator]()
  for (let number = 0; number < 5; number += 1) await archive.next()
  expect(made).toBeLessThan(100)
  await archive.return(undefined)
  await expect.poll(() => isEnded).toBe(true)
})

test('what fails meanwhile leaves no archive that could be taken for a whole one', async () => {
  async function* failing(): AsyncGenerator<Buffer> {
    yield Buffer.from('begun')
    throw new Error('the disk is gone')
  }
  async function* some(): AsyncGenerator<ZipFile> {
    yield { name: 'a', time: 0, bytes: pieces('a') }
    yield { name: 'b', time: 0, bytes: failing() }
  }
  const got: Buffer[] = []
  await expect(
    (async () => {
      for await (const piece of zip(some())) got.push(piece)
    })(),
  ).rejects.toThrow('the disk is gone')
  expect(() => unzip(Buffer.concat(got))).toThrow('no list')
})

test('names are those that every file system takes, each once', () => {
  const names = new FileNames()
  const take = (...parts: string[]) => names.take(parts)
  expect(take('files', '../../etc/passwd')).toBe('files/__.._etc_passwd')
  expect(take('files', '..')).toBe('files/_')
  expect(take('files', 'a\u202Egpj.exe\0')).toBe('files/a_gpj.exe_')
  expect(take('files', 'con.txt')).toBe('files/_con.txt')
  expect(take('files', 'Bill.pdf')).toBe('files/Bill.pdf')
  expect(take('files', 'bill.PDF')).toBe('files/bill (2).PDF')
  expect(take('files', 'bill.pdf')).toBe('files/bill (3).pdf')
  expect(take('files', 'C:\\x <y>|"z"?*')).toBe('files/C__x _y___z___')
  expect(take('files', '')).toBe('files/_ (2)')
  expect(Buffer.byteLength(take('files', `${'ü'.repeat(400)}.pdf`))).toBeLessThanOrEqual('files/'.length + 200)
  expect(names.take(['mail', 'A'], '.mbox')).toBe('mail/A.mbox')
  expect(names.take(['mail', 'A.mbox', 'B'], '.mbox')).toBe('mail/A_mbox/B.mbox')
  expect(names.take(['mail', 'a'], '.mbox')).toBe('mail/a (2).mbox')
})
