// `teal dev` as its users start it: what it prints, that a port is taken, and that nothing is left when it ends.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { devPorts } from '#dev/ports.ts'
import { deliver, writeDraft } from '#testing/sending.ts'
import { Dialogue } from '../dialogue.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-dev-'))
const temporary = mkdtempSync(join(root, 'tmp-'))
const children = new Set<ChildProcess>()

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(root, { recursive: true, force: true })
})

const free = { TEAL_DEV_SMTP_PORT: '0', TEAL_DEV_HTTP_PORT: '0', TEAL_DEV_IMAP_PORT: '0', TEAL_DEV_POP3_PORT: '0' }

function start(words: string[], env: Record<string, string> = {}) {
  const all = { PATH: process.env.PATH ?? '', TMPDIR: temporary, ...free, ...env }
  const child = spawn(process.execPath, ['dist/main.js', 'dev', ...words], { env: all, stdio: 'pipe' })
  children.add(child)
  const exited = once(child, 'close').then(([code]) => {
    children.delete(child)
    return code as number | null
  })
  let out = ''
  let err = ''
  child.stderr.on('data', chunk => {
    err += chunk
  })
  const ready = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', chunk => {
      out += chunk
      if (out.includes('spring ')) resolve(out)
    })
    exited.then(() => reject(new Error(`it ended: ${err}`)))
  })
  ready.catch(() => {})
  return { child, exited, ready, err: () => err }
}

test.each(['SIGINT', 'SIGTERM'] as const)(
  'it says where it is and ends with %s, a waiting call included',
  async signal => {
    const { child, exited, ready } = start([])
    const said = await ready
    const url = /page, API +(http:\S+)/.exec(said)?.[1] ?? ''
    const [, port] = /SMTP +127\.0\.0\.1:(\d+)/.exec(said) ?? []
    expect(said).toMatch(/IMAP +127\.0\.0\.1:\d+\n +POP3 +127\.0\.0\.1:\d+\n/)
    expect(said).toContain(`nodemailer SMTP_URL=smtp://test:test@127.0.0.1:${port}`)
    expect(said).toContain(`EMAIL_PORT=${port}`)
    const envelope = { from: 'a@example.com', to: ['b@example.com'] }
    await deliver({ host: '127.0.0.1', port: Number(port) }, envelope, await writeDraft({ subject: 'Hello' }))
    const got = (await (await fetch(`${url}/dev/v1/wait?to=b@example.com`)).json()) as { subject: string }
    expect(got.subject).toBe('Hello')
    const waiting = fetch(`${url}/dev/v1/wait?timeout=60000`).catch(() => 'cut')
    expect(readdirSync(temporary)).not.toEqual([])
    child.kill(signal)
    expect(await exited).toBe(0)
    await waiting
    expect(readdirSync(temporary)).toEqual([])
  },
)

test('a port that is taken is said plainly, and nothing is left', async () => {
  const first = start([])
  const said = await first.ready
  for (const [name, pattern] of [
    ['SMTP', /SMTP +127\.0\.0\.1:(\d+)/],
    ['HTTP', /page, API +http:\/\/127\.0\.0\.1:(\d+)/],
  ] as const) {
    const [, port = ''] = pattern.exec(said) ?? []
    const second = start([`--${name.toLowerCase()}-port`, port])
    expect(await second.exited).toBe(1)
    expect(second.err()).toMatch(new RegExp(`^teal: .*:?${port}.* in use already\\. Is teal dev running already\\?`))
  }
  first.child.kill('SIGTERM')
  expect(await first.exited).toBe(0)
  expect(readdirSync(temporary)).toEqual([])
})

test('a folder keeps the accounts; words that are wrong are told', async () => {
  const dir = join(root, 'kept')
  const { child, exited, ready } = start(['--dir', dir, '--pop3-port', 'off', '--accept', 'example.com', '--max', '3'])
  const said = await ready
  expect(said).not.toContain('POP3')
  const port = Number(/SMTP +127\.0\.0\.1:(\d+)/.exec(said)?.[1])
  const at = { host: '127.0.0.1', port }
  const message = await writeDraft({ subject: 'x' })
  await expect(deliver(at, { from: 'a@b.example', to: ['c@elsewhere.example'] }, message)).rejects.toThrow('550')
  await deliver(at, { from: 'a@b.example', to: ['c@example.com'] }, message)
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
  expect(readdirSync(dir)).toContain('teal.db')
  for (const words of [['--smtp-port', 'x'], ['--smtp-port', 'off'], ['--max', '0'], ['--no-such']]) {
    const wrong = start(words)
    expect(await wrong.exited).toBe(2)
    expect(wrong.err()).not.toContain('at file:')
  }
})

