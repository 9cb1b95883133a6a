// What is taken out of messages and put into them: attachments as they are served, bounds of HTML, what replaces what.

import { expect, test } from 'vitest'
import { useTeal } from '../../../running.ts'
import { account, mail } from '../mail-world.ts'

const service = useTeal()

const parts = [
  ['text/html; charset=iso-8859-1', 'inline; filename="page.html"', Buffer.from('<script>caf\xe9</script>', 'latin1')],
  ['text/plain; charset=koi8-r', 'attachment; filename="old.txt"', Buffer.from([0xf0, 0xd2, 0xc9])],
  ['application/pdf', 'inline; filename="a.pdf"', Buffer.from('%PDF-')],
] as const

function withParts(): string {
  const bodies = parts.map(
    ([type, disposition, bytes]) =>
      `--b\r\nContent-Type: ${type}\r\nContent-Disposition: ${disposition}\r\nContent-Transfer-Encoding: base64\r\n\r\n${bytes.toString('base64')}\r\n`,
  )
  const head = 'From: a@example.net\r\nSubject: parts\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n'
  return `${head}--b\r\nContent-Type: text/plain\r\n\r\ntext\r\n${bodies.join('')}--b--\r\n`
}

test('an attachment is served as its bytes, as text where that is asked for, and never as a page', async () => {
  const user = await account(service, 'parts')
  const id = await user.put('INBOX', { raw: withParts() })
  const path = `/users/${user.id}/mailboxes/${user.box('INBOX')}/messages/${id}/attachments`
  const get = async (name: string) => {
    const response = await service.raw('GET', `${path}/${name}`)
    const header = (key: string) => response.headers.get(key)
    const body = Buffer.from(await response.arrayBuffer())
    return { body, type: header('content-type'), policy: header('content-security-policy') }
  }
  for (const [at, [type, , bytes]] of parts.entries()) {
    const { body, type: served, policy } = await get(`ATT0000${at + 1}`)
    expect(body.equals(bytes)).toBe(true)
    expect(served).toBe(type.split(';')[0])
    // A sandbox would keep a browser's viewer from showing a PDF.
    expect(policy?.includes('sandbox') ?? false).toBe(served !== 'application/pdf')
  }
  const page = await get('ATT00001?sendAsString=true')
  expect([page.type, page.body.toString()]).toEqual(['text/html; charset=utf-8', '<script>café</script>'])
  const old = await get('ATT00002?sendAsString=yes')
  expect([old.type, old.body.toString()]).toEqual(['text/plain; charset=utf-8', 'При'])
  const pdf = await get('ATT00003?sendAsString=1')
  expect([pdf.type, pdf.body.toString()]).toEqual(['application/pdf', '%PDF-'])
})

test('a name without end keeps nobody from an attachment', async () => {
  const user = await account(service, 'endless')
  const name = 'x'.repeat(100_000)
  const raw = `Content-Type: a/${name}\r\nContent-Disposition: attachment; filename="${name}.pdf"\r\n\r\nabc`
  const id = await user.put('INBOX', { raw })
  const path = `/users/${user.id}/mailboxes/${user.box('INBOX')}/messages/${id}/attachments/ATT00001`
  const response = await service.raw('GET', path)
  expect(await response.text()).toBe('abc')
  expect(response.headers.get('content-type')).toBe('application/octet-stream')
  expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${'x'.repeat(251)}.pdf"`)
})

test('a download has the name that is listed, fit for any disk, and what its sender wrote where that says the same', async () => {
  const user = await account(service, 'called')
  const turned = Buffer.from('x\u202egnp.exe').toString('base64')
  const cases = [
    ["inline; filename*0*=utf-8''t%C3%A4st; filename*1=.txt", undefined],
    ['attachment; filename="a (1).txt"; size=1', undefined],
    ['attachment', undefined],
    ['inline; filename="x\u202egnp.exe"', 'inline; filename="x_gnp.exe"'],
    ["attachment; filename*=UTF-8''x%E2%81%A6gnp.exe", 'attachment; filename="x_gnp.exe"'],
    [`attachment; filename="=?utf-8?B?${turned}?="`, 'attachment; filename="x_gnp.exe"'],
    ['attachment; filename="../../a.txt"', 'attachment; filename="a.txt"'],
    ['attachment; filename*0="..\\\\"; filename*1="a.txt"', 'attachment; filename="a.txt"'],
    ['attachment; filename="con.txt"', 'attachment; filename="_con.txt"'],
    ['attachment; filename="a%2fb.txt"', `attachment; filename="a_2fb.txt"; filename*=UTF-8''a%252fb.txt`],
    [`attachment; filename="a.exe"; filename*=UTF-8''b.pdf`, 'attachment; filename="b.pdf"'],
    ['attachment; filename=a b.txt', 'attachment; filename="a b.txt"'],
    [
      'attachment; filename="tä\u200cst.txt"',
      `attachment; filename="t__st.txt"; filename*=UTF-8''t%C3%A4%E2%80%8Cst.txt`,
    ],
    [`attachment; filename="${'x'.repeat(300)}.txt"`, `attachment; filename="${'x'.repeat(251)}.txt"`],
  ] as const
  const parts = cases.map(([given]) => `--b\r\nContent-Disposition: ${given}\r\nContent-Type: a/b\r\n\r\nx\r\n`)
  const head = 'From: a@example.net\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n'
  const id = await user.put('INBOX', { raw: `${head}${parts.join('')}--b--\r\n` })
  const path = `/users/${user.id}/mailboxes/${user.box('INBOX')}/messages/${id}/attachments`
  for (const [at, [given, served = given]] of cases.entries()) {
    const response = await service.raw('GET', `${path}/ATT${String(at + 1).padStart(5, '0')}`)
    expect([await response.text(), response.headers.get('content-disposition')]).toEqual(['x', served])
  }
})

