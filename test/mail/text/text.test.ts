import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { limits } from '#lib/limits.ts'
import { decodeBody, decoder, decodeStream, hashBody, hashShort } from '#mail/mime/decode.ts'
import { scanMime } from '#mail/mime/mime.ts'
import { outline } from '#mail/mime/outline.ts'
import { textFromHtml } from '#mail/text/html.ts'
import { htmlFromText, intro, type MessageText, readText, replaceCidLinks } from '#mail/text/text.ts'
import { Chance, corpus, sample } from '../corpus.ts'

function textOf(bytes: Buffer, bytesMax?: number): Promise<MessageText> {
  return readText(outline(scanMime(bytes)).texts, (start, end) => bytes.subarray(start, end), bytesMax)
}

function alternative(...parts: [type: string, body: string][]): string {
  return `Content-Type: multipart/alternative; boundary=a\r\n\r\n${parts
    .map(([type, body]) => `--a\r\nContent-Type: ${type}\r\n\r\n${body}\r\n`)
    .join('')}--a--\r\n`
}

describe('the text of a message', () => {
  it('is read for every message of the corpus', async () => {
    for (const { name, bytes } of corpus()) {
      const { text, html } = await textOf(bytes)
      expect(text.length + html.join('').length, name).toBeLessThan(2 * bytes.length + 10_000)
      expect(intro(text).length).toBeLessThanOrEqual(limits.mime.introLengthMax)
    }
  })

  it('is decoded from its character set and encoding', async () => {
    expect((await textOf(sample('mail-gem/multi_charset-japanese_iso_2022.eml'))).text).toContain('すみません。')
    expect((await textOf(sample('mime4j/qp-body.eml'))).text).toContain('€')
    const bytes = Buffer.from('Content-Type: text/html\r\n\r\n<meta charset="koi8-r"><p>\xd0</p>', 'latin1')
    expect((await textOf(bytes)).html).toEqual(['<meta charset="koi8-r"><p>п</p>'])
  })

  it('has the plain form for text and the HTML form for html', async () => {
    const both = await textOf(Buffer.from(alternative(['text/plain', 'hello'], ['text/html', '<b>hello</b>'])))
    expect(both).toEqual({ text: 'hello', html: ['<b>hello</b>'] })
    expect(await textOf(Buffer.from(alternative(['text/html', '<p>a</p><p>b &amp; c</p>'])))).toEqual({
      text: 'a\n\nb & c',
      html: ['<p>a</p><p>b &amp; c</p>'],
    })
    expect(await textOf(Buffer.from('\r\njust <text>'))).toEqual({
      text: 'just <text>',
      html: ['<p>just &lt;text&gt;</p>'],
    })
  })

  it('shows what stands beside the HTML in both forms', async () => {
    const bytes = Buffer.from(
      `Content-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\nContent-Type: text/html\r\n\r\n<p>a</p>\r\n--m\r\n\r\n1 < 2\r\n--m--`,
    )
    expect(await textOf(bytes)).toEqual({ text: 'a\n1 < 2', html: ['<p>a</p>', '<p>1 &lt; 2</p>'] })
  })

  it('joins flowed lines', async () => {
    const bytes = Buffer.from(
      'Content-Type: text/plain; format=flowed; delsp=yes\r\n\r\none \r\ntwo\r\n>> three \r\n> four\r\n-- \r\nsig \r\n',
    )
    expect((await textOf(bytes)).text).toBe('onetwo\n>> three\n> four\n-- \nsig')
  })

  it('is bounded, and so is what is read', async () => {
    const bytes = Buffer.from(`\r\n${'x'.repeat(10_000)}`)
    let most = 0
    const read = (start: number, end: number) => {
      most = Math.max(most, end - start)
      return bytes.subarray(start, end)
    }
    const { text } = await readText(outline(scanMime(bytes)).texts, read, 1000)
    expect(text.length).toBe(1000)
    expect(most).toBeLessThanOrEqual(4000)
  })
})

describe('HTML to text', () => {
  it('keeps what a reader sees', () => {
    for (const [html, text] of [
      ['<head><title>x</title><style>p{}</style></head><body><p>Hello&nbsp;<b>Wor</b>ld</p>', 'Hello World'],
      ['<ul><li>a<li>b</ul>c', '- a\n- b\n\nc'],
      ['a<br>b<BR/>c<br><br><br>d', 'a\nb\nc\n\nd'],
      ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
      ['1 < 2 <3 &lt;b&gt; &#8364;&#x20ac;&euro;&#128; &bogus; &#0;', '1 < 2 <3 <b> €€€€ &bogus; \ufffd'],
      ['a<!-- b -->c<script>d</script>e<!doctype html>f', 'acef'],
      ['a<script>b', 'a'],
      ['a<svg>b', 'ab'],
      ['  a \n\t b  ', 'a b'],
      ['', ''],
    ] as const) {
      expect(textFromHtml(html), html).toBe(text)
    }
  })

  it('is linear in rubbish', () => {
    // Would take minutes if any of these were quadratic; the suite's time-out is the judge.
    for (const piece of [
      '<',
      '<b> </b>',
      '<svg>',
      '<a ',
      '<!--',
      '&',
      '<script>',
      '&nbsp',
      '<br>',
      ' ',
      '<li>',
      '</',
      '<p>x',
      '&#',
      '<select><svg>',
    ]) {
      expect(textFromHtml(piece.repeat(1_000_000 / piece.length)).length).toBeLessThan(3_000_000)
    }
  })
})

