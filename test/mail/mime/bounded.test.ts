// Fields that a stranger made to cost much: what is read of them has an end, and they are read once.

import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { isGroup } from '#mail/address/address.ts'
import { addressesOf, decodeAddresses, parseAddresses } from '#mail/address/address-list.ts'
import { speaksAs } from '#mail/header/auth-results.ts'
import { cutUnwanted } from '#mail/header/cut.ts'
import { Header } from '#mail/header/header.ts'
import { decoder } from '#mail/mime/decode.ts'
import { LineEnds } from '#mail/mime/line-end.ts'
import { scanMime } from '#mail/mime/mime.ts'
import { outline } from '#mail/mime/outline.ts'

const length = 240 * 1024

test.each(['a:', 'a ', '()', '<', '@', '"a"', 'a\t', 'a:b,'])('of a field of %j no more is read than may be', text => {
  const { addressWordsMax, addressesMax } = limits.mime
  const all = parseAddresses(text.repeat(length / text.length))
  const entries = all.flatMap(one => (isGroup(one) ? [one, ...one.group] : [one]))
  expect(entries.length).toBeLessThanOrEqual(addressesMax + 1)
  // Each word that was looked at stands in the result once at most, with what joins it to the next.
  expect(JSON.stringify(entries).length).toBeLessThan((2 * text.length + 4) * addressWordsMax)
})

test('as many addresses as there may be are read whole, names, comments and all', () => {
  const { addressesMax } = limits.mime
  const all = parseAddresses('First Last (x) <a@b.example>, '.repeat(addressesMax))
  expect(all).toHaveLength(addressesMax)
  expect(all.at(-1)).toEqual({ name: 'First Last', address: 'a@b.example' })
})

test('a field is read once, for ENVELOPE and for listings', () => {
  const to = '=?utf-8?q?J=C3=B5?= <a@xn--jgeva-dua.ee>, team: =?utf-8?q?x?= <b@c.example>;'
  const root = scanMime(Buffer.from(`From: a@b.example\r\nTo: ${to}\r\n\r\nx`))
  const read = addressesOf(root.header, 'to')
  const outlined = outline(root)
  expect(addressesOf(root.header, 'to')).toBe(read)
  expect(outlined.summary.to).toEqual(parseAddresses(to))
  expect(decodeAddresses(read)).toEqual(outlined.summary.to)
  expect(outlined.envelope).toContain('=?utf-8?q?J=C3=B5?=')
})

test('a message of 1,000 parts, and one of as many messages, have outlines in proportion', () => {
  const many = (head: string, count: number) =>
    outline(
      scanMime(Buffer.from(`Content-Type: multipart/digest; boundary=b\r\n\r\n${`--b\r\n${head}`.repeat(count)}`)),
    )
  const outlined = many('\r\nTo: a:a:a:a\r\n\r\nx\r\n', 2 * limits.mime.partsMax)
  const half = many('\r\nTo: a:a:a:a\r\n\r\nx\r\n', limits.mime.partsMax / 4)
  expect(outlined.attachments.length).toBeLessThanOrEqual(limits.mime.partsMax)
  expect(outlined.bodyStructure.length).toBeLessThan(3 * half.bodyStructure.length)
  expect(outline(scanMime(Buffer.from('x'))).body.length).toBeLessThan(100)
})

test('padding between every two characters of base64 gives the bytes it holds', () => {
  const decode = (text: string) => {
    const decoding = decoder('base64')
    const [half, rest] = [text.slice(0, text.length / 2), text.slice(text.length / 2)]
    const pieces = [decoding.write(Buffer.from(half)), decoding.write(Buffer.from(rest)), decoding.end()]
    return Buffer.concat(pieces).toString()
  }
  expect(decode('YQ==YWI=YWJj')).toBe('aababc')
  expect(decode('Y='.repeat(100_000))).toBe('')
  expect(decode('YQ=='.repeat(1000))).toBe('a'.repeat(1000))
  expect(decode('=YW=Jj==')).toBe('a&')
})

test('many short lines are put right as few long ones are', () => {
  for (const text of ['\n'.repeat(1000), 'a\n\r\n\n\r', `${'x'.repeat(99)}\n`.repeat(50)]) {
    for (const cut of [1, 2, 3, 500]) {
      const ends = new LineEnds()
      const bytes = Buffer.from(text)
      const pieces: Buffer[] = []
      for (let at = 0; at < bytes.length; at += cut) pieces.push(ends.mend(bytes.subarray(at, at + cut)))
      expect(Buffer.concat(pieces).toString()).toBe(text.replace(/(?<!\r)\n/g, '\r\n'))
    }
  }
})

test('what must not be believed is cut out, behind a bare CR as well, and nothing else', () => {
  const cut = (text: string) => {
    return cutUnwanted(Buffer.from(text, 'latin1'), (key, value) => key === 'x' && value().includes('bad')).toString(
      'latin1',
    )
  }
  expect(cut('X: good\r\nX: bad\r\n folded\r\nY: bad\r\n\r\n')).toBe('X: good\r\nY: bad\r\n\r\n')
  expect(cut('Y: 1\rX: bad\r\nZ: 2\r\n\r\n')).toBe('Y: 1\r\r\nZ: 2\r\n\r\n')
  expect(cut('x :\r\n\tbad\r\r\nZ: 2\n\n')).toBe('Z: 2\n\n')
  expect(cut('Y: X: bad\r\n X: bad\r\n')).toBe('Y: X: bad\r\n X: bad\r\n')
  const block = Buffer.from('Y: 1\r\n\r\n')
  expect(cutUnwanted(block, () => false)).toBe(block)
  for (const one of ['\r', '\n', 'a\r', 'a:\r ', '\r\r\n']) {
    const hostile = Buffer.from(one.repeat(length / one.length))
    expect(cutUnwanted(hostile, () => false)).toBe(hostile)
  }
  expect(new Header(Buffer.from(cut('X: bad\r\r\nZ: 2\r\n\r\n'))).get('z')).toBe('2')
})

test.each([' ', '\t', '\0', ' \0'])('a name with %j all through it is looked at once', blank => {
  const hostile = Buffer.from(`X${blank.repeat(length / blank.length)}x: 1\r\n\r\n`)
  expect(cutUnwanted(hostile, key => key === 'x')).toBe(hostile)
  const own = Buffer.from(`X${blank.repeat(length / blank.length)}: 1\r\n`)
  expect(cutUnwanted(own, key => key === 'x')).toHaveLength(0)
})

test('a name of digits in front of results is looked at once', () => {
  expect(speaksAs('mx.test', `${'1'.repeat(length)}x`)).toBe(false)
  expect(speaksAs('mx.test', `mx.test${'1'.repeat(length)}; spf=pass`)).toBe(true)
})
