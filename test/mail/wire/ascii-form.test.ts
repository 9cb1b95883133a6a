// Headers in ASCII alone: what each kind of field becomes, and what has no such form.

import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { asciiHeader } from '#mail/wire/ascii-form.ts'

function written(field: string, downgraded = false): string {
  const text = asciiHeader(Buffer.from(`${field}\r\n\r\n`), downgraded).toString()
  expect(text).toMatch(/\r\n\r\n$/)
  return text.slice(0, -4).replaceAll('\r\n', '')
}

const forms: readonly (readonly [given: string, plain: string, downgraded?: string])[] = [
  ['Subject: grün', 'Subject: =?utf-8?B?Z3LDvG4=?='],
  [
    'To: Team Grün: a@b.test, Ö <c@blå.test>;, e@f.test',
    'To: Team =?utf-8?B?R3LDvG4=?=: a@b.test, =?UTF-8?B?w5Y=?= <c@xn--bl-zia.test>;, e@f.test',
  ],
  ['Cc: a@b.test (Grün)', 'Cc: =?UTF-8?B?R3LDvG4=?= <a@b.test>'],
  ['Cc: x@y.test, grün@y.test', 'Cc: x@y.test, grün@y.test', 'Cc: x@y.test, =?utf-8?B?Z3LDvG5AeS50ZXN0?= :;'],
  ['From: grün@y.test', 'From: grün@y.test', 'From: grün@y.test'],
  ['References: <a@b> <ü@b>', 'References: <a@b> <=C3=BC@b>'],
  ['Received: by a with UTF8SMTP id 1 for <ü@b>; x', 'Received: by a with UTF8SMTP id 1; x'],
  [
    'Content-Disposition: attachment; filename="a ü.txt"; size=1',
    "Content-Disposition: attachment; filename*=utf-8''a%20%C3%BC.txt; size=1",
  ],
]

test.each(forms.map(([given, plain, downgraded = plain]) => ({ given, plain, downgraded })))('$given', one => {
  const { given, plain, downgraded } = one
  expect([written(given), written(given, true)]).toEqual([plain, downgraded])
})

test('a field with more addresses than are read stays as it is', () => {
  const field = `To: Ü <a@b.test>${', a@b.test'.repeat(limits.mime.addressesMax)}`
  expect(written(field)).toBe(field)
})
