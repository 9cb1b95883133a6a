import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { type FileRow, fileInsert } from '#store/accounts/file.ts'
import { usageAdd } from '#store/accounts/users.ts'
import { bodyRetain } from '#store/bodies/writes.ts'
import { operation } from '#store/engine/write.ts'
import { useTeal } from '../../../running.ts'

const running = useTeal()
const { call, raw, user } = running

const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

async function stored(id: string, query: string, init: RequestInit): Promise<string> {
  const response = await raw('POST', `/users/${id}/storage${query}`, init)
  const body = (await response.json()) as { id: string }
  expect(body).toEqual({ success: true, id: expect.stringMatching(/^[0-9a-f]{24}$/) })
  return body.id
}

async function content(id: string, file: string): Promise<Buffer> {
  const response = await raw('GET', `/users/${id}/storage/${file}`)
  expect(response.status).toBe(200)
  return Buffer.from(await response.arrayBuffer())
}

describe('upload', () => {
  test.each(['image/png', 'application/octet-stream', 'text/plain', 'message/rfc822', 'application/x-unheard-of'])(
    'takes raw bytes of type %s',
    async type => {
      const id = await user(`raw-${type.replace(/[^a-z]/g, '-')}`)
      const bytes = Buffer.concat([picture, Buffer.from('From: a\r\n\r\n--x\r\n')])
      const file = await stored(id, '?filename=my%20file.bin&contentType=image/gif&cid=logo@x', {
        headers: { 'content-type': type },
        body: bytes,
      })
      expect(await content(id, file)).toEqual(bytes)
      const { results } = (await call('GET', `/users/${id}/storage`)).body
      expect(results).toEqual([
        {
          id: file,
          filename: 'my file.bin',
          contentType: 'image/gif',
          cid: 'logo@x',
          size: bytes.length,
          created: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      ])
    },
  )

  test('takes base64 and text in JSON, and parts of a form', async () => {
    const id = await user('forms')
    const base64 = await call('POST', `/users/${id}/storage`, {
      content: picture.toString('base64'),
      encoding: 'base64',
      contentType: 'image/png',
    })
    expect(await content(id, base64.body.id)).toEqual(picture)
    const plain = await call('POST', `/users/${id}/storage`, { content: 'ünicode', filename: 'a.txt' })
    expect((await content(id, plain.body.id)).toString()).toBe('ünicode')
    const form = new FormData()
    form.set('content', new Blob([picture]), 'part.png')
    form.set('filename', 'part.png')
    const multipart = await stored(id, '', { body: form })
    expect(await content(id, multipart)).toEqual(picture)
    const names = (await call('GET', `/users/${id}/storage`)).body.results.map(
      (one: { filename: string; contentType: string }) => [one.filename, one.contentType],
    )
    expect(names).toEqual([
      ['a.txt', 'text/plain'],
      ['part.png', 'image/png'],
      [expect.stringMatching(/^upload-\d{4}-\d\d-\d\d\.png$/), 'image/png'],
    ])
  })

  test('streams what does not fit into memory and gives it back whole', async () => {
    const id = await user('large')
    const bytes = Buffer.alloc(5_000_000)
    for (let at = 0; at < bytes.length; at++) bytes[at] = (at * 2_654_435_761) >>> 24
    const file = await stored(id, '?filename=large', { headers: { 'content-type': 'application/zip' }, body: bytes })
    const hash = (data: Buffer) => createHash('sha256').update(data).digest('hex')
    expect(hash(await content(id, file))).toBe(hash(bytes))
  })

  test('refuses what is empty, malformed, too large or for nobody', async () => {
    const id = await user('refused')
    const code = async (path: string, body: unknown) => {
      const answer = await call('POST', path, body)
      return [answer.status, answer.body.code]
    }
    const path = `/users/${id}/storage`
    expect(await code(path, {})).toEqual([400, 'InputValidationError'])
    expect(await code(path, { content: '' })).toEqual([400, 'InputValidationError'])
    expect(await code(path, { content: '%%%', encoding: 'base64' })).toEqual([400, 'InputValidationError'])
    expect(await code(path, { content: 'x', encoding: 'hex' })).toEqual([400, 'InputValidationError'])
    expect(await code(path, { content: 'x', contentType: 'text/html\r\nx: y' })).toEqual([400, 'InputValidationError'])
    expect(await code('/users/5f0000000000000000000000/storage', { content: 'x' })).toEqual([404, 'UserNotFound'])
    const large = Buffer.alloc(limits.storage.fileBytesMax + 1)
    const response = await raw('POST', path, { headers: { 'content-type': 'image/png' }, body: large })
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([413, 'BodyTooLarge'])
  })

  test('counts against the quota and gives it back', async () => {
    const id = await user('full', { quota: 10_000 })
    const used = async () => (await call('GET', `/users/${id}`)).body.limits.quota.used
    const first = await call('POST', `/users/${id}/storage`, { content: 'x'.repeat(6000) })
    expect(await used()).toBe(6000)
    const second = await call('POST', `/users/${id}/storage`, { content: 'y'.repeat(6000) })
    expect([second.status, second.body.code]).toEqual([400, 'OverQuotaError'])
    expect((await call('DELETE', `/users/${id}/storage/${first.body.id}`)).body).toEqual({ success: true })
    expect(await used()).toBe(0)
  })
})

test('an account has no more files than it may have', async () => {
  const id = await user('packed', { quota: 1_000_000_000 })
  await call('POST', `/users/${id}/storage`, { content: 'x' })
  const { read, writer } = running.teal.core
  const first = await read.one<FileRow>('SELECT * FROM file WHERE user = (SELECT num FROM user WHERE id = ?)', id)
  if (first === undefined) throw new Error('no file')
  const more = limits.storage.filesMax - 1
  const copies = Array.from({ length: more }, () => [
    operation(bodyRetain, { num: first.body }),
    operation(fileInsert, { ...first, id: newId() }),
  ])
  const usage = operation(usageAdd, { user: first.user, storage: more * first.size, modseq: 0 })
  await writer.submit({ partition: 0, epoch: 0, operations: [...copies.flat(), usage], bytes: 0 })
  const refused = await call('POST', `/users/${id}/storage`, { content: 'x' })
  expect([refused.status, refused.body.code]).toEqual([403, 'TooManyFiles'])
  expect((await call('GET', `/users/${id}/storage`)).body.total).toBe(limits.storage.filesMax)
})

describe('download', () => {
  test('has type, length, name and Content-ID, and never opens as a page', async () => {
    const id = await user('headers')
    const form = { content: '<script>1</script>', filename: 'tüst "a".html', contentType: 'text/html', cid: '<pic@x>' }
    const { body } = await call('POST', `/users/${id}/storage`, form)
    const response = await raw('GET', `/users/${id}/storage/${body.id}`)
    await response.text()
    const header = (name: string) => response.headers.get(name)
    expect(header('content-type')).toBe('text/html')
    expect(header('content-length')).toBe(String(form.content.length))
    expect(header('content-disposition')).toBe(
      `attachment; filename="t_st _a_.html"; filename*=UTF-8''t%C3%BCst%20_a_.html`,
    )
    expect(header('content-id')).toBe('<pic@x>')
    expect(header('x-content-type-options')).toBe('nosniff')
    expect(header('content-security-policy')).toContain('sandbox')
  })

  test('has one name whatever was given, and a type on one line', async () => {
    const id = await user('names')
    const { body } = await call('POST', `/users/${id}/storage`, { content: 'x', filename: '../..\\é\r\nx.txt' })
    const response = await raw('GET', `/users/${id}/storage/${body.id}`)
    const disposition = `attachment; filename="__..____x.txt"; filename*=UTF-8''__.._%C3%A9__x.txt`
    expect(response.headers.get('content-disposition')).toBe(disposition)
    const type = 'text/html\r\n\r\n;x'
    const refused = await call('POST', `/users/${id}/storage`, { content: 'x', contentType: type })
    expect(refused).toMatchObject({ status: 400, body: { details: { contentType: expect.any(String) } } })
  })

  test('serves ranges', async () => {
    const id = await user('ranges')
    const { body } = await call('POST', `/users/${id}/storage`, { content: '0123456789' })
    const part = async (range: string) => {
      const response = await raw('GET', `/users/${id}/storage/${body.id}`, { headers: { range } })
      return [response.status, await response.text(), response.headers.get('content-range')]
    }
    expect(await part('bytes=2-4')).toEqual([206, '234', 'bytes 2-4/10'])
    expect(await part('bytes=-3')).toEqual([206, '789', 'bytes 7-9/10'])
    expect(await part('bytes=0-1,3-4')).toEqual([200, '0123456789', null])
    const [status, text] = await part('bytes=10-')
    expect([status, JSON.parse(String(text)).code]).toEqual([416, 'RangeNotSatisfiable'])
  })

  test('is not sent again to who has it', async () => {
    const id = await user('known')
    const { body } = await call('POST', `/users/${id}/storage`, { content: '0123456789' })
    const path = `/users/${id}/storage/${body.id}`
    const etag = (await raw('GET', path)).headers.get('etag') ?? ''
    const asked = async (headers: Record<string, string>) => {
      const response = await raw('GET', path, { headers })
      return [response.status, response.headers.get('etag'), await response.text()]
    }
    expect(await asked({ 'if-none-match': etag })).toEqual([304, etag, ''])
    expect(await asked({ 'if-none-match': `"other", W/${etag}`, range: 'bytes=0-1' })).toEqual([304, etag, ''])
    expect(await asked({ 'if-none-match': '*' })).toEqual([304, etag, ''])
    expect(await asked({ 'if-none-match': '"other"', range: 'bytes=0-1' })).toEqual([206, etag, '01'])
  })

  test('a file of somebody else is not there', async () => {
    const [mine, other] = [await user('mine'), await user('other')]
    const { body } = await call('POST', `/users/${mine}/storage`, { content: 'secret' })
    for (const method of ['GET', 'DELETE']) {
      const answer = await call(method, `/users/${other}/storage/${body.id}`)
      expect([answer.status, answer.body.code]).toEqual([404, 'FileNotFound'])
    }
    expect((await call('GET', `/users/${mine}/storage/123`)).status).toBe(400)
    expect((await call('GET', `/users/${mine}/storage?limit=1000`)).status).toBe(400)
  })
})

test('the list is searched and paged by name', async () => {
  const id = await user('paged')
  for (const name of ['b.txt', 'a.txt', 'a.txt', 'c.png']) {
    await call('POST', `/users/${id}/storage`, { content: name, filename: name })
  }
  const page = async (query: string) => (await call('GET', `/users/${id}/storage?${query}`)).body
  const names = (body: { results: { filename: string }[] }) => body.results.map(one => one.filename)
  const first = await page('limit=2')
  expect(first).toMatchObject({ total: 4, page: 1, previousCursor: false })
  expect(names(first)).toEqual(['a.txt', 'a.txt'])
  const second = await page(`limit=2&next=${first.nextCursor}`)
  expect(names(second)).toEqual(['b.txt', 'c.png'])
  expect(second).toMatchObject({ page: 2, nextCursor: false })
  expect((await page(`limit=2&previous=${second.previousCursor}`)).results).toEqual(first.results)
  expect(await page('query=.png')).toMatchObject({ total: 1, query: '.png', results: [{ filename: 'c.png' }] })
  expect((await page('query=.PNG')).total).toBe(0)
})