test('STARTTLS is offered where the flag or the variable says so', async () => {
  const answer = async (words: string[], said?: string) => {
    const { child, exited, ready } = start(words, said === undefined ? {} : { TEAL_DEV_STARTTLS: said })
    const port = Number(/SMTP +127\.0\.0\.1:(\d+)/.exec(await ready)?.[1])
    const smtp = await Dialogue.open({ host: '127.0.0.1', port })
    await smtp.reply()
    await smtp.ask('EHLO test')
    const [code] = (await smtp.ask('STARTTLS')).split(' ')
    smtp.close()
    child.kill('SIGTERM')
    await exited
    return code
  }
  for (const [words, said, code] of [
    [[], undefined, '500'],
    [['--starttls'], undefined, '220'],
    [['--starttls'], 'false', '220'],
    [['--starttls', 'no'], 'true', '500'],
    [[], 'true', '220'],
    [[], 'false', '500'],
    [[], '', '500'],
  ] as const)
    expect([said, await answer([...words], said)]).toEqual([said, code])
  const wrong = start([], { TEAL_DEV_STARTTLS: 'perhaps' })
  expect([await wrong.exited, wrong.err()]).toEqual([
    2,
    expect.stringMatching(/TEAL_DEV_STARTTLS.*It is true or false/),
  ])
})

test('records of a file say who may send', async () => {
  const file = join(root, 'records.json')
  writeFileSync(file, JSON.stringify({ 'shop.example': ['unrelated', 'v=spf1 ip4:127.0.0.1 -all'] }))
  const { child, exited, ready } = start(['--dns', file])
  const said = await ready
  const url = /page, API +(http:\S+)/.exec(said)?.[1] ?? ''
  const port = Number(/SMTP +127\.0\.0\.1:(\d+)/.exec(said)?.[1])
  const message = await writeDraft({ subject: 'x' })
  for (const domain of ['shop.example', 'other.example'])
    await deliver({ host: '127.0.0.1', port }, { from: `a@${domain}`, to: [`to-${domain}@b.example`] }, message)
  const spf = async (to: string) => {
    const mail = (await (await fetch(`${url}/dev/v1/wait?to=${to}`)).json()) as { spf: unknown }
    return mail.spf
  }
  expect(await spf('to-shop.example@b.example')).toBe('shop.example')
  expect(await spf('to-other.example@b.example')).toBe(false)
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
  for (const text of ['{', '[]', '{"a.example": 1}']) {
    writeFileSync(file, text)
    const wrong = start(['--dns', file])
    expect(await wrong.exited).not.toBe(0)
    expect(wrong.err()).toContain(file)
    expect(wrong.err()).not.toContain('at file:')
  }
})

test('the image has what the command takes', async () => {
  const lines = readFileSync('deploy/dev.Containerfile', 'utf8')
    .split('\n')
    .filter(line => /^[A-Z]+ /.test(line))
  const of = (name: string) =>
    lines.filter(line => line.startsWith(`${name} `)).map(line => line.slice(name.length + 1))
  expect(lines.every(line => /^(FROM|COPY|ENV|EXPOSE|STOPSIGNAL|ENTRYPOINT|CMD) /.test(line))).toBe(true)
  expect(of('EXPOSE')).toEqual([
    Object.values(devPorts)
      .flatMap(({ initial }) => initial ?? [])
      .toSorted((a, b) => a - b)
      .join(' '),
  ])
  const [, from = '', to = ''] = /^--chmod=0755 (\S+) (\S+)$/.exec(of('COPY')[0] ?? '') ?? []
  expect([from, JSON.parse(of('ENTRYPOINT')[0] ?? '')]).toEqual(['dist/teal', [to]])
  const env = Object.fromEntries((of('ENV')[0] ?? '').split(' ').map(pair => pair.split('=')))
  const [word, ...words] = JSON.parse(of('CMD')[0] ?? '') as string[]
  expect(word).toBe('dev')
  const { child, exited, ready } = start(words, { ...env, XDG_CACHE_HOME: join(root, 'cache') })
  expect(await ready).toMatch(/SMTP +0\.0\.0\.0:\d+/)
  child.kill(of('STOPSIGNAL')[0] as NodeJS.Signals)
  expect(await exited).toBe(0)
})
