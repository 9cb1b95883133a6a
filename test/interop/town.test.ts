// From a machine with nothing to mail in and out: the commands of docs/owner.md, on a small internet with names that are proven, a
// certificate server and a mail server of others.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { monotonic, now } from '#lib/clock.ts'
import { listening, type Machine, until } from './world/machine.ts'
import { type Others, startOthers } from './world/others.ts'
import { ownMachine, zoneOf } from './world/own.ts'
import { openTown, type Town } from './world/town.ts'

let town: Town
let others: Others

beforeAll(async () => {
  town = await openTown(['example.org', 'example.com', 'example.net', 'third.example'])
  const machine = await town.machine('others', '44.128.9.9')
  others = await startOthers({ town, machine, domain: 'example.net', users: ['bob', 'reports'] })
})

afterAll(() => town?.close())

interface Way {
  readonly how: string
  readonly domain: string
  readonly address: string
  setUp(machine: Machine): Promise<string>
}

const ways: readonly Way[] = [
  {
    how: 'with flags alone',
    domain: 'example.org',
    address: '44.128.1.1',
    setUp: machine => machine.good(['teal', 'setup', 'example.org', '--acme', '--yes']),
  },
  {
    how: 'with questions on a terminal',
    domain: 'example.com',
    address: '44.128.1.2',
    async setUp(machine) {
      const answers: [RegExp, string][] = [
        [/Name of this server \[mail\.example\.com\]: /, ''],
        [/First account \[admin\]: /, 'anna'],
        [/agree to its terms .*\? \[y\/N\] /, 'y'],
        [/Password \(empty: one is made up\): /, ''],
        [/Ask for one-time codes at log-in, too\? \[y\/N\] /, 'n'],
      ]
      const { code, text } = await machine.talk(['teal', 'setup', 'example.com'], answers)
      expect([code, text]).toEqual([0, expect.stringContaining('What is left:')])
      return text
    },
  },
]

describe.each(ways)('$how', ({ how, domain, address, setUp }) => {
  test('three commands, and mail comes and goes', async () => {
    const machine = await ownMachine(town, `mail.${domain}`, address)
    const began = monotonic()
    const said = await setUp(machine)
    await town.names.put(...zoneOf(said))
    await machine.good(['systemctl', 'enable', '--now', 'teal'])
    const log = () => machine.read('/var/log/teal.log')
    const doctor = ['teal', 'doctor', '--config', '/etc/teal/teal.toml']
    let told = ''
    const well = async () => {
      const { code, text } = await machine.run(doctor)
      told = text
      return code === 0
    }
    await until('all is well', well, () => `${told}\n${log()}`)
    const [, user = ''] = /made the account (\S+)/.exec(said) ?? []
    const [, password = ''] = /its password: (\S+)/.exec(said) ?? []

    await others.send('bob@example.net', user, letter('bob@example.net', user, 'There'))
    const inbox = ['curl', '-sS', '--user', `${user}:${password}`, `imaps://mail.${domain}/INBOX;MAILINDEX=1`]
    const come = async () => {
      const { code, text } = await machine.run(inbox)
      return code === 0 && text.includes('Subject: There') && text
    }
    const received = await until('mail in', come, () => `${others.log()}\n${log()}`)
    const results = /^Authentication-Results: mail\.[\s\S]*?(?=^\S+:)/im.exec(received)?.[0] ?? ''
    for (const method of ['dkim', 'spf', 'dmarc']) expect(results).toContain(`${method}=pass`)

    const url = `smtps://mail.${domain}`
    const words = [
      'curl',
      '-sS',
      '--user',
      `${user}:${password}`,
      url,
      '--mail-from',
      user,
      '--mail-rcpt',
      'bob@example.net',
    ]
    const answer = letter(user, 'bob@example.net', `Back from ${domain}`)
    await machine.good([...words, '--upload-file', '-'], { input: answer })
    const arrived = await others.arrived('bob@example.net', `Subject: Back from ${domain}`)
    const seconds = (monotonic() - began) / 1000
    const judged = /^Authentication-Results: mx\.example\.net[\s\S]*?(?=^\S+:)/im.exec(arrived)?.[0] ?? ''
    for (const method of ['dkim', 'spf', 'dmarc']) expect(judged).toContain(`${method}=pass`)
    process.stdout.write(`${how}: 3 commands, ${seconds.toFixed(1)} s to mail in and an answer out\n`)
  })
})

test('a name that leads to others, a port in use, a resolver that is gone: a sentence each, nothing is changed, and the next run goes on', async () => {
  const machine = await ownMachine(town, 'mail.third.example', '44.128.1.3')
  const setUp = ['teal', 'setup', 'third.example', '--yes']
  const refused = async (said: RegExp) => {
    const { code, text } = await machine.run(setUp)
    expect([code, text]).toEqual([1, expect.stringMatching(said)])
    expect(text).toContain('Nothing was changed.')
    expect((await machine.run(['ls', '/etc/teal', '/var/lib/teal'])).text).not.toMatch(/toml|teal\.db|root-token/)
  }
  await town.names.put('mail.third.example. IN A 44.128.9.9')
  await refused(
    /mail\.third\.example leads to 44\.128\.9\.9, which is not this machine \(44\.128\.1\.3\)\. +Change its A record/,
  )
  await town.names.put('mail.third.example. IN A 44.128.1.3')
  const taken = machine.start(['/opt/node', '-e', "require('node:net').createServer().listen(25)"])
  await listening(machine, 25, taken.output)
  await refused(/Port 25 is taken by another program .*: stop it, or choose another with --set smtp\.port/)
  await machine.run(['pkill', '-f', 'createServer'])
  await machine.good(['sh', '-c', 'echo nameserver 127.0.0.9 > /etc/resolv.conf'])
  await refused(/No DNS server answers .* Name one that works in \/etc\/resolv\.conf/)
  await machine.good(['sh', '-c', 'echo nameserver 127.0.0.1 > /etc/resolv.conf'])
  expect(await machine.good(setUp)).toContain('made the account admin@third.example')
  expect(await machine.good(setUp)).toContain('the account admin@third.example is there')
})

function letter(from: string, to: string, subject: string): string {
  const date = new Date(now()).toUTCString().replace('GMT', '+0000')
  const id = `<${subject.replace(/\W/g, '')}.${from}>`
  const head = [`From: <${from}>`, `To: <${to}>`, `Subject: ${subject}`, `Date: ${date}`, `Message-ID: ${id}`]
  return [...head, 'MIME-Version: 1.0', 'Content-Type: text/plain; charset=utf-8', '', 'Good day.', ''].join('\r\n')
}
