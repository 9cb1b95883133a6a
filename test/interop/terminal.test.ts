// The questions of `teal setup`, typed on a terminal: wrong answers, secrets, and a hand on Ctrl+C.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Machine, startMachine } from '../cli/machine.ts'
import { folder, needPrograms } from './programs.ts'

const place = folder()
let machine: Machine

beforeAll(async () => {
  needPrograms('script')
  machine = await startMachine()
  machine.dns.records.set('A mail.example.org', ['127.0.0.1'])
  machine.dns.records.set('PTR 1.0.0.127.in-addr.arpa', ['mail.example.org'])
})

afterAll(async () => {
  await machine.close()
  place.remove()
})

const names = ['smtp', 'submission', 'submissions', 'imaps', 'pop3s', 'web', 'api']
const set = [...names.map(name => `${name}.port=0`), ...names.map(name => `${name}.host=127.0.0.1`), 'smtp.unjudged=']
const file = (name: string) => join(place.path, name, 'teal.toml')

type Answer = readonly [RegExp, string]

/** Runs a set-up on a terminal; each question is answered in its order, with what is typed. */
async function talk(name: string, answers: readonly Answer[], more: readonly string[] = []) {
  const where = ['--config', file(name), '--data-dir', join(place.path, name, 'data')]
  const words = [process.execPath, 'dist/main.js', 'setup', 'example.org', ...where, ...machine.asked, ...more]
  const line = [...words, '--set', ...set].map(word => `'${word}'`).join(' ')
  const child = spawn('script', ['-qec', line, '/dev/null'], { env: { PATH: process.env.PATH ?? '', TERM: 'dumb' } })
  const ended = once(child, 'close') as Promise<[number]>
  const left = [...answers]
  let text = ''
  let from = 0
  child.stdout.on('data', chunk => {
    text += chunk
    const [question, answer] = left[0] ?? []
    const found = question?.exec(text.slice(from))
    if (found === null || found === undefined) return
    from += found.index + found[0].length
    left.shift()
    child.stdin.write(answer ?? '')
  })
  const [code] = await ended
  expect(left.map(([question]) => question.source)).toEqual([])
  return { code, text }
}

const host: Answer = [/Name of this server \[mail\.example\.org\]: /, '\r']
const first: Answer = [/First account \[admin\]: /, '\r']
const terms: Answer = [/agree to its terms .*\? \[y\/N\] /, 'n\r']

test.each([
  ['Ctrl+C', '\x03'],
  ['Ctrl+D', '\x04'],
])('%s at the first question leaves nothing, and is said in a sentence', async (_what, key) => {
  const { code, text } = await talk('broken', [[host[0], key]])
  expect(code).toBe(1)
  expect(text).toMatch(/teal: It was broken off\. Run it again/)
  expect(text).not.toMatch(/should not have happened|ABORT_ERR/)
  expect(existsSync(join(place.path, 'broken'))).toBe(false)
})

test('what is no answer is asked for again, a password is not shown, and a slip agrees to nothing', async () => {
  const { code, text } = await talk('whole', [
    [host[0], 'bad name!\r'],
    [/bad name! is no host name[\s\S]*Name of this server \[mail\.example\.org\]: /, '\r'],
    [first[0], 'two words\r'],
    [/two words@example\.org is no address[\s\S]*First account \[admin\]: /, 'anna\r'],
    [terms[0], 'yellow\r'],
    [/Password \(empty: one is made up\): /, 'a secret that nobody sees\r'],
    [/Ask for one-time codes at log-in, too\? \[y\/N\] /, '\r'],
  ])
  expect([code, text]).toEqual([0, expect.stringContaining('anna@example.org')])
  expect(text).not.toContain('nobody sees')
  const written = readFileSync(file('whole'), 'utf8')
  expect(written).not.toContain('nobody sees')
  expect(written).not.toMatch(/termsAgreed = true/)
})

test('broken off at the password, it goes on from there', async () => {
  const off = await talk('later', [host, first, terms, [/Password \(empty: one is made up\): /, '\x03']])
  expect([off.code, off.text]).toEqual([1, expect.stringContaining('It was broken off')])
  expect(off.text).not.toContain('should not have happened')
  const on = await talk('later', [], ['--yes'])
  expect([on.code, on.text]).toEqual([0, expect.stringMatching(/its password: \S+/)])
})
