import { describe, expect, it } from 'vitest'
import { limits } from '#lib/limits.ts'
import { scanMime } from '#mail/mime/mime.ts'
import { hasAttachments, type Outline, outline } from '#mail/mime/outline.ts'
import { partAt, sectionRange } from '#mail/mime/section.ts'
import { corpus, sample } from '../corpus.ts'

type Item = string | number | null | Item[]

/** A strict reader of what IMAP calls a parenthesized list of quoted strings, numbers and NIL. */
function read(text: string): Item {
  let at = 0
  const item = (): Item => {
    if (text[at] === '(') {
      at++
      const list: Item[] = []
      while (text[at] !== ')') {
        if (at >= text.length) throw new Error('open list')
        // Body parts and addresses stand next to each other, all else has one space between.
        if (list.length > 0 && text[at] === ' ') at++
        else if (list.length > 0 && text[at] !== '(') throw new Error(`no space at ${at}`)
        list.push(item())
      }
      at++
      if (list.length === 0) throw new Error('empty list')
      return list
    }
    const match = /^(?:NIL|\d+|"(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*")/.exec(text.slice(at))
    if (!match) throw new Error(`no item at ${at}: ${text.slice(at, at + 40)}`)
    at += match[0].length
    if (match[0] === 'NIL') return null
    return match[0].startsWith('"') ? match[0].slice(1, -1).replace(/\\(.)/g, '$1') : Number(match[0])
  }
  const whole = item()
  if (at !== text.length) throw new Error(`more after ${at}`)
  return whole
}

/** The grammar of RFC 9051 9, body, as far as the forms of its fields go. */
function checkBody(body: Item, extended: boolean): void {
  expect(Array.isArray(body)).toBe(true)
  const list = body as Item[]
  if (Array.isArray(list[0])) {
    const subtype = list.findIndex(entry => !Array.isArray(entry))
    for (const part of list.slice(0, subtype)) checkBody(part, extended)
    expect(typeof list[subtype]).toBe('string')
    expect(list.length).toBe(subtype + (extended ? 5 : 1))
    return
  }
  const [type, subtype, parameters, , , encoding, octets, ...rest] = list
  expect([typeof type, typeof subtype, typeof encoding, typeof octets]).toEqual([
    'string',
    'string',
    'string',
    'number',
  ])
  if (parameters !== null) expect((parameters as Item[]).length % 2).toBe(0)
  if (type === 'TEXT') expect(typeof rest.shift()).toBe('number')
  else if (type === 'MESSAGE' && (subtype === 'RFC822' || subtype === 'GLOBAL')) {
    checkEnvelope(rest.shift() ?? null)
    checkBody(rest.shift() ?? null, extended)
    expect(typeof rest.shift()).toBe('number')
  }
  expect(rest.length).toBe(extended ? 4 : 0)
}

function checkEnvelope(item: Item): void {
  const list = item as Item[]
  expect(list.length).toBe(10)
  for (const [at, field] of list.entries()) {
    if (at < 2 || at > 7) expect(field === null || typeof field === 'string').toBe(true)
    else if (field !== null) {
      for (const address of field as Item[]) expect((address as Item[]).length).toBe(4)
    }
  }
}

function message(...lines: string[]): Outline {
  return outline(scanMime(Buffer.from(lines.join('\r\n'))))
}

describe('the outline of every message of the corpus', () => {
  for (const { name, bytes } of corpus()) {
    it(name, () => {
      const root = scanMime(bytes)
      const result = outline(root)
      expect(JSON.parse(JSON.stringify(result))).toEqual(result)
      for (const text of [result.envelope, result.body, result.bodyStructure]) expect(text).toMatch(/^[\x20-\x7e]+$/)
      checkEnvelope(read(result.envelope))
      checkBody(read(result.body), false)
      checkBody(read(result.bodyStructure), true)
      for (const { info, part, start, end } of result.attachments) {
        expect(info.filename).toMatch(/^[^/\\\x00-\x1f]+$/)
        expect(sectionRange(result.index, part.split('.').map(Number), 'BODY')).toEqual({ start, end })
      }
      for (const { part, start, end } of result.texts) {
        expect(sectionRange(result.index, part.split('.').map(Number), 'BODY')).toEqual({ start, end })
      }
      expect(sectionRange(result.index, [], 'BODY')).toEqual({ start: 0, end: bytes.length })
    })
  }
})

