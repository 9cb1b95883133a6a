import { describe, expect, it } from 'vitest'
import { limits } from '#lib/limits.ts'
import { type MimePart, MimeScanner, scanMime } from '#mail/mime/mime.ts'
import { Chance, corpus } from '../corpus.ts'

/** The tree without what may be shared memory. */
function plain(part: MimePart): unknown {
  const { header, children, ...rest } = part
  return { ...rest, block: header.block.toString('latin1'), children: children.map(plain) }
}

function scanChunks(chunks: Iterable<Buffer>): MimePart {
  const scanner = new MimeScanner()
  // The scanner must not hold on to what it is given.
  for (const chunk of chunks) {
    const copy = Buffer.from(chunk)
    scanner.write(copy)
    copy.fill(0x21)
  }
  return scanner.end()
}

function all(part: MimePart): MimePart[] {
  return [part, ...part.children.flatMap(all)]
}

/** What must hold for any tree of any message. */
function check(root: MimePart, bytes: Buffer): void {
  expect(root.headerStart).toBe(0)
  expect(root.bodyEnd).toBe(bytes.length)
  const parts = all(root)
  expect(parts.length).toBeLessThanOrEqual(2 * limits.mime.partsMax)
  for (const part of parts) {
    expect(part.headerStart).toBeLessThanOrEqual(part.headerEnd)
    expect(part.headerEnd).toBeLessThanOrEqual(part.bodyEnd)
    const kept = part.header.block
    expect(kept.equals(bytes.subarray(part.headerStart, part.headerStart + kept.length))).toBe(true)
    let before = part.headerEnd
    for (const child of part.children) {
      expect(child.headerStart).toBeGreaterThanOrEqual(before)
      expect(child.bodyEnd).toBeLessThanOrEqual(part.bodyEnd)
      before = child.bodyEnd
    }
    if (part.type.value.startsWith('multipart/')) expect(part.children.length).toBeGreaterThan(0)
    else if (part.type.value.startsWith('text/') || part.children.length > 0) {
      const body = bytes.toString('latin1', part.headerEnd, part.bodyEnd)
      const lines = body === '' ? 0 : body.split('\n').length - (body.endsWith('\n') ? 1 : 0)
      expect(part.lines, JSON.stringify(bytes.toString('latin1').slice(0, 2000))).toBe(lines)
    }
  }
}

function body(bytes: Buffer, part: MimePart | undefined): string {
  return part ? bytes.toString('latin1', part.headerEnd, part.bodyEnd) : 'missing'
}

