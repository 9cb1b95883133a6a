import { expect, test } from 'vitest'
import { Stuffer } from '#pop3/maildrop.ts'
import { Dialogue } from '../dialogue.ts'
import { Random } from '../fuzz/random.ts'
import { Client } from '../imap/client.ts'
import { useTeal } from '../running.ts'

const service = useTeal({ pop3: { deleteTo: 'expunge' } })

/** Text as it goes out, in pieces of these lengths. */
function stuffed(text: string, lengths: () => number, lines?: number): string {
  const stuffer = new Stuffer(lines)
  const bytes = Buffer.from(text, 'latin1')
  const out: Buffer[] = []
  for (let at = 0; at < bytes.length && !stuffer.done; ) {
    const to = Math.min(bytes.length, at + lengths())
    out.push(stuffer.push(bytes.subarray(at, to)))
    at = to
  }
  out.push(stuffer.end())
  return Buffer.concat(out).toString('latin1')
}

const whole = () => Number.MAX_SAFE_INTEGER

test.each([
  ['a: b\r\n\r\n.x\r\n..\r\n', undefined, 'a: b\r\n\r\n..x\r\n...\r\n.\r\n'],
  ['.a: b\r\n\r\n', undefined, '..a: b\r\n\r\n.\r\n'],
  ['no end', undefined, 'no end\r\n.\r\n'],
  ['', undefined, '.\r\n'],
  ['h: 1\r\n\r\nx\0', undefined, 'h: 1\r\n\r\nx\0\r\n.\r\n'],
  ['bare\n.lf\n', undefined, 'bare\n..lf\n.\r\n'],
  ['h: 1\r\n\r\n1\r\n2\r\n3\r\n', 2, 'h: 1\r\n\r\n1\r\n2\r\n.\r\n'],
  ['h: 1\r\n\r\n1\r\n', 0, 'h: 1\r\n\r\n.\r\n'],
  ['h: 1\n\n.1\n2\n', 1, 'h: 1\n\n..1\n.\r\n'],
])('%j with %s lines', (text, lines, expected) => {
  expect(stuffed(text, whole, lines)).toBe(expected)
})

test('pieces of any length give the same', () => {
  const random = new Random(11)
  for (let round = 0; round < 500; round++) {
    const text = Array.from({ length: random.below(60) }, () => random.pick(['.', '\r\n', '\n', 'x', '..', ': '])).join(
      '',
    )
    const lines = random.chance(0.5) ? random.below(5) : undefined
    const expected = stuffed(text, whole, lines)
    expect(stuffed(text, () => 1 + random.below(5), lines)).toBe(expected)
  }
})

test('with deleteTo expunge, what is deleted is gone', async () => {
  await service.user('gone')
  const imap = await Client.login(service.at('imap'), 'gone', 'INBOX')
  await imap.ok('APPEND INBOX {12+}\r\nSubject: x\r\n')
  const pop = await Dialogue.open(service.at('pop3'))
  await pop.line()
  for (const command of ['USER gone', 'PASS secret of gone', 'DELE 1', 'QUIT']) {
    pop.send(`${command}\r\n`)
    expect(await pop.line()).toMatch(/^\+OK/)
  }
  expect(await imap.ok('NOOP')).toEqual(['* 1 EXPUNGE', '* 0 RECENT'])
  expect(await imap.ok('STATUS Trash (MESSAGES)')).toEqual(['* STATUS "Trash" (MESSAGES 0)'])
  imap.close()
})