describe('ENVELOPE', () => {
  const of = (text: string) => read(outline(scanMime(Buffer.from(text))).envelope) as Item[]

  it('has local parts without the quotes they stood in', () => {
    const [, , from] = of('From: "a \\"b\\" c"@example.org, "d@e"@example.org, "f" <g@example.org>\r\n\r\n')
    expect(from).toEqual([
      [null, null, 'a "b" c', 'example.org'],
      [null, null, 'd@e', 'example.org'],
      ['f', null, 'g', 'example.org'],
    ])
  })

  it('has ten fields, From standing in for Sender and Reply-To', () => {
    const list = of(
      'Date: Mon, 1 Jan 2026 00:00:00 +0000\nSubject: a "b" \\c\nFrom: A <a@b.c>\nTo: G:x@y.z,\n "q,r" <q@r.s>;\nCc: \nMessage-ID: <i@d>\nSender:\n',
    )
    const from = [['A', null, 'a', 'b.c']]
    expect(list).toEqual([
      'Mon, 1 Jan 2026 00:00:00 +0000',
      'a "b" \\c',
      from,
      from,
      from,
      [
        [null, null, 'G', null],
        [null, null, 'x', 'y.z'],
        ['q,r', null, 'q', 'r.s'],
        [null, null, null, null],
      ],
      null,
      null,
      null,
      '<i@d>',
    ])
  })

  it('encodes what is not ASCII and leaves encoded words alone', () => {
    const list = of('Subject: õ\nFrom: =?utf-8?Q?=C3=B5?= <ä@õ.ee>\nTo: broken\nIn-Reply-To:')
    expect(list[1]).toBe('=?utf-8?B?w7U=?=')
    expect(list[2]).toEqual([['=?utf-8?Q?=C3=B5?=', null, '=?utf-8?B?w6Q=?=', 'xn--mda.ee']])
    // A NIL host would open a group.
    expect(list[5]).toEqual([[null, null, 'broken', '']])
    expect(list[8]).toBe('')
    expect(list[9]).toBe(null)
  })
})

