// The commands of the documents, run as they stand: each `sh` block of a document in order, as root, on a machine of its own where
// a service is set up; those of docs/owner.md on one with nothing. What is not run stands in other blocks.

import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listening, type Machine, program, until } from './world/machine.ts'
import { startOthers } from './world/others.ts'
import { ownMachine, startOwn, zoneOf } from './world/own.ts'
import { openTown, type Town } from './world/town.ts'

let town: Town
let hosting: Machine
let own: Machine

const mail =
  'From: <dora@example.net>\nTo: <alice@example.org>\nSubject: old\nMessage-ID: <old@example.net>\n\nFrom before.\n'

beforeAll(async () => {
  town = await openTown(['example.org', 'example.com', 'example.net', 'customer.example'])
  const others = await town.machine('others', '44.128.9.9')
  await startOthers({ town, machine: others, domain: 'example.net', users: ['bob', 'someone'] })
  hosting = (await startOwn(town, 'example.com', '44.128.1.2')).machine
})

afterAll(() => town?.close())

/** The blocks of a document that are run, in order. */
function blocks(document: string, language = 'sh'): string[] {
  const fenced = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm')
  return [...readFileSync(document, 'utf8').matchAll(fenced)].map(([, text = '']) => text)
}

test('docs/owner.md: from nothing, on a terminal', async () => {
  own = await ownMachine(town, 'mail.example.org', '44.128.1.1', false)
  const answers: [RegExp, string][] = [
    [/Name of this server \[mail\.example\.org\]: /, ''],
    [/First account \[admin\]: /, ''],
    [/agree to its terms .*\? \[y\/N\] /, 'y'],
    [/Password \(empty: one is made up\): /, ''],
    [/Ask for one-time codes at log-in, too\? \[y\/N\] /, 'n'],
  ]
  const lines = blocks('docs/owner.md').flatMap(block => block.trim().split('\n'))
  expect(lines).toContain('teal setup example.org')
  for (const line of lines) {
    if (line === 'teal setup example.org') {
      const { code, text } = await own.talk([line], answers)
      expect([code, text]).toEqual([0, expect.stringContaining('What is left:')])
      await town.names.put(...zoneOf(text))
    } else if (line.startsWith('teal doctor')) {
      let told = ''
      const well = async () => {
        const { code, text } = await own.run(['bash', '-c', line])
        told = text
        return code === 0
      }
      await until(line, well, () => told)
    } else await own.good(['bash', '-c', line])
  }
})

/** Runs a document as one script, so that what one block sets the next has. */
async function runThrough(document: string, machine: Machine): Promise<void> {
  const all = blocks(document)
  expect(all.length).toBeGreaterThan(3)
  await machine.good(['mkdir', '-p', '/var/documents'])
  const script = `set -euo pipefail; cd /var/documents\n${all.map((text, at) => `: block ${at + 1}\n${text}`).join('\n')}`
  machine.write('/var/documents/script', script)
  await machine.good(['bash', '-x', '/var/documents/script'], { ms: 240_000 })
}

test('docs/hoster.md: each command, on a machine that is set up', () => runThrough('docs/hoster.md', hosting))

test('docs/moving.md: each command, on the machine that docs/owner.md set up, with mail of before', async () => {
  for (const folder of ['cur', 'new', 'tmp', '.Sent/cur', '.Sent/new', '.Sent/tmp'])
    await own.good(['mkdir', '-p', `/var/mail/alice/Maildir/${folder}`])
  own.write('/var/mail/alice/Maildir/cur/1700000000.M1P1.old:2,S', mail)
  for (const box of ['/var/mail/ben', '/var/homes/ben/mail/2019'])
    own.write(box, `From dora@example.net Tue Jan  2 03:04:05 2024\n${mail}\n`)
  await runThrough('docs/moving.md', own)
  await own.good(['teal', 'verify', '--config', '/etc/teal/teal.toml'])
})

test('README.md: the first mail, and what keeps it', async () => {
  const bare = await town.machine('bare', '44.128.1.3')
  await bare.good(['mkdir', '-p', '/var/readme'])
  for (const name of ['dist', 'node_modules'])
    await bare.good(['ln', '-s', `${program}/${name}`, `/var/readme/${name}`])
  const serve = bare.start(['sh', '-c', `cd /var/readme && exec /opt/node ${program}/dist/main.js serve`])
  // Ports open one after the other, those of mail last.
  for (const port of [8080, 1025, 2424]) await listening(bare, port, serve.output)
  const all = blocks('README.md')
  const inFolder = (text: string) => bare.good(['bash', '-c', `set -euo pipefail; cd /var/readme\n${text}`])
  const first = all.find(text => text.includes('# 1. A user')) ?? ''
  expect(await inFolder(first)).toContain('The first one.')
  const keeping = all.find(text => text.includes('teal backup ')) ?? ''
  const [beside = '', alone = ''] = keeping.split(/(?=^teal verify --repair)/m)
  await inFolder(beside)
  const { pid } = JSON.parse(bare.read('/var/readme/data/run.json'))
  await bare.good(['kill', '-TERM', String(pid)])
  await until('its end', async () => serve.process.exitCode !== null, serve.output)
  await inFolder(`${beside.split('\n')[0]}\n${alone}`)
})

