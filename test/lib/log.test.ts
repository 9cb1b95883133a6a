// Secrets in the log: masked by key wherever they stand, and what was given is left as it is.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeLog } from '#lib/log.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-log-'))
const file = join(root, 'teal.log')
const log = makeLog('info', 1, { file })
afterAll(() => rmSync(root, { recursive: true, force: true }))

function logged(fields: object): Record<string, unknown> {
  log.info(fields, 'words')
  return JSON.parse(readFileSync(file, 'utf8').trim().split('\n').at(-1) ?? '') as Record<string, unknown>
}

const hidden = '[masked]'

test.each<[string, object, object]>([
  ['at the top', { token: 'x1', user: 'anna' }, { token: hidden, user: 'anna' }],
  ['one level down', { a: { password: 'x1', b: 1 } }, { a: { password: hidden, b: 1 } }],
  ['two levels down', { a: { b: { secret: 'x1' } } }, { a: { b: { secret: hidden } } }],
  ['in a list', { a: [{ seed: 'x1' }, { c: 2 }] }, { a: [{ seed: hidden }, { c: 2 }] }],
  ['as a whole object', { authorization: { scheme: 'x1' } }, { authorization: hidden }],
  [
    'what a terminal would obey, and is no secret',
    { name: 'a\u009b2Jb', list: ['\u202ecba', '\u2028'] },
    { name: 'a\\u009b2Jb', list: ['\\u202ecba', '\\u2028'] },
  ],
  ['nowhere', { a: [1, 'two', null], b: { c: true } }, { a: [1, 'two', null], b: { c: true } }],
])('%s', (_what, fields, shown) => {
  const before = structuredClone(fields)
  expect(logged(fields)).toMatchObject({ level: 'info', msg: 'words', ...shown })
  expect(fields).toEqual(before)
  expect(readFileSync(file, 'utf8')).not.toContain('x1')
})

test.each(['error', 'err'])('on an error, as %s', key => {
  const error = Object.assign(new Error('broke'), { token: 'x1', request: { password: 'x1', host: 'example.org' } })
  const line = logged({ [key]: error })
  const request = { password: hidden, host: 'example.org' }
  expect(line[key]).toMatchObject({
    type: 'Error',
    message: 'broke',
    stack: expect.any(String),
    token: hidden,
    request,
  })
  expect(error.token).toBe('x1')
  expect(readFileSync(file, 'utf8')).not.toContain('x1')
})

test('readable lines hold nothing that a terminal obeys or that begins a line, wherever strangers put it', () => {
  const words = 'a\u001b[31mb\rc\u009bd\u202ee'
  const readable = makeLog('info', 1, { file: `${file}.txt`, format: 'readable' })
  readable.info({ name: `${words}\nf`, ip: words, list: [words] }, 'words')
  readable.error({ error: Object.assign(new Error(words, { cause: new Error(words) }), { reply: words }) }, 'words')
  const printed = readFileSync(`${file}.txt`, 'utf8')
  expect(printed).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/)
  expect(printed.match(/^(?=\S)(?!\[)/gm)).toBeNull()
})
