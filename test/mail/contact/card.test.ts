// vCards: folding, quoting, encodings of three versions, what is kept as it stands, and hostile files.

import { describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { type Card, emptyCard, readCards, writeCard } from '#mail/contact/card.ts'
import { folded, readVcards } from '#mail/contact/vcard.ts'

const read = (...lines: string[]): Card[] => [...readCards(Buffer.from(lines.join('\r\n')))]
const one = (...lines: string[]): Card => {
  const [card] = read('BEGIN:VCARD', 'VERSION:4.0', ...lines, 'END:VCARD', '')
  if (card === undefined) throw new Error('no card')
  return card
}

describe('reading', () => {
  test('a card of 4.0 with folds, quotes, groups and preferences', () => {
    const card = one(
      'UID:urn:uuid:1',
      'FN:Jane D\\, Ph\\;D',
      'N:Doe;Jane;Quinlan;Dr.;Ph\\;D',
      'item1.EMAIL;TYPE="home,x";PREF=2:jane@home.',
      ' example',
      'EMAIL;TYPE=work;PREF=1:jane@work.example',
      'TEL;VALUE=uri;TYPE="cell":tel:+1-555',
      'ADR;TYPE=home:;;Main St\\n1;Town;;123;Land',
      'ORG:Big\\; Co;Dept',
      'NOTE:line\\nnext\\\\n',
      'CATEGORIES:Friends,A\\,B,Friends',
      'X-THING;A="b:c;d":kept',
      'IMPP:xmpp:jane@x.example',
    )
    expect(card).toEqual({
      ...{ uid: 'urn:uuid:1', name: 'Jane D, Ph;D', given: 'Jane', family: 'Doe', nickname: '' },
      emails: [
        { value: 'jane@home.example', kind: '' },
        { value: 'jane@work.example', kind: 'work' },
      ],
      phones: [{ value: '+1-555', kind: 'cell' }],
      addresses: [{ street: 'Main St\n1', city: 'Town', region: '', code: '123', country: 'Land', kind: 'home' }],
      ...{ organization: 'Big; Co, Dept', title: '', birthday: '', note: 'line\nnext\\n', groups: ['Friends', 'A,B'] },
      others: ['X-THING;A="b:c;d":kept', 'IMPP:xmpp:jane@x.example'],
    })
  })

  test('a card of 3.0 and one of 2.1, in old character sets', () => {
    expect(one('FN:A', 'EMAIL;TYPE=INTERNET,pref:b@x.example', 'EMAIL;type=WORK:a@x.example').emails).toEqual([
      { value: 'b@x.example', kind: '' },
      { value: 'a@x.example', kind: 'work' },
    ])
    const old = [
      ...['BEGIN:VCARD', 'VERSION:2.1', 'N;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:M=FCller;J=F6rg'],
      ...['NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Gr=C3=BC=', '=C3=9Fe=0D=0Aweiter', 'TEL;CELL;PREF:1'],
      ...['PHOTO;ENCODING=BASE64:AAAA', ' BBBB', '', 'END:VCARD'],
    ]
    expect(read(...old)).toMatchObject([
      {
        family: 'Müller',
        given: 'Jörg',
        name: 'Jörg Müller',
        note: 'Grüße\r\nweiter',
        phones: [{ value: '1', kind: 'cell' }],
      },
    ])
    const latin = Buffer.from('BEGIN:VCARD\nFN:J\xf6rg\nEND:VCARD\n', 'latin1')
    expect([...readCards(latin)]).toMatchObject([{ name: 'Jörg' }])
  })

  test('what is broken is passed over', () => {
    expect(read('hello', 'FN:outside', 'BEGIN:VCARD', 'EMAIL:not an address', 'END:VCARD')).toEqual([])
    expect(read('BEGIN:VCARD', 'FN:open')).toEqual([])
    expect(
      read('END:VCARD', 'BEGIN:VCARD', 'FN:x', ':', ';', 'TEL', 'BEGIN:VCARD', 'FN:inner', 'END:VCARD', 'END:VCARD'),
    ).toMatchObject([{ name: 'x' }])
  })

  test('hostile files end, and are bounded', () => {
    const { cardsMax, propertiesMax, valuesMax, lineLengthMax } = limits.contact
    const many = Array.from({ length: propertiesMax * 2 }, (_, n) => `TEL:${n}`)
    expect(one('FN:x', ...many).phones).toHaveLength(valuesMax)
    expect(one('FN:x', `NOTE:${'n'.repeat(lineLengthMax)}`).note).toBe('')
    expect(one('FN:x', ...Array.from({ length: 5000 }, () => ' y'), 'TITLE:t')).toMatchObject({ title: 't' })
    const cards = 'BEGIN:VCARD\nFN:x\nEND:VCARD\n'.repeat(cardsMax + 5)
    expect([...readVcards(Buffer.from(cards))]).toHaveLength(cardsMax)
    expect([...readCards(Buffer.from('BEGIN:VCARD\n'.repeat(100_000)))]).toEqual([])
    expect([...readCards(Buffer.from(`BEGIN:VCARD\nFN${';a="'.repeat(200_000)}`))]).toEqual([])
  })
})

describe('writing', () => {
  const card: Card = {
    ...emptyCard,
    ...{ uid: 'u1', name: 'Jörg, the; "first"\nof \\them', given: 'Jörg', family: 'Müller', title: 'x'.repeat(300) },
    emails: [{ value: 'a@x.example', kind: 'home' }],
    phones: [{ value: '+49 1', kind: '' }],
    addresses: [{ street: 'A\nB', city: 'C', region: '', code: '1', country: '', kind: 'work' }],
    ...{ note: '\u{1f600}'.repeat(60), groups: ['A,B', 'C'], others: ['X-A:1'], organization: 'Big; Co' },
  }

  test('gives what reads back, in both versions', () => {
    for (const version of ['3.0', '4.0'] as const) {
      const text = writeCard(card, version, 0)
      expect(text).toContain(`VERSION:${version}\r\n`)
      expect([...readCards(Buffer.from(text))]).toEqual([card])
      for (const line of text.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75)
    }
  })

  test('no value ends its line', () => {
    const text = writeCard({ ...card, name: 'x\r\nEND:VCARD\r\nBEGIN:VCARD\r\nFN:y' }, '4.0', 0)
    expect([...readCards(Buffer.from(text))]).toHaveLength(1)
    expect(folded('é'.repeat(50)).split('\r\n ').join('')).toBe(`${'é'.repeat(50)}\r\n`)
  })
})
