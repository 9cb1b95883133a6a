// What filters match: substrings as people mean them, texts with their small language, and how many do together.

import { describe, expect, test } from 'vitest'
import { combine, FilterMail, type FilterQuery, type FilterRule, Matcher, matched } from '#mail/filter/filter.ts'
import { readTextQuery } from '#mail/filter/filter-text.ts'
import { Header } from '#mail/header/header.ts'

function mail(
  lines: readonly string[],
  more: { text?: string; size?: number; attachment?: boolean; rcpt?: string } = {},
) {
  const header = new Header(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`))
  const { text, size = 1000, attachment = false, rcpt = 'me@here.test' } = more
  return new FilterMail({ header, size, hasAttachment: () => attachment }).for(rcpt, text)
}

function matches(query: FilterQuery, message: FilterMail): boolean {
  const matcher = new Matcher([{ id: 'a', query, action: {} }])
  const screening = matcher.screen(message)
  const answers = screening.asks.map(({ pattern, texts }) => {
    return texts.some(text => new RegExp(pattern.source, pattern.flags).test(text))
  })
  return matched(matcher, screening, answers).length === 1
}

const letter = mail(
  [
    'From: =?utf-8?Q?J=C3=BCri_Kask?= <juri@xn--jgeva-dua.ee>',
    'Sender: robot@lists.remote.test',
    'To: Some  One <one@remote.test>,',
    ' two@remote.test',
    'Cc: three@remote.test',
    'Bcc: hidden@remote.test',
    'Subject: =?utf-8?B?VsOkbGphIGxvZW5n?= about  Things',
    'List-ID: "Dev list" <dev.example.org>',
  ],
  { text: 'Dear all,\n the  Invoice is\tdue tomorrow. FINAL notice\nΟΔΟΣΑ in Ko\u0308ln', size: 5000 },
)

test.each<[FilterQuery, boolean]>([
  [{}, true],
  [{ from: 'jüri' }, true],
  [{ from: 'ju\u0308ri' }, true],
  [{ text: 'οδος' }, true],
  [{ text: '"KÖLN" ΟΔΟΣ' }, true],
  // An expression says what it says.
  [{ text: '/in ko/i' }, true],
  [{ from: '/ju\u0308ri/' }, false],
  [{ from: 'JURI@' }, true],
  [{ from: 'jõgeva.ee' }, true],
  [{ from: 'xn--jgeva' }, true],
  [{ from: 'robot@lists' }, true],
  [{ from: 'one@remote' }, false],
  [{ to: 'some one' }, true],
  [{ to: 'three@' }, true],
  [{ to: 'me@here.test' }, true],
  [{ to: 'hidden@' }, false],
  [{ subject: 'VÄLJA LOENG' }, true],
  [{ subject: 'about things' }, true],
  [{ subject: 'about  things' }, true],
  [{ listId: 'dev.example' }, true],
  [{ listId: 'Anything <dev.example.org>' }, true],
  [{ listId: 'dev list' }, false],
  [{ text: 'invoice, due' }, true],
  [{ text: 'invoice overdue' }, false],
  [{ text: '"invoice is due"' }, true],
  [{ text: '"due invoice"' }, false],
  [{ text: 'nothing OR "final notice"' }, true],
  [{ ha: false }, true],
  [{ ha: true }, false],
  [{ size: 5000 }, true],
  [{ size: 5001 }, false],
  [{ size: -5000 }, true],
  [{ size: -4999 }, false],
  [{ from: 'jüri', subject: 'nothing' }, false],
  [{ subject: '/^välja\\s/i' }, true],
  [{ subject: '/^välja\\s/' }, false],
  [{ to: '/^two@remote\\.test$/' }, false],
  [{ to: '/^me@here\\.test$/' }, true],
  [{ text: '/^ the/m' }, true],
  [{ from: '/usr/lib' }, false],
  [{ from: '/(/' }, false],
])('%j: %s', (query, wanted) => {
  expect(matches(query, letter)).toBe(wanted)
})

describe('values with slashes', () => {
  const path = mail(['Subject: disk /usr/local/ is full, see /(/ and /home'])
  test.each([['/usr/local/'], ['/home'], ['/(/']])('%s that is no expression is text', value => {
    expect(matches({ subject: value }, path)).toBe(true)
  })
})

test.each([
  ['invoice,due OR "final notice" OR overdue bill', [['invoice', 'due'], ['final notice'], ['overdue', 'bill']]],
  ['a AND b', [['a', 'and', 'b']]],
  ['or', [['or']]],
  ['OR a', [['or', 'a']]],
  ['a OR', [['a', 'or']]],
  ['"open end', [['"open', 'end']]],
  ['"OR"', [['or']]],
  ['  ,, ', []],
])('text condition %s', (value, wanted) => {
  expect(readTextQuery(value)).toEqual(wanted)
})

test('a text condition of separators alone matches nothing', () => {
  expect(matches({ text: ' , ' }, letter)).toBe(false)
})

test('the first filter to say something about an action decides it, false included, and targets are united', () => {
  const rules: FilterRule[] = [
    { id: '1', query: {}, action: { seen: false, targets: ['a@x.test'] } },
    { id: '2', query: {}, action: { seen: true, mailbox: 'm2', targets: ['a@x.test', 'b@x.test'] } },
    { id: '3', query: {}, action: { mailbox: 'm3', spam: false } },
  ]
  const { action, decided } = combine(rules)
  expect(action).toEqual({ seen: false, mailbox: 'm2', spam: false, targets: ['a@x.test', 'b@x.test'] })
  expect(decided).toMatchObject({ seen: '1', mailbox: '2', spam: '3' })
})

test('a costly expression is asked for, a harmless one is not, and a text without its literal never is', () => {
  const rules = ['/^(a+)+$/', '/build #\\d+/i', '/(?=x)invoice .*\\1/'].map((subject, at) => {
    return { id: String(at), query: { subject }, action: {} }
  })
  const screening = new Matcher(rules).screen(mail(['Subject: a Build #7']))
  expect(screening.holds).toEqual([true, true, true])
  expect(screening.asks.map(({ rule }) => rule)).toEqual([0, 2])
})