describe('BODYSTRUCTURE', () => {
  it('has every field of a leaf', () => {
    const { bodyStructure, body } = message(
      'Content-Type: image/PNG; name="ä.png"',
      'Content-Transfer-Encoding: (a (b)) base64, 8bit',
      'Content-ID: <x@y>',
      'Content-Description: d',
      'Content-MD5: m==',
      "Content-Disposition: inline; filename*=utf-8''%C3%A4.png; size=3",
      'Content-Language: en, (a (b)) de (c, d)',
      'Content-Location: http://x/',
      '',
      'AAAA',
    )
    const start = ['IMAGE', 'PNG', ['name*', "utf-8''%C3%A4.png"], '<x@y>', 'd', 'BASE64', 4]
    expect(read(body)).toEqual(start)
    expect(read(bodyStructure)).toEqual([
      ...start,
      'm==',
      ['INLINE', ['filename*', "utf-8''%C3%A4.png", 'size', '3']],
      ['en', 'de'],
      'http://x/',
    ])
  })

  it('has envelope, body and lines of an embedded message, and keeps the syntax of one that is encoded', () => {
    const open = message('Content-Type: message/rfc822', '', 'Subject: s', '', 'a', 'b')
    const list = read(open.body) as Item[]
    expect((list[7] as Item[])[1]).toBe('s')
    expect(list[8]).toEqual(['TEXT', 'PLAIN', ['charset', 'us-ascii'], null, null, '7BIT', 4, 2])
    expect(list[9]).toBe(4)
    const closed = message('Content-Type: message/rfc822', 'Content-Transfer-Encoding: base64', '', 'U3ViamVjdA==')
    checkBody(read(closed.bodyStructure), true)
  })

  it('cannot be broken by 10,000 levels or a header of control characters', () => {
    const deep = Array.from(
      { length: 10_000 },
      (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\r\n\r\n--b${at}\r\n`,
    )
    checkBody(read(outline(scanMime(Buffer.from(deep.join('')))).bodyStructure), true)
    const odd = message(
      'Content-Type: te"xt/pl\\ain; na"me\x01="a\x00"; õ=õ',
      'Content-Transfer-Encoding: õ"',
      'Content-ID: \x7f<>',
      '',
      '',
    )
    checkBody(read(odd.bodyStructure), true)
  })
})

describe('sections', () => {
  const bytes = sample('mime4j/multi-nested.eml')
  const { index } = outline(scanMime(bytes))
  const text = (path: number[], kind: 'BODY' | 'HEADER' | 'TEXT' | 'MIME') => {
    const range = sectionRange(index, path, kind)
    return range && bytes.toString('latin1', range.start, range.end)
  }

  it('are those of RFC 9051 6.4.5', () => {
    expect(text([], 'HEADER')).toMatch(/^MIME-Version[\s\S]*\r\n\r\n$/)
    expect(text([], 'HEADER') ?? '').toContain('Subject: A complex')
    expect(`${text([], 'HEADER')}${text([], 'TEXT')}`).toBe(text([], 'BODY'))
    expect(text([2], 'MIME')).toMatch(/^Content-type: text\/plain/)
    expect(text([3, 1], 'MIME')).toContain('3d-vise.gif')
    expect(text([5], 'BODY')).toBe(`${text([5], 'HEADER')}${text([5], 'TEXT')}`)
    expect(text([5], 'HEADER')).toContain('Subject: Part 5')
    expect(text([5, 1], 'BODY')).toBe(text([5], 'TEXT'))
    for (const path of [[0], [6], [1, 1], [3, 3], [5, 2], [5, 1, 1], [3, 0]]) expect(text(path, 'BODY')).toBe(null)
    expect(text([1], 'HEADER')).toBe(null)
    expect(text([], 'MIME')).toBe(null)
    expect(partAt(index, [3])?.[4]?.length).toBe(2)
  })

  it('call the only part of a plain message 1', () => {
    const plain = outline(scanMime(Buffer.from('Subject: x\r\n\r\nbody')))
    expect(sectionRange(plain.index, [1], 'BODY')).toEqual({ start: 14, end: 18 })
    expect(sectionRange(plain.index, [1], 'MIME')).toEqual({ start: 0, end: 14 })
    expect(sectionRange(plain.index, [1, 1], 'BODY')).toBe(null)
    expect(sectionRange(plain.index, [2], 'BODY')).toBe(null)
  })
})

describe('the summary', () => {
  it('is decoded', () => {
    const { summary } = message(
      'From: =?utf-8?Q?=C3=95ie?= <a@xn--mda.ee>',
      'To: b@c.d',
      'To: e@f.g',
      'Subject: =?utf-8?Q?=C3=B5?=',
      'Message-ID:  <1@x>',
      'In-Reply-To: "Anna" <0@x>',
      'References: <a@x>',
      ' <b@x> rubbish <c@x>',
      'Date: Fri, 2 Jan 2026 03:04:05 +0000',
      'List-ID: "The =?utf-8?Q?=C3=B5?= list" <l.example.org>',
      'List-Unsubscribe: <mailto:u@x>, <https://x/',
      ' y>',
      '',
      'x',
    )
    expect(summary).toMatchObject({
      from: [{ name: 'Õie', address: 'a@õ.ee' }],
      to: [
        { name: '', address: 'b@c.d' },
        { name: '', address: 'e@f.g' },
      ],
      subject: 'õ',
      messageId: '<1@x>',
      inReplyTo: '<0@x>',
      references: ['<a@x>', '<b@x>', '<c@x>'],
      date: Date.UTC(2026, 0, 2, 3, 4, 5),
      contentType: { value: 'text/plain', params: { charset: 'us-ascii' } },
      list: {
        id: { name: 'The õ list', address: 'l.example.org' },
        unsubscribe: [
          { name: '', address: 'mailto:u@x' },
          { name: '', address: 'https://x/y' },
        ],
      },
      encrypted: false,
    })
  })

  it.each([
    ['Message-ID: <1@x>', 'In-Reply-To: 2@x', ['<2@x>']],
    ['References: 1@x, 2@x', 'In-Reply-To: <3@x>', ['<1@x>', '<2@x>']],
    ['References: of 1@x', 'In-Reply-To: anna@x wrote', []],
  ])('%s, %s: %j', (one, other, references) => {
    expect(message(one, other, '', 'x').summary.references).toEqual(references)
  })

  it('bounds references, keeping the first and the latest', () => {
    const ids = Array.from({ length: limits.mime.referencesMax + 50 }, (_, at) => `<${at}@x>`)
    const { references } = message(`References: ${ids.join(' ')}`, '', '').summary
    expect(references.length).toBe(limits.mime.referencesMax)
    expect(references[0]).toBe('<0@x>')
    expect(references.at(-1)).toBe(ids.at(-1))
  })

  it('knows encrypted messages', () => {
    const pgp = message(
      'Content-Type: multipart/encrypted; boundary=b',
      '',
      '--b',
      'Content-Type: application/pgp-encrypted',
      '',
      'Version: 1',
      '--b',
      'Content-Type: application/octet-stream; name=encrypted.asc',
      '',
      'x',
      '--b--',
    )
    expect(pgp.summary.encrypted).toBe(true)
    expect(pgp.attachments.length).toBe(2)
    expect(pgp.texts).toEqual([])
    for (const [type, encrypted] of [
      ['application/pkcs7-mime; smime-type=enveloped-data', true],
      ['application/pkcs7-mime; smime-type=authEnveloped-data', true],
      ['application/pkcs7-mime; smime-type=signed-data', false],
      ['multipart/signed; boundary=b', false],
    ] as const) {
      expect(message(`Content-Type: ${type}`, '', 'x').summary.encrypted, type).toBe(encrypted)
    }
  })
})

describe('texts and attachments', () => {
  it('are told apart', () => {
    const result = message(
      'Content-Type: multipart/mixed; boundary=m',
      '',
      '--m',
      'Content-Type: multipart/alternative; boundary=a',
      '',
      '--a',
      'Content-Type: text/plain; format=flowed; delsp=yes',
      '',
      'plain',
      '--a',
      'Content-Type: multipart/related; boundary=r',
      '',
      '--r',
      'Content-Type: text/html',
      '',
      '<img src="cid:p@q">',
      '--r',
      'Content-Type: image/png',
      'Content-ID: <p@q>',
      'Content-Transfer-Encoding: base64',
      '',
      'AAAA',
      '--r--',
      '--a--',
      '--m',
      'Content-Type: text/plain; name=notes.txt',
      '',
      'named',
      '--m',
      'Content-Type: text/plain',
      '',
      'footer',
      '--m',
      'Content-Type: message/rfc822',
      '',
      'Subject: inner',
      '',
      'not the text',
      '--m--',
    )
    expect(result.texts.map(({ kind, part, group, flowed }) => [kind, part, group, flowed])).toEqual([
      ['plain', '1.1', 1, true],
      ['html', '1.2.1', 1, false],
      ['plain', '3', 2, false],
    ])
    expect(result.attachments.map(({ info, part }) => [info.id, info.filename, part, info.related])).toEqual([
      ['ATT00001', 'attachment-1.png', '1.2.2', true],
      ['ATT00002', 'notes.txt', '2', false],
      ['ATT00003', 'attachment-3.eml', '4', false],
    ])
    expect(result.attachments[0]?.info).toEqual({
      id: 'ATT00001',
      filename: 'attachment-1.png',
      contentType: 'image/png',
      disposition: false,
      transferEncoding: 'base64',
      related: true,
      size: 4,
      sizeKb: 1,
      hash: '',
      fileContentHash: '',
      cid: 'p@q',
    })
    expect(hasAttachments(result)).toBe(true)
    expect(hasAttachments({ attachments: result.attachments.slice(0, 1) })).toBe(false)
  })
})
