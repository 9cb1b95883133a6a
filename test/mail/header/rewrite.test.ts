import { expect, test } from 'vitest'
import { Header } from '#mail/header/header.ts'
import { cutFields, fromField, rewriteHeader } from '#mail/header/rewrite.ts'

const block = Buffer.from(
  'From: a@x.example\r\nBcc: one@x.example,\r\n two@x.example\r\nX-Own: \xff\r\nbcc: three\r\n\r\n',
  'latin1',
)

test('fields go, folded lines with them, and the others stay byte for byte', () => {
  const rewritten = rewriteHeader(block, new Set(['bcc']))
  expect(rewritten.toString('latin1')).toBe('From: a@x.example\r\nX-Own: \xff\r\n\r\n')
})

test('fields are cut out, and every other byte stays', () => {
  const keys = new Set(['bcc', 'x-gone'])
  const cut = (text: string) => cutFields(Buffer.from(text, 'latin1'), keys).toString('latin1')
  expect(cut(block.toString('latin1'))).toBe('From: a@x.example\r\nX-Own: \xff\r\n\r\n')
  expect(cut('Bcc: a\n\tb\n c\nno field\nX-Gone : 1\nX-Gone-Not: 2\n\nBcc ')).toBe('no field\nX-Gone-Not: 2\n\nBcc ')
  expect(cut('X: 1\r\n BCC: folded\r\n\r\n')).toBe('X: 1\r\n BCC: folded\r\n\r\n')
  expect(cut('Subject: x\r\nBcc: without an end')).toBe('Subject: x\r\n')
  expect(cutFields(block, new Set(['nothing']))).toBe(block)
})

test('a field is replaced once, or added where there was none', () => {
  const replace = new Map([['from', 'From: b@x.example']])
  expect(rewriteHeader(block, new Set(['bcc', 'x-own']), replace).toString()).toBe('From: b@x.example\r\n\r\n')
  const twice = Buffer.from('From: a\r\nFrom: b\r\nX: y\r\n\r\n')
  expect(rewriteHeader(twice, new Set(), replace).toString()).toBe('From: b@x.example\r\nX: y\r\n\r\n')
  expect(rewriteHeader(Buffer.from('X: y\r\n\r\n'), new Set(), replace).toString()).toBe(
    'X: y\r\nFrom: b@x.example\r\n\r\n',
  )
})

test.each(['', 'Plain Name', 'Doe, "J" \\', 'Zoë', 'Ünïcödé '.repeat(20).trim(), 'a\r\nBcc: x'])(
  'the name %j',
  name => {
    const field = fromField({ name, address: 'a@x.example' })
    const header = new Header(Buffer.from(`${field}\r\n\r\n`))
    expect(header.fields).toHaveLength(1)
    expect(header.get('from')).toContain('a@x.example')
    expect(field.split('\r\n').every(line => line.length <= 78 || name.length > 70)).toBe(true)
  },
)
