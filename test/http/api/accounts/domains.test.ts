import { describe, expect, test } from 'vitest'
import { useTeal } from '../../../running.ts'
import { send } from '../mail.ts'

// Without deliveries, events gather where they can be looked at.
const running = useTeal({ webhooks: { enabled: false } })
const { call, user } = running
const nobody = '5f0000000000000000000000'

async function refusal(method: string, path: string, body?: unknown): Promise<[number, string]> {
  const answer = await call(method, path, body)
  return [answer.status, answer.body.code]
}

describe('domain aliases', () => {
  test('are made in unicode, found, listed and deleted, with events', async () => {
    const { body } = await call('POST', '/domainaliases', { alias: 'xn--jgeva-dua.EXAMPLE', domain: 'example.com' })
    const row = { id: body.id, alias: 'jõgeva.example', domain: 'example.com' }
    expect((await call('GET', `/domainaliases/${body.id}`)).body).toEqual({
      success: true,
      ...row,
      created: expect.stringMatching(/Z$/),
    })
    const resolved = await call('GET', `/domainaliases/resolve/${encodeURIComponent('jõgeva.example')}`)
    expect(resolved.body).toEqual({ success: true, id: body.id })
    expect((await call('GET', '/domainaliases?query=gev')).body).toMatchObject({
      query: 'gev',
      total: 1,
      results: [row],
    })
    expect(await refusal('POST', '/domainaliases', { alias: 'jõgeva.example', domain: 'b.example' })).toEqual([
      400,
      'AliasExists',
    ])
    expect((await call('DELETE', `/domainaliases/${body.id}`)).body).toEqual({ success: true })
    expect(await refusal('DELETE', `/domainaliases/${body.id}`)).toEqual([404, 'AliasNotFound'])
    expect(await refusal('GET', `/domainaliases/${body.id}`)).toEqual([404, 'AliasNotFound'])
    expect(await refusal('GET', '/domainaliases/resolve/un.example')).toEqual([404, 'AliasNotFound'])
    const events = await running.teal.core.read.all<{ name: string; body: string }>(
      "SELECT name, body FROM event WHERE name LIKE 'domainalias.%' ORDER BY num",
    )
    const told = { domainalias: body.id, alias: 'jõgeva.example', domain: 'example.com' }
    expect(events.map(one => [one.name, JSON.parse(one.body)])).toEqual([
      ['domainalias.created', told],
      ['domainalias.deleted', told],
    ])
  })

  test('exactly one of many wins', async () => {
    const made = await Promise.all(
      [1, 2, 3].map(n => call('POST', '/domainaliases', { alias: 'race.example', domain: `d${n}.example` })),
    )
    expect(made.map(one => one.status).sort()).toEqual([200, 400, 400])
  })

  test('are paged by name', async () => {
    for (const alias of ['p3.paged', 'p1.paged', 'p2.paged'])
      await call('POST', '/domainaliases', { alias, domain: 'x.org' })
    const page = async (query: string) => (await call('GET', `/domainaliases?query=.paged&limit=2&${query}`)).body
    const first = await page('')
    const second = await page(`next=${first.nextCursor}`)
    const names = (body: { results: { alias: string }[] }) => body.results.map(one => one.alias)
    expect([names(first), names(second)]).toEqual([['p1.paged', 'p2.paged'], ['p3.paged']])
    expect(names(await page(`previous=${second.previousCursor}`))).toEqual(names(first))
  })

  test.each([
    { alias: 'a.example' },
    { alias: 'nodots', domain: 'a.example' },
    { alias: 'a.example', domain: 'a.example' },
  ])('refuse %j', async form =>
    expect(await refusal('POST', '/domainaliases', form)).toEqual([400, 'InputValidationError']),
  )
})

describe('domain access', () => {
  test('has one entry for each tag and domain, sorted, and the later action wins', async () => {
    const put = async (action: string, domain: string) =>
      (await call('POST', `/domainaccess/Ta%20g/${action}`, { domain })).body.id
    const list = async (action: string) =>
      (await call('GET', `/domainaccess/TA%20G/${action}`)).body.results.map((one: { domain: string }) => one.domain)
    const id = await put('block', 'XN--JGEVA-DUA.ee')
    await put('block', 'b.example')
    await put('allow', 'c.example')
    expect(await list('block')).toEqual(['b.example', 'jõgeva.ee'])
    expect(await put('allow', 'jõgeva.ee')).toBe(id)
    expect(await list('block')).toEqual(['b.example'])
    expect(await list('allow')).toEqual(['c.example', 'jõgeva.ee'])
    expect((await call('DELETE', `/domainaccess/${id}`)).body).toEqual({ success: true, deleted: id })
    expect(await refusal('DELETE', `/domainaccess/${nobody}`)).toEqual([404, 'DomainNotFound'])
    expect(await refusal('POST', '/domainaccess/tag/block', { domain: 'nodots' })).toEqual([
      400,
      'InputValidationError',
    ])
  })

  test('acts at delivery, by the tags of the account in any case', async () => {
    const id = await user('tagged', { tags: ['Staff'] })
    const plain = await user('untagged')
    await call('POST', '/domainaccess/STAFF/block', { domain: 'bad.example' })
    await send(running, ['tagged@example.com', 'untagged@example.com'], 'From: x@BAD.example\nSubject: 1\n\nx\n')
    await send(running, 'tagged@example.com', 'From: x@sub.bad.example\nSubject: 2\n\nx\n')
    const counts = async (owner: string) => {
      const { results } = (await call('GET', `/users/${owner}/mailboxes?counters=true`)).body
      const total = (path: string) => results.find((one: { path: string }) => one.path === path).total
      return [total('INBOX'), total('Junk')]
    }
    expect(await counts(id)).toEqual([1, 1])
    expect(await counts(plain)).toEqual([1, 0])
  })
})
