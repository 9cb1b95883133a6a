// Links found by their colons: what a pattern that is tried everywhere finds.

import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { readSpamText } from '#mail/spam/spam-text.ts'
import { linksIn } from '#mail/text/links.ts'
import { Chance } from '../corpus.ts'

const scheme = /\b(?:https?|ftp|mailto)$/i
const rest = /\/{0,3}(?:[^\s/@"'<>)]{0,80}@)?([^\s/:?#"'<>)]{0,100})([^\s"'<>)]{0,200})/iy
const everywhere = /\b(https?|ftp|mailto):\/{0,3}(?:[^\s/@"'<>)]{0,80}@)?([^\s/:?#"'<>)]{0,100})([^\s"'<>)]{0,200})/gi

test('links are those that a pattern finds which is tried at each letter', () => {
  const chance = new Chance()
  const pieces = 'http https HTTPS ftp mailto : :// / @ . a. host.test xhttp ſ K é - _ " < ) 1'.split(' ')
  const all = [...pieces, ' ', '\r\n', 'p'.repeat(90), 'q'.repeat(210)]
  for (let round = 0; round < 4000; round++) {
    const text = Array.from({ length: chance.below(14) }, () => chance.pick(all)).join('')
    const wanted = [...text.matchAll(everywhere)].map(([, ...groups]) => groups)
    const found = [...linksIn(text, scheme, rest)].map(groups => [...groups])
    expect(found, `seed ${chance.seed}: ${JSON.stringify(text)}`).toEqual(wanted)
  }
})

/** Counts how often it is tried, and how many letters that is at most. */
class Counting extends RegExp {
  tries = 0
  letters = 0

  override exec(text: string): RegExpExecArray | null {
    this.tries += 1
    const from = this.sticky ? this.lastIndex : 0
    const found = super.exec(text)
    this.letters += this.sticky ? (found?.[0].length ?? 0) : text.length - from
    return found
  }
}

const hostile = [
  'a:',
  ':',
  'http:',
  'mailto:',
  'http://',
  'http://a@',
  'http:// ',
  'http:http://a',
  `http://${'a'.repeat(80)} `,
]
const size = 256 * 1024

test.each(hostile)('a text of nothing but %j is looked through once', piece => {
  const text = piece.repeat(size / piece.length)
  const [before, behind] = [new Counting(scheme), new Counting(rest)]
  const found = [...linksIn(text, before, behind)]
  const colons = text.split(':').length - 1
  expect(before.tries).toBeLessThanOrEqual(colons)
  expect(before.letters).toBeLessThanOrEqual(7 * colons)
  // What one link takes is not looked at for another.
  expect(behind.tries).toBe(found.length)
  expect(behind.letters).toBeLessThanOrEqual(size)
})

test.each(hostile)(
  'of a message of nothing but %j only so many letters are looked at, in however many parts',
  async piece => {
    const head = 'From: a@b.test\r\nContent-Type: '
    const whole = `${head}text/html\r\n\r\n${piece.repeat(size / piece.length)}`
    const part = `--b\r\nContent-Type: text/plain\r\n\r\n${piece.repeat(4096 / piece.length)}\r\n`
    const parts = `${head}multipart/mixed; boundary=b\r\n\r\n${part.repeat(size / part.length)}--b--\r\n`
    for (const message of [whole, parts]) {
      const { texts } = await readSpamText(Buffer.from(message))
      const letters = texts.reduce((sum, { content }) => sum + content.length, 0)
      expect(letters).toBeGreaterThan(limits.spam.textLettersMax / 2)
      expect(letters).toBeLessThanOrEqual(limits.spam.textLettersMax)
    }
  },
)