describe('previews and links', () => {
  it('are short, on one line and without quotes', () => {
    expect(intro('> quoted\n  Hello,\r\n\tworld\u200b ')).toBe('Hello, world')
    const long = intro('wörd '.repeat(200))
    expect(long.length).toBeLessThanOrEqual(limits.mime.introLengthMax)
    expect(long).toMatch(/wörd…$/)
    expect(intro('😀'.repeat(300)).isWellFormed()).toBe(true)
    expect(intro('')).toBe('')
  })

  it('to attachments by Content-ID are replaced, others stay', () => {
    const attachments = [{ info: { ...image, id: 'ATT00001', cid: 'a+b@c' } }]
    const html = '<img src="cid:a+b@c"><img src=\'CID:a%2Bb@c\'><img src=cid:other><img src="cid:%E0">'
    expect(replaceCidLinks(html, attachments)).toBe(
      '<img src="attachment:ATT00001"><img src=\'attachment:ATT00001\'><img src=cid:other><img src="cid:%E0">',
    )
    expect(replaceCidLinks('"cid:a+b@c"', attachments, id => `/x/${id}`)).toBe('"/x/ATT00001"')
    expect(replaceCidLinks(html, [])).toBe(html)
    const both = [{ info: { ...image, id: 'ATT00001', cid: 'a&b@c' } }]
    expect(replaceCidLinks('"cid:a&amp;b@c" "cid:a%26b@c" "cid:a&b@c"', both, id => id)).toBe(
      '"ATT00001" "ATT00001" "ATT00001"',
    )
  })

  it('text becomes paragraphs', () => {
    expect(htmlFromText('a\r\nb & <c>\r\n\r\nd')).toBe('<p>a<br/>b &amp; &lt;c&gt;</p><p>d</p>')
  })
})

const image = {
  filename: 'x',
  contentType: 'image/png',
  disposition: 'inline',
  transferEncoding: 'base64',
  related: true,
  size: 0,
  sizeKb: 0,
  hash: '',
  fileContentHash: '',
}

describe('transfer encodings', () => {
  const chance = new Chance()

  it('come off what is not quite right', () => {
    const text = (body: string, encoding: string) =>
      decodeBody(Buffer.from(body, 'latin1'), encoding).toString('latin1')
    expect(text('QUI=\r\nQUJD\r\n', 'base64')).toBe('ABABC')
    expect(text('QU!JD \xe4 QUJ', 'base64')).toBe('ABCAB')
    expect(text('QU-J_D', 'base64')).toBe('ABC')
    expect(text('a=3Db=3d=\r\nc= \t\nd=\n=ZZ=', 'quoted-printable')).toBe('a=b=cd=ZZ')
    expect(text('a=', 'quoted-printable')).toBe('a')
    expect(text('a=4', 'quoted-printable')).toBe('a=4')
    expect(text('=41=42', '8bit')).toBe('=41=42')
    expect(text('x\nbegin 644 a.txt\n#86)C\n`\nend\ny', 'x-uuencode')).toBe('abc')
  })

  it('leave no white space at line ends of quoted-printable (RFC 2045 6.7)', () => {
    const text = (body: string) => decodeBody(Buffer.from(body, 'latin1'), 'quoted-printable').toString('latin1')
    expect(text('a \t \r\nb\t\nc =20\r\nd=\t \r\n e =\r\n f  ')).toBe('a\r\nb\nc  \r\nd e  f')
    expect(text(' \r\n\t\r\n \r x \ry')).toBe('\r\n\r\n \r x \ry')
    expect(text('=e4=C3=\r\n=ab=aG=')).toBe('\xe4\xc3\xab=aG')
    expect(text('two  words\t and  = signs')).toBe('two  words\t and  = signs')
    // Nobody wrote that by accident.
    expect(text(`a${' '.repeat(5000)}\r\n`)).toBe(`a${' '.repeat(5000)}\r\n`)
  })

  it(`come off in any chunks as at once (seed ${chance.seed})`, () => {
    const pieces = [
      '=',
      '4',
      '1',
      '=41',
      '=\r\n',
      '= \n',
      'QUJD',
      '-_',
      'Q',
      '==',
      '\r\n',
      ' ',
      '=3',
      'x',
      '\t',
      '\r',
      'begin 644 a\n',
      '#86)C\n',
      'end\n',
      ' '.repeat(700),
    ]
    for (let round = 0; round < 1500; round++) {
      const bytes = Buffer.from(Array.from({ length: chance.below(40) }, () => chance.pick(pieces)).join(''))
      for (const encoding of ['base64', 'quoted-printable', 'x-uuencode', '7bit']) {
        const decoding = decoder(encoding)
        const out = chance.chunks(bytes).map(chunk => decoding.write(chunk))
        const whole = decodeBody(bytes, encoding)
        expect(Buffer.concat([...out, decoding.end()]).toString('latin1'), `${encoding} seed ${chance.seed}`).toBe(
          whole.toString('latin1'),
        )
      }
    }
  })

  it('come off as a stream, and give the hashes of both forms', async () => {
    const encoded = Buffer.from(Buffer.from('hello world').toString('base64'))
    const stream = decodeStream('base64')
    stream.write(encoded.subarray(0, 5))
    stream.end(encoded.subarray(5))
    expect(Buffer.concat(await stream.toArray()).toString()).toBe('hello world')
    const message = Buffer.concat([Buffer.from('xx'), encoded])
    const read = (start: number, end: number) => message.subarray(start, end)
    const blank = { transferEncoding: 'base64', hash: '', fileContentHash: '' }
    const inPieces = { ...blank }
    const inOne = { ...blank }
    await hashBody(read, 2, message.length, inPieces)
    hashShort(encoded, inOne)
    expect(inPieces).toEqual({
      transferEncoding: 'base64',
      hash: createHash('sha256').update(encoded).digest('hex'),
      fileContentHash: 'uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=',
    })
    expect(inOne).toEqual(inPieces)
  })
})