function message(...lines: string[]): Buffer {
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

describe('a tree of parts', () => {
  it('has the parts of a multipart with exact offsets', () => {
    const bytes = message(
      'Content-Type: multipart/mixed; boundary=b',
      '',
      'preamble',
      '--b',
      'Content-Type: text/plain',
      '',
      'one',
      'two',
      '--b',
      '',
      '--b',
      'Content-Type: image/png',
      'Content-Transfer-Encoding: BASE64',
      'Content-ID: <a@b>',
      'Content-Disposition: Attachment; filename="a b.png"',
      '',
      'AAAA',
      '--b--',
      'epilogue',
    )
    const root = scanMime(bytes)
    check(root, bytes)
    expect(root.children.map(child => body(bytes, child))).toEqual(['one\r\ntwo', '', 'AAAA'])
    expect(root.children.map(child => child.lines)).toEqual([2, 0, 0])
    const [, , image] = root.children
    expect(image).toMatchObject({ encoding: 'base64', id: 'a@b', disposition: { value: 'attachment' } })
    expect(image?.disposition?.params).toEqual({ filename: 'a b.png' })
  })

  it('is the same with bare LF line ends', () => {
    const bytes = Buffer.from('Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b\n\ntwo\n\n--b--\n')
    const root = scanMime(bytes)
    check(root, bytes)
    expect(root.children.map(child => body(bytes, child))).toEqual(['one', 'two\n'])
  })

  it('looks into message/rfc822, and into a digest without being told', () => {
    const bytes = message(
      'Content-Type: multipart/digest; boundary=b',
      '',
      '--b',
      '',
      'Subject: inner',
      'Content-Type: multipart/alternative; boundary=c',
      '',
      '--c',
      '',
      'text',
      '--c--',
      '',
      '--b--',
    )
    const root = scanMime(bytes)
    check(root, bytes)
    const embedded = root.children[0]
    expect(embedded?.type.value).toBe('message/rfc822')
    expect(embedded?.children[0]?.header.get('subject')).toBe('inner')
    expect(body(bytes, embedded?.children[0]?.children[0])).toBe('text')
  })

  it('prefers the longest boundary where one begins another', () => {
    const bytes = message(
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: multipart/mixed; boundary=bb',
      '',
      '--bb',
      '',
      'inner',
      '--bb--',
      '--b',
      '',
      'outer',
      '--b--',
    )
    const root = scanMime(bytes)
    check(root, bytes)
    expect(body(bytes, root.children[0]?.children[0])).toBe('inner')
    expect(body(bytes, root.children[1])).toBe('outer')
  })

  it('shows a multipart without parts as one text', () => {
    for (const type of [
      'multipart/mixed',
      'multipart/mixed; boundary=""',
      'multipart/mixed; boundary=nowhere',
      'multipart',
    ]) {
      const bytes = message(`Content-Type: ${type}`, '', 'hello', '--other', 'x')
      const root = scanMime(bytes)
      check(root, bytes)
      expect(root.children.map(child => [child.type.value, body(bytes, child)])).toEqual([
        ['text/plain', 'hello\r\n--other\r\nx'],
      ])
    }
  })

  it('ends a part whose inner boundary is missing at the outer one', () => {
    const bytes = message(
      'Content-Type: multipart/mixed; boundary=outer',
      '',
      '--outer',
      'Content-Type: multipart/mixed; boundary=inner',
      '--outer',
      'X: y',
      '--outer--',
    )
    const root = scanMime(bytes)
    check(root, bytes)
    expect(root.children.map(child => child.type.value)).toEqual(['multipart/mixed', 'text/plain'])
  })

  it('takes what is no type for plain text, and a forgotten semicolon as one', () => {
    expect(scanMime(message('Content-Type: rubbish', '', 'x')).type.value).toBe('text/plain')
    const bytes = message('Content-Type: multipart/mixed boundary=b', '', '--b', '', 'x', '--b--')
    expect(body(bytes, scanMime(bytes).children[0])).toBe('x')
  })

  it('does not look into an encoded message', () => {
    const bytes = message('Content-Type: message/rfc822', 'Content-Transfer-Encoding: base64', '', 'U3ViamVjdDogeA==')
    expect(scanMime(bytes).children).toEqual([])
  })
})

describe('any chunking', () => {
  const chance = new Chance()

  it(`gives the same tree over the corpus (seed ${chance.seed})`, () => {
    for (const { name, bytes } of corpus()) {
      const whole = scanMime(bytes)
      check(whole, bytes)
      for (let round = 0; round < 3; round++) {
        expect(plain(scanChunks(chance.chunks(bytes))), `${name}, seed ${chance.seed}`).toEqual(plain(whole))
      }
    }
  })

  it(`gives the same tree for line ends of every kind (seed ${chance.seed})`, () => {
    for (const { name, bytes } of corpus().filter(({ bytes }) => bytes.length < 6000)) {
      const text = bytes.toString('latin1').replaceAll('\r\n', '\n')
      for (const end of ['\n', '\r\n', '\r\r\n', '\r', '\n\n', '\0\n']) {
        const changed = Buffer.from(text.replaceAll('\n', end), 'latin1')
        const whole = scanMime(changed)
        check(whole, changed)
        expect(plain(scanChunks(chance.chunks(changed))), `${name}, seed ${chance.seed}`).toEqual(plain(whole))
      }
    }
  })

  it(`gives the same tree for rubbish made of MIME's own pieces (seed ${chance.seed})`, () => {
    const pieces = [
      '--',
      '--b',
      '--bb',
      '--b--',
      '--bb--',
      '\r\n',
      '\n',
      '\r',
      '-',
      'b',
      ' ',
      'x\r\n',
      '\r\n\r\n',
      '\n--b\n',
    ]
    const heads = [
      'multipart/mixed; boundary=b',
      'multipart/digest;boundary=bb',
      'message/rfc822',
      'text/plain',
      'image/x\r\nContent-Transfer-Encoding: base64',
    ]
    for (const head of heads) pieces.push(`Content-Type: ${head}\r\n\r\n`, `Content-Type: ${head}\n`)
    for (let round = 0; round < 1500; round++) {
      let text = 'Content-Type: multipart/mixed; boundary=b\r\n\r\n'
      for (let count = chance.below(40); count > 0; count--) text += chance.pick(pieces)
      const bytes = Buffer.from(text)
      const whole = scanMime(bytes)
      check(whole, bytes)
      expect(plain(scanChunks(chance.chunks(bytes))), `seed ${chance.seed}: ${JSON.stringify(text)}`).toEqual(
        plain(whole),
      )
    }
  })
})

describe('limits', () => {
  it('keep 10,000 nested parts to depthMax and everything else inside them', () => {
    const bytes = Buffer.from(
      Array.from(
        { length: 10_000 },
        (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\r\n\r\n--b${at}\r\n`,
      ).join(''),
    )
    const root = scanMime(bytes)
    check(root, bytes)
    let depth = 0
    for (let part: MimePart | undefined = root; part; part = part.children[0]) depth++
    expect(depth).toBe(limits.mime.depthMax + 1)
  })

  it('make the rest one part past partsMax', () => {
    const bytes = Buffer.from(
      `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(5000)}--b--\r\n`,
    )
    const root = scanMime(bytes)
    check(root, bytes)
    expect(all(root).length).toBe(limits.mime.partsMax)
    expect(root.children.at(-1)?.bodyEnd).toBe(bytes.length)
  })

  it('keep the start of a huge header and true offsets behind it', () => {
    const bytes = Buffer.from(`Subject: first\r\nX: ${'y'.repeat(2 ** 20)}\r\nContent-Type: image/png\r\n\r\nbody`)
    for (const root of [scanMime(bytes), scanChunks([bytes.subarray(0, 100_001), bytes.subarray(100_001)])]) {
      check(root, bytes)
      expect(root.header.block.length).toBe(limits.mime.headerBytesMax)
      expect(body(bytes, root)).toBe('body')
      expect(root.header.get('subject')).toBe('first')
    }
  })

  it('bound the header bytes of all parts together', () => {
    const part = `--b\r\nX: ${'y'.repeat(200_000)}\r\n\r\n\r\n`
    const bytes = Buffer.from(`Content-Type: multipart/mixed; boundary=b\r\n\r\n${part.repeat(30)}--b--`)
    const root = scanChunks([bytes])
    check(root, bytes)
    const kept = all(root).reduce((sum, { header }) => sum + header.block.length, 0)
    expect(kept).toBe(limits.mime.headersBytesMax)
    expect(root.children.length).toBe(30)
  })

  it('take a multipart with an over-long boundary as text', () => {
    const boundary = 'b'.repeat(limits.mime.boundaryLengthMax + 1)
    const root = scanMime(message(`Content-Type: multipart/mixed; boundary=${boundary}`, '', `--${boundary}`, '', 'x'))
    expect(root.children.map(child => child.type.value)).toEqual(['text/plain'])
  })
})
