import { describe, expect, test } from 'vitest'
import { useTeal } from '../../../running.ts'
import { eventually, send } from '../mail.ts'

const running = useTeal({ webhooks: { enabled: false } })
const { call, user } = running
const nobody = '5f0000000000000000000000'

async function refusal(method: string, path: string, body?: unknown): Promise<[number, string, string]> {
  const answer = await call(method, path, body)
  return [answer.status, answer.body.code, answer.body.error]
}

async function make(id: string, path: string, more: object = {}): Promise<string> {
  const { body } = await call('POST', `/users/${id}/mailboxes`, { path, ...more })
  expect(body).toEqual({ success: true, id: expect.stringMatching(/^[0-9a-f]{24}$/) })
  return body.id
}

async function paths(id: string, query = ''): Promise<string[]> {
  return (await call('GET', `/users/${id}/mailboxes?${query}`)).body.results.map((one: { path: string }) => one.path)
}

describe('mailboxes', () => {
  test('are listed in order, hidden ones apart', async () => {
    const id = await user('order')
    await make(id, '/z/y/x')
    await make(id, 'INBOX/sub')
    await make(id, 'aa', { hidden: true })
    const quiet = await make(id, 'Bb')
    await call('PUT', `/users/${id}/mailboxes/${quiet}`, { subscribed: false })
    expect(await paths(id)).toEqual(['INBOX', 'INBOX/sub', 'Drafts', 'Junk', 'Sent Mail', 'Trash', 'z/y/x', 'Bb'])
    expect(await paths(id, 'showHidden=yes')).toContain('aa')
    expect(await paths(id, 'specialUse=true')).toEqual(['INBOX', 'Drafts', 'Junk', 'Sent Mail', 'Trash'])
  })

  test('are read by id and by path, with counters and sizes', async () => {
    const id = await user('read')
    await send(running, 'read@example.com', 'a: b\n\nx\n')
    const inbox = (await call('GET', `/users/${id}/mailboxes/resolve?path=inbox`)).body
    expect(inbox).toMatchObject({ name: 'INBOX', path: 'INBOX', total: 1, unseen: 1, subscribed: true, hidden: false })
    expect((await call('GET', `/users/${id}/mailboxes/${inbox.id}`)).body).toEqual(inbox)
    const [listed] = (await call('GET', `/users/${id}/mailboxes?counters=1&sizes=1`)).body.results
    expect(listed).toMatchObject({ total: 1, unseen: 1, size: expect.any(Number) })
    expect(listed.size).toBeGreaterThan(10)
    for (const path of ['resolve?path=', 'resolve?path=//INBOX', '123']) {
      expect((await refusal('GET', `/users/${id}/mailboxes/${path}`))[0]).toBe(400)
    }
    expect((await refusal('GET', `/users/${id}/mailboxes/resolve?path=none`)).slice(0, 2)).toEqual([
      404,
      'NoSuchMailbox',
    ])
    expect((await refusal('GET', `/users/${id}/mailboxes/${nobody}`)).slice(0, 2)).toEqual([404, 'NoSuchMailbox'])
    const other = await user('reader2')
    expect((await refusal('GET', `/users/${other}/mailboxes/${inbox.id}`)).slice(0, 2)).toEqual([404, 'NoSuchMailbox'])
  })

  test('refuse paths in the words clients compare', async () => {
    const id = await user('words')
    const post = (path: string) => refusal('POST', `/users/${id}/mailboxes`, { path })
    expect((await post('somepath/abc/'))[2]).toBe(
      '"path" with value "somepath/abc/" matches the inverted pattern: /\\/{2,}|\\/$/',
    )
    expect((await post(new Array(129).fill('a').join('/')))[2]).toBe(
      'The mailbox path cannot be more than 128 levels deep',
    )
    expect((await post('a'.repeat(513)))[2]).toBe('Any part of the mailbox path cannot be longer than 512 chars long')
    expect((await post(new Array(128).fill('a'.repeat(512)).join('/')))[0]).toBe(200)
    expect((await refusal('POST', `/users/${nobody}/mailboxes`, { path: 'x' })).slice(0, 2)).toEqual([
      404,
      'UserNotFound',
    ])
  })

  test('exactly one of many gets a path', async () => {
    const id = await user('race')
    const made = await Promise.all(
      new Array(6).fill('Race').map(path => call('POST', `/users/${id}/mailboxes`, { path })),
    )
    expect(made.map(one => one.status).sort()).toEqual([200, 400, 400, 400, 400, 400])
    expect(made.find(one => one.status === 400)?.body).toEqual({
      error: 'Mailbox creation failed with code MailboxExistsError',
      code: 'MailboxExistsError',
    })
  })

  test('move with what is below them, and tell each', async () => {
    const id = await user('mover')
    const top = await make(id, 'a')
    const below = await make(id, 'a/b/c')
    await make(id, 'taken/b/c')
    await make(id, 'ab')
    const path = `/users/${id}/mailboxes/${top}`
    expect(await refusal('PUT', path, { path: 'taken' })).toEqual([
      400,
      'MailboxExistsError',
      'Mailbox update failed with code MailboxExistsError',
    ])
    expect((await refusal('PUT', path, { path: 'a/inside' })).slice(0, 2)).toEqual([400, 'DisallowedMailboxMethod'])
    expect((await refusal('PUT', path, { path: new Array(127).fill('d').join('/') })).slice(0, 2)).toEqual([
      400,
      'DisallowedMailboxMethod',
    ])
    expect((await call('PUT', path, { path: 'moved/to' })).body).toEqual({ success: true })
    expect((await paths(id)).filter(one => /^(moved|a)/.test(one))).toEqual(['ab', 'moved/to', 'moved/to/b/c'])
    const rows = await running.teal.core.read.all<{ body: string }>(
      "SELECT body FROM event WHERE name = 'mailbox.renamed' AND user = ? ORDER BY num",
      id,
    )
    expect(rows.map(row => JSON.parse(row.body))).toEqual([
      { user: id, mailbox: top, previous: 'a', current: 'moved/to' },
      { user: id, mailbox: below, previous: 'a/b/c', current: 'moved/to/b/c' },
    ])
  })

  test('that must stay, stay', async () => {
    const id = await user('stay')
    const all = (await call('GET', `/users/${id}/mailboxes`)).body.results
    const at = (path: string) => `/users/${id}/mailboxes/${all.find((one: { path: string }) => one.path === path).id}`
    expect(await refusal('PUT', at('INBOX'), { path: 'x' })).toEqual([
      400,
      'DisallowedMailboxMethod',
      'Mailbox update failed with code DisallowedMailboxMethod',
    ])
    expect(await refusal('DELETE', at('INBOX'))).toEqual([
      400,
      'DisallowedMailboxMethod',
      'Mailbox deletion failed with code DisallowedMailboxMethod',
    ])
    expect((await refusal('DELETE', at('Trash')))[1]).toBe('DisallowedMailboxMethod')
    expect((await call('PUT', at('Junk'), { path: 'Spam', hidden: true })).body.success).toBe(true)
    expect((await refusal('PUT', at('Junk'), { path: 'Other' }))[1]).toBe('DisallowedMailboxMethod')
    expect(await refusal('PUT', at('Trash'), {})).toEqual([400, 'NothingChanged', 'Nothing was changed'])
    const unknown = [404, 'NoSuchMailbox', 'Mailbox update failed with code NoSuchMailbox']
    expect(await refusal('PUT', `/users/${id}/mailboxes/${nobody}`, { path: 'x' })).toEqual(unknown)
    expect(await refusal('PUT', `/users/${nobody}/mailboxes/${nobody}`, { path: 'x' })).toEqual(unknown)
    expect((await refusal('DELETE', `/users/${nobody}/mailboxes/${nobody}`)).slice(0, 2)).toEqual([
      404,
      'NoSuchMailbox',
    ])
  })

  test('date their messages anew when retention changes, and only the newest setting counts', async () => {
    const id = await user('kept')
    for (let n = 0; n < 3; n++) await send(running, 'kept@example.com', `a: ${n}\n\nx${n}\n`)
    const { id: inbox } = (await call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)).body
    const rows = () =>
      running.teal.core.read.all<{ saved: number; expires: number | null }>(
        'SELECT saved, expires FROM message WHERE mailbox = (SELECT num FROM mailbox WHERE id = ?)',
        inbox,
      )
    const put = (retention: number) => call('PUT', `/users/${id}/mailboxes/${inbox}`, { retention })
    await put(50_000_000)
    await put(90_000_000)
    await eventually(rows, found => found.every(row => row.expires === row.saved + 90_000_000))
    expect((await call('GET', `/users/${id}/mailboxes/${inbox}`)).body.retention).toBe(90_000_000)
    await put(0)
    await eventually(rows, found => found.every(row => row.expires === null))
    expect((await call('GET', `/users/${id}/mailboxes/${inbox}`)).body).not.toHaveProperty('retention')
  })
})
