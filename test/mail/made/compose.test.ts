import { describe, expect, it } from 'vitest'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { type ComposeInput, type ComposeOptions, compose, recipientsOf, referenceFields } from '#mail/made/compose.ts'
import { liftDataImages } from '#mail/mime/data-url.ts'
import { decodeBody } from '#mail/mime/decode.ts'
import { scanMime } from '#mail/mime/mime.ts'
import { outline } from '#mail/mime/outline.ts'
import { readText, replaceCidLinks } from '#mail/text/text.ts'

const options: ComposeOptions = { hostname: 'mail.example.org', date: Date.UTC(2026, 0, 2) }
const pixel = 'iVBORw0KGgo='

async function composed(input: ComposeInput, more: Partial<ComposeOptions> = {}) {
  const { message, ...rest } = await compose(input, { ...options, ...more })
  const tree = scanMime(message)
  const made = outline(tree)
  const text = await readText(made.texts, (start, end) => message.subarray(start, end))
  return { message: message.toString('latin1'), bytes: message, tree, ...rest, ...made, ...text }
}

describe('a composed message', () => {
  it('says what the input says', async () => {
    const { summary, text, html, attachments, message, recipients, messageId, bytes } = await composed({
      from: { name: 'Õie "O"', address: 'o@õ.ee' },
      replyTo: [{ address: 'r@x.y' }, { name: 'S', address: 's@x.y' }],
      to: [{ name: 'B, C', address: 'b@c.d' }],
      cc: [{ address: 'c@c.d' }],
      bcc: [{ address: 'z@z.z' }, { address: 'b@c.d' }],
      subject: 'tere õ',
      text: `hello\nwörld ${'x'.repeat(2000)}`,
      html: '<p>hi</p>',
      headers: [{ key: 'X-Own', value: 'y' }],
      attachments: [{ filename: 'täst.txt', contentType: 'text/plain', content: 'aGVs\nbG8=' }],
    })
    expect(summary).toMatchObject({
      from: [{ name: 'Õie "O"', address: 'o@õ.ee' }],
      replyTo: [
        { name: '', address: 'r@x.y' },
        { name: 'S', address: 's@x.y' },
      ],
      to: [{ name: 'B, C', address: 'b@c.d' }],
      cc: [{ name: '', address: 'c@c.d' }],
      bcc: [],
      subject: 'tere õ',
      messageId,
      date: options.date,
    })
    expect(messageId).toMatch(/^<[0-9a-f-]{36}@xn--mda\.ee>$/)
    expect(text).toBe(`hello\nwörld ${'x'.repeat(2000)}`)
    expect(html).toEqual(['<p>hi</p>'])
    expect(message).toContain('\r\nX-Own: y\r\n'.trimStart())
    expect(recipients).toEqual(['b@c.d', 'c@c.d', 'z@z.z'])
    const [file] = attachments
    expect(file?.info).toMatchObject({ filename: 'täst.txt', contentType: 'text/plain', disposition: 'attachment' })
    expect(decodeBody(bytes.subarray(file?.start, file?.end), 'base64').toString()).toBe('hello')
    expect(message.replaceAll('\r\n', '')).not.toMatch(/[\r\n\x80-\xff]/)
  })

  it('keeps Bcc in a draft only', async () => {
    const bcc = [{ address: 'z@z.z' }]
    expect((await composed({ bcc })).message).not.toContain('z@z.z')
    expect((await composed({ bcc }, { keepBcc: true })).summary.bcc).toEqual([{ name: '', address: 'z@z.z' }])
  })

  it('writes ids of pictures in ASCII, and links that find them', async () => {
    const pictures = ['blüte@x.y', 'plain@x.y', 'blüte', '\ud800'].map(cid => ({
      cid,
      content: '',
      contentType: 'image/png',
    }))
    const html = '<img src="cid:blüte@x.y"><img src=cid:bl%C3%BCte><img src="CID:plain@x.y"><img src="cid:other">'
    const { message, tree } = await composed({ html, attachments: pictures })
    expect(message).toMatch(/^[\x00-\x7f]*$/)
    const ids = (part: typeof tree): string[] => [...(part.id ? [part.id] : []), ...part.children.flatMap(ids)]
    expect(ids(tree)).toEqual(['bl=c3=bcte@x.y', 'plain@x.y', 'bl=c3=bcte', '=ef=bf=bd'])
    const shown = (await composed({ html, attachments: pictures })).html
    expect(shown.join('')).toBe(
      '<img src="cid:bl=c3=bcte@x.y"><img src=cid:bl=c3=bcte><img src="CID:plain@x.y"><img src="cid:other">',
    )
  })

  it('lets nothing smuggle in a header line', async () => {
    const evil = 'x\r\nInjected: y\n\nbody\0'
    const { tree } = await composed({
      from: { name: evil, address: `a@b.c${evil}` },
      to: [{ name: evil, address: `<q@b.c>${evil}` }],
      subject: evil,
      headers: [
        { key: 'X-Evil', value: evil },
        { key: `X-Key${evil}`, value: 'v' },
        { key: 'Content-Type', value: 'text/evil' },
        { key: 'Bcc', value: 'evil@x.y' },
        {},
      ],
      text: 't',
      attachments: [
        { filename: evil, cid: evil, contentType: `text/plain${evil}`, contentTransferEncoding: evil, content: '' },
      ],
    })
    const keys = (part: typeof tree): string[] => [
      ...part.header.fields.map(({ key }) => key),
      ...part.children.flatMap(keys),
    ]
    expect(keys(tree)).not.toContain('injected')
    expect(keys(tree)).not.toContain('bcc')
    expect(keys(tree).some(key => key.startsWith('x-key'))).toBe(false)
    expect(tree.header.all('content-type').length).toBe(1)
    expect(tree.header.get('x-evil')).toBe('x Injected: y body')
  })

  it('is no larger than a message may be, whatever was put into it', async () => {
    // In base64 a third longer than it is.
    const content = Buffer.alloc(limits.body.messageBytesMax * 0.8)
    await expect(compose({ attachments: [{ content }] }, options)).rejects.toMatchObject({ code: 'MessageTooLarge' })
  })

  it('answers and forwards within its thread', async () => {
    const original = { messageId: '<m@m>', references: ['<a@a>', 'rubbish'], subject: 'Orig' }
    const reply = await composed({ reference: { ...original, action: 'reply' } })
    expect(reply.summary).toMatchObject({ subject: 'Re: Orig', inReplyTo: '<m@m>', references: ['<a@a>', '<m@m>'] })
    const forward = await composed({ subject: '', reference: { ...original, action: 'forward' } })
    expect(forward.summary).toMatchObject({ subject: 'Fwd: Orig', inReplyTo: '<m@m>' })
    expect((await composed({ subject: 'Own', reference: { ...original, action: 'replyAll' } })).summary.subject).toBe(
      'Own',
    )
    const many = Array.from({ length: 300 }, (_, at) => `<${at}@x>`)
    const { references } = referenceFields({ messageId: '<m@m>', references: many })
    expect(references.length).toBe(limits.mime.referencesWrittenMax)
    expect([references[0], references.at(-1)]).toEqual(['<0@x>', '<m@m>'])
  })

  it('takes the identifiers a caller gives, as headers or by name', async () => {
    const headers = [
      { key: 'Message-ID', value: '<own@x>' },
      { key: 'In-Reply-To', value: '<p@x>' },
      { key: 'References', value: '<o@x> <p@x>' },
    ]
    expect((await composed({ headers })).summary).toMatchObject({
      messageId: '<own@x>',
      inReplyTo: '<p@x>',
      references: ['<o@x>', '<p@x>'],
    })
    expect((await composed({ headers }, { messageId: '<n@x>' })).messageId).toBe('<n@x>')
    expect((await composed({ headers: [{ key: 'message-id', value: 'rubbish' }] })).messageId).toContain(
      '@mail.example.org>',
    )
  })

  it('lifts pictures in data URLs into attachments', async () => {
    const { html, attachments } = await composed({
      from: { address: 'a@b.c' },
      html: `<p>x</p><img src="data:image/png;base64,${pixel}" />`,
    })
    expect(attachments.map(({ info }) => info)).toEqual([
      expect.objectContaining({
        id: 'ATT00001',
        filename: 'attachment-1.png',
        contentType: 'image/png',
        disposition: 'inline',
        related: true,
        transferEncoding: 'base64',
        size: pixel.length,
        cid: expect.stringMatching(/^[0-9a-f-]{36}@b\.c$/),
      }),
    ])
    expect(html.map(part => replaceCidLinks(part, attachments))).toEqual(['<p>x</p><img src="attachment:ATT00001">'])
  })

  it('refuses an encoding that is none, and reads no files', async () => {
    await expect(compose({ attachments: [{ content: 'x', encoding: 'rot13' }] }, options)).rejects.toThrow(Fault)
    const path = Object.assign({ content: '' }, { path: '/etc/passwd', href: 'http://127.0.0.1/' })
    expect((await composed({ text: 't', attachments: [path] })).message).not.toContain('root:')
  })

  it('may be empty', async () => {
    const { summary, text } = await composed({})
    expect(summary).toMatchObject({ subject: '', from: [], to: [] })
    expect(text.trim()).toBe('')
    expect(recipientsOf({})).toEqual([])
  })
})