/** Of the package that Python's programmers ask with, what docs/dev.md uses. */
const requests = `
import json, urllib.request
class Answer:
    def __init__(self, text): self.text = text
    def json(self): return json.loads(self.text)
def post(url, json={}, _encode=json.dumps):
    request = urllib.request.Request(url, _encode(json).encode(), {'content-type': 'application/json'})
    return Answer(urllib.request.urlopen(request).read().decode())
`

const registration = (to: string) =>
  `printf 'From: app@example.com\\nTo: ${to}\\nSubject: Welcome\\n\\nYour code is 482913.\\n' | ` +
  `curl -sS --fail smtp://127.0.0.1:1025 --mail-from app@example.com --mail-rcpt ${to} -T -`

test('docs/dev.md: as it stands, with the answers it shows', async () => {
  const laptop = await town.machine('laptop', '44.128.1.4')
  await laptop.good(['mkdir', '-p', '/var/app/node_modules/.bin'])
  laptop.write('/var/app/node_modules/.bin/teal', `#!/bin/sh\nexec /opt/node ${program}/dist/main.js "$@"\n`, 0o755)
  const [begin = '', wait = '', tag = '', releasing = '', release = '', ...more] = blocks('docs/dev.md')
  expect([begin.trim(), more]).toEqual(['npx --no -- teal dev', []])
  const env = { HOME: '/var/app', npm_config_offline: 'true' }
  const dev = laptop.start(['sh', '-c', `cd /var/app && exec ${begin}`], env)
  await listening(laptop, 8025, dev.output)
  await listening(laptop, 1025, dev.output)
  await laptop.good(['sh', '-c', registration('anna@example.com')])
  const shown = blocks('docs/dev.md', 'json').map(text => JSON.parse(text) as Record<string, unknown>)
  const [mail, missing] = shown
  const got = JSON.parse(await laptop.good(['sh', '-c', `${wait.trim()} 2>/dev/null`])) as Record<string, unknown>
  expect(got).toMatchObject({ subject: 'Welcome', code: '482913' })
  expect(Object.keys(got)).toEqual(expect.arrayContaining(Object.keys(mail ?? {})))
  const late = JSON.parse(
    await laptop.good(['sh', '-c', `${wait.trim().replace('timeout=5000', 'timeout=10')} 2>/dev/null`]),
  ) as object
  expect(Object.keys(late)).toEqual(expect.arrayContaining(Object.keys(missing ?? {})))
  const [python = ''] = blocks('docs/dev.md', 'py')
  laptop.write('/var/app/requests.py', requests)
  const register = `import subprocess\ndef register(address):\n    subprocess.run(${JSON.stringify(registration('ADDRESS'))}.replace('ADDRESS', address), shell=True, check=True)\n`
  laptop.write('/var/app/script.py', `${register}${python}`)
  await laptop.good(['sh', '-c', 'cd /var/app && python3 script.py'], { env })
  expect(JSON.parse(await laptop.good(['sh', '-c', `${tag.trim()} 2>/dev/null`]))).toMatchObject({ success: true })
  // Beside the first, on ports of its own.
  const [smtp, http] = ['1026', '8026']
  const off = { TEAL_DEV_IMAP_PORT: 'off', TEAL_DEV_POP3_PORT: 'off' }
  const beside = { ...env, ...off, TEAL_DEV_SMTP_PORT: smtp, TEAL_DEV_HTTP_PORT: http }
  const second = laptop.start(['sh', '-c', `cd /var/app && exec ${releasing}`], beside)
  await listening(laptop, Number(http), second.output)
  await listening(laptop, Number(smtp), second.output)
  await laptop.good(['sh', '-c', registration('anna@example.com').replace('1025', smtp)])
  // The server it names is not in this town.
  const asked = `${release.trim().replace('8025', http)} 2>/dev/null`
  expect(JSON.parse(await laptop.good(['sh', '-c', asked]))).toMatchObject({ code: 'NotReleased' })
  dev.process.kill('SIGTERM')
  second.process.kill('SIGTERM')
})

/** Where else commands of documents are run, or why they are not. */
const elsewhere: Readonly<Record<string, string>> = {
  // Its one command installs the package, which is what is done there with what was built.
  'docs/testing.md': 'test/package',
}

test('each document with commands is run here or known to be run elsewhere', () => {
  const documents = readdirSync('docs').flatMap(name => (name.endsWith('.md') ? [`docs/${name}`] : []))
  const here = ['docs/owner.md', 'docs/hoster.md', 'docs/moving.md', 'docs/dev.md']
  const bearing = documents.filter(document => blocks(document).length > 0)
  expect(bearing.toSorted()).toEqual([...here, ...Object.keys(elsewhere)].toSorted())
})
