import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readTemplates } from '#store/accounts/templates.ts'
import { useTeal } from '../../../running.ts'

const dir = mkdtempSync(join(tmpdir(), 'teal-welcome-'))
const template =
  'From: Team <team@example.com>\nTo: {name} <{address}>\nSubject: Hello {name}\nDate: {date}\n\nDear {name} ({username})\n'
writeFileSync(join(dir, '1.eml'), template)
writeFileSync(join(dir, '2.eml'), 'Subject: Second\n\n{unknown}\n')
writeFileSync(join(dir, 'notes.txt'), 'none of these')
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const { call, user } = useTeal({ mail: { welcomeDir: dir } })

test('a new user finds the messages of the folder, with the own name in them', async () => {
  const id = await user('newcomer', { name: 'Ülle "Bcc: x@y.z' })
  const { id: inbox, total } = (await call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)).body
  expect(total).toBe(2)
  const path = `/users/${id}/mailboxes/${inbox}/messages`
  const { results } = (await call('GET', `${path}?order=asc`)).body
  expect(results.map((one: { subject: string }) => one.subject).sort()).toEqual(
    ['Hello Ülle Bcc x y.z', 'Second'].sort(),
  )
  const first = results.find((one: { subject: string }) => one.subject.startsWith('Hello'))
  const { to, text, bcc } = (await call('GET', `${path}/${first.id}`)).body
  expect(to).toEqual([{ name: 'Ülle Bcc x y.z', address: 'newcomer@example.com' }])
  expect(bcc ?? []).toEqual([])
  expect(text).toContain('Dear Ülle "Bcc: x@y.z (newcomer)')
})

test('a folder that is not there is told at start', () => {
  expect(() => readTemplates(join(dir, 'none'))).toThrow('cannot be read')
  expect(readTemplates('')).toEqual([])
})