describe('pictures in data URLs', () => {
  it('leave everything else as it was', () => {
    for (const html of [
      '',
      '<p>text</p><img src="http://x/y.png"/><image src="data:image/png;base64,AA==">',
      '<img src="data:text/html,x"><img src="data:image/png;base64,"><img src="data:image/png">',
      '<img src="data:image/png;base64,AAAA"',
      `<img alt="it's" src='data:image/png;base64,AAAA>`,
      '<img>',
    ]) {
      expect(liftDataImages(html, 'x.y')).toEqual({ html, images: [] })
    }
  })

  it('are found in any spelling, once each, under the name they are given', () => {
    const { html, images } = liftDataImages(
      `<IMG alt="a &quot;b&quot;" hidden data-filename="t/ä.png" src='data:IMAGE/png;base64,${pixel}'/><img src=data:image/svg+xml,%3Csvg/%3E>` +
        `<img src='data:IMAGE/png;base64,${pixel}'>`,
      'x.y',
    )
    expect(
      images.map(({ filename, contentType, content }) => [filename, contentType, content.toString('base64')]),
    ).toEqual([
      ['t_ä.png', 'image/png', pixel],
      ['attachment-2.svg', 'image/svg+xml', Buffer.from('<svg/>').toString('base64')],
    ])
    const [png, svg] = images
    expect(html).toBe(
      `<img alt="a &quot;b&quot;" hidden data-filename="t/ä.png" src="cid:${png?.cid}"><img src="cid:${svg?.cid}"><img src="cid:${png?.cid}">`,
    )
  })

  it('are bounded in number and linear in rubbish', () => {
    const many = Array.from(
      { length: limits.mime.inlineImagesMax + 10 },
      (_, at) => `<img src="data:image/png,${at}x">`,
    )
    expect(liftDataImages(many.join(''), 'x.y').images.length).toBe(limits.mime.inlineImagesMax)
    for (const piece of [
      '<img ',
      '<img src=',
      "<img a='",
      '<img a ',
      '<img/',
      '<img src="data:image/x,a">',
      '<img =',
    ]) {
      expect(liftDataImages(piece.repeat(1_000_000 / piece.length), 'x.y').images.length).toBeLessThan(2)
    }
  })
})