test('HTML may be large for its pictures only', async () => {
  const user = await account(service, 'large')
  const messages = `/mailboxes/${user.box('INBOX')}/messages`
  const long = 'x'.repeat(1024 * 1024)
  const refused = await user.call('POST', messages, mail('long', 'x', { html: `<p>${long}</p>` }))
  expect(refused).toMatchObject({ status: 400, body: { code: 'InputValidationError', details: { html: /length/ } } })
  const sent = await user.call('POST', '/submit', { ...mail('long', 'x'), html: `<p>${long}</p>` })
  expect(sent.body.code).toBe('InputValidationError')
  const picture = `<img src="data:image/png;base64,${'A'.repeat(2 * 1024 * 1024)}">`
  expect((await user.call('POST', messages, mail('picture', 'x', { html: picture }))).status).toBe(200)
})

test('no field of an attachment breaks out of its header', async () => {
  const user = await account(service, 'breaker')
  const attachment = {
    ...{ filename: 'a\r\nX-Evil: 1.txt', contentType: 'text/plain\r\n\r\n;x-evil=2', cid: 'c\r\nX-Evil: 3' },
    content: 'aGVsbG8=',
  }
  const id = await user.put('INBOX', mail('s\r\nX-Evil: 4', 'x', { attachments: [attachment] }))
  const source = await service.raw('GET', `/users/${user.id}/mailboxes/${user.box('INBOX')}/messages/${id}/message.eml`)
  const text = await source.text()
  expect(text).not.toMatch(/^x-evil/im)
  expect(text).not.toMatch(/evil=/)
})

test('what is replaced and was no draft is archived like anything that is deleted', async () => {
  const user = await account(service, 'replacer')
  const box = user.box('INBOX')
  const first = await user.put('INBOX', mail('kept', 'x'))
  const { body } = await user.call('POST', `/mailboxes/${box}/messages`, {
    ...mail('new', 'y'),
    replacePrevious: { id: first },
  })
  expect(body).toMatchObject({ success: true, previousDeleted: true })
  const second = await user.put('INBOX', mail('sent over', 'x'))
  await user.call('POST', '/submit', { ...mail('sent', 'y'), draft: { mailbox: box, id: second } })
  const archived = (await user.call('GET', '/archived/messages')).body.results
  expect(archived.map((row: { subject: string }) => row.subject).sort()).toEqual(['kept', 'sent over'])
})

test('what is said of a message in the call that moves it holds where it comes to', async () => {
  const user = await account(service, 'mover')
  const id = await user.put('INBOX', mail('m', 'x'))
  const expires = '2040-01-02T03:04:05.000Z'
  const change = { moveTo: user.box('Trash'), expires, metaData: { a: 1 }, seen: false }
  const { body } = await user.call('PUT', `/mailboxes/${user.box('INBOX')}/messages/${id}`, change)
  const moved = `/mailboxes/${user.box('Trash')}/messages/${body.id[0][1]}`
  expect((await user.call('GET', moved)).body).toMatchObject({ expires, metaData: { a: 1 }, seen: false })
})

test('of those who move the same message at once, one is told that it moved', async () => {
  const user = await account(service, 'racer')
  const box = user.box('INBOX')
  for (let round = 0; round < 5; round++) {
    const id = await user.put('INBOX', mail('race', 'x'))
    const to = ['Junk', 'Trash', 'Drafts'].map(path => user.box(path))
    const moves = to.map(moveTo => user.call('PUT', `/mailboxes/${box}/messages/${id}`, { moveTo }))
    const answers = await Promise.all(moves)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404])
  }
})
