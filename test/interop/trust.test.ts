// Trust in both directions, among servers that are not ours alone: two services and a Postfix with rspamd and Dovecot, on a small
// internet whose names are proven from the root down. What others say of themselves is believed where it is proven and heeded where
// it asks for it; what cannot be known is waited for.

import { createHash, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { now, sleep } from '#lib/clock.ts'
import type { Body } from '../running.ts'
import { needPrograms } from './programs.ts'
import { type Machine, until } from './world/machine.ts'
import { type Others, startOthers } from './world/others.ts'
import { type Own, startOwn } from './world/own.ts'
import { openTown, type Town, trusted } from './world/town.ts'

let town: Town
let others: Others
let first: Own
let second: Own
let stranger: Machine
let elsewhere: Machine

const policies = { 'strict.example': 'reject', 'careful.example': 'quarantine', 'lax.example': 'none' }
const stranger4 = '44.128.7.7'

beforeAll(async () => {
  needPrograms('openssl', 'python3', 'dkimsign', 'faketime')
  needPrograms('../lib/python3/dist-packages/nacl/__init__.py')
  town = await openTown(['example.org', 'example.com', 'example.net', ...Object.keys(policies)])
  const machine = await town.machine('others', '44.128.9.9')
  const forwards = { 'forward@example.net': 'admin@example.org' }
  const users = ['bob', 'reports', 'forward']
  others = await startOthers({ town, machine, domain: 'example.net', users, forwards })
  first = await startOwn(town, 'example.org', '44.128.1.1')
  second = await startOwn(town, 'example.com', '44.128.1.2')
  stranger = await openStranger('stranger', stranger4)
  elsewhere = await openStranger('elsewhere', '44.128.8.8')
}, 300_000)

afterAll(() => town?.close())

/** A machine that sends as it likes; its keys are everywhere the same. */
async function openStranger(name: string, address: string): Promise<Machine> {
  const machine = await town.machine(name, address)
  machine.write('/etc/send.py', readFileSync('test/interop/world/send.py', 'utf8'))
  const reverse = address.split('.').toReversed().join('.')
  await town.names.put(`${reverse}.in-addr.arpa. IN PTR ${name}.lax.example.`, `${name}.lax.example. IN A ${address}`)
  if (name !== 'stranger') return machine
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const short = generateKeyPairSync('ed25519').privateKey
  machine.write('/etc/rsa', rsa.export({ type: 'pkcs1', format: 'pem' }).toString())
  const raw = (key: typeof short) => key.export({ type: 'pkcs8', format: 'der' }).subarray(-32).toString('base64')
  machine.write('/etc/short', raw(short))
  const open = (key: typeof short) => createPublicKey(key).export({ type: 'spki', format: 'der' })
  const quoted = (text: string) => (text.match(/.{1,200}/g) ?? []).map(part => `"${part}"`).join(' ')
  for (const [domain, policy] of Object.entries(policies)) {
    await town.names.put(
      `${domain}. IN TXT "v=spf1 ip4:${stranger4} -all"`,
      `${domain}. IN MX 10 stranger.lax.example.`,
      `_dmarc.${domain}. IN TXT "v=DMARC1; p=${policy}"`,
      `rsa._domainkey.${domain}. IN TXT "v=DKIM1; k=rsa; p=" ${quoted(open(rsa).toString('base64'))}`,
      `short._domainkey.${domain}. IN TXT "v=DKIM1; k=ed25519; p=${open(short).subarray(-32).toString('base64')}"`,
    )
  }
  return machine
}

let count = 0

function letter(from: string, to: string): { id: string; text: string } {
  const id = `${++count}.${now()}@${from.split('@')[1]}`
  const date = new Date(now()).toUTCString().replace('GMT', '+0000')
  const head = [`From: <${from}>`, `To: <${to}>`, `Subject: letter ${count}`, `Date: ${date}`, `Message-ID: <${id}>`]
  return { id, text: [...head, 'MIME-Version: 1.0', 'Content-Type: text/plain', '', 'Good day.', ''].join('\r\n') }
}

async function handed(machine: Machine, how: Record<string, unknown>): Promise<string> {
  return (await machine.good(['python3', '/etc/send.py', JSON.stringify(how)])).trim()
}

async function signed(text: string, domain: string, how: 'rsa' | 'short'): Promise<string> {
  const algorithm = how === 'rsa' ? 'rsa-sha256' : 'ed25519-sha256'
  const words = ['dkimsign', '--signalg', algorithm, how, domain, `/etc/${how}`]
  return await stranger.good(words, { input: text })
}

const results = (text: string) => /^Authentication-Results: [\s\S]*?(?=^\S+:)/im.exec(text)?.[0] ?? ''

interface Case {
  readonly what: string
  readonly domain: keyof typeof policies
  readonly from: 'stranger' | 'elsewhere'
  readonly sign?: 'rsa' | 'short'
  readonly torn?: boolean
  readonly answer: RegExp
  readonly folder?: string
  readonly found?: readonly string[]
}

const taken = /^250 /
const cases: readonly Case[] = [
  {
    what: 'SPF passes',
    domain: 'strict.example',
    from: 'stranger',
    answer: taken,
    folder: 'INBOX',
    found: ['spf=pass', 'dmarc=pass'],
  },
  {
    what: 'SPF fails, a signature of RSA holds',
    domain: 'strict.example',
    from: 'elsewhere',
    sign: 'rsa',
    answer: taken,
    folder: 'INBOX',
    found: ['spf=fail', 'dkim=pass', 'dmarc=pass'],
  },
  {
    what: 'SPF fails, a signature of Ed25519 holds',
    domain: 'strict.example',
    from: 'elsewhere',
    sign: 'short',
    answer: taken,
    folder: 'INBOX',
    found: ['spf=fail', 'dkim=pass', 'dmarc=pass'],
  },
  { what: 'all fails, p=reject', domain: 'strict.example', from: 'elsewhere', answer: /^550 5\.7\.26/ },
  {
    what: 'a signature of RSA is torn, p=reject',
    domain: 'strict.example',
    from: 'elsewhere',
    sign: 'rsa',
    torn: true,
    answer: /^550 5\.7\.26/,
  },
  {
    what: 'a signature of Ed25519 is torn, p=reject',
    domain: 'strict.example',
    from: 'elsewhere',
    sign: 'short',
    torn: true,
    answer: /^550 5\.7\.26/,
  },
  {
    what: 'all fails, p=quarantine',
    domain: 'careful.example',
    from: 'elsewhere',
    answer: taken,
    folder: 'Junk',
    found: ['spf=fail', 'dmarc=fail'],
  },
  {
    what: 'all fails, p=none',
    domain: 'lax.example',
    from: 'elsewhere',
    answer: taken,
    folder: 'INBOX',
    found: ['spf=fail', 'dmarc=fail'],
  },
]

describe('what comes in', () => {
  test.each(cases)('$what: $answer', async ({ domain, from, sign, torn, answer, folder, found = [] }) => {
    const { id, text } = letter(`eve@${domain}`, first.user)
    const whole = sign === undefined ? text : await signed(text, domain, sign)
    const message = torn === true ? whole.replace('Good day.', 'Bad day.') : whole
    const how = { host: first.host, helo: `${from}.lax.example`, from: `eve@${domain}`, to: first.user, message }
    let said = await handed(from === 'stranger' ? stranger : elsewhere, how)
    // Who is unknown and has something against him has to come twice.
    if (/^451 4\.7\.1/.test(said)) {
      await until('a second time', async () => {
        said = await handed(from === 'stranger' ? stranger : elsewhere, how)
        return !said.startsWith('451 4.7.1')
      })
    }
    expect(said).toMatch(answer)
    if (folder === undefined) return
    const { text: stored, path } = await first.arrived(id)
    expect(path).toBe(folder)
    for (const one of found) expect(results(stored)).toContain(one)
  })

  test('the others judge what we refuse to be forged: our domain from elsewhere is refused there', async () => {
    await town.names.put('_dmarc.example.org. IN TXT "v=DMARC1; p=reject"')
    const { text } = letter(first.user, 'bob@example.net')
    const how = {
      host: others.host,
      helo: 'elsewhere.lax.example',
      from: first.user,
      to: 'bob@example.net',
      message: text,
    }
    expect(await handed(elsewhere, how)).toMatch(/^5\d\d /)
  })

  test('what is forwarded fails DMARC and is refused, until who sealed it (ARC) is believed', async () => {
    const forwarded = async () => {
      const { id, text } = letter('eve@strict.example', 'forward@example.net')
      const how = {
        host: others.host,
        helo: 'stranger.lax.example',
        from: 'eve@strict.example',
        to: 'forward@example.net',
      }
      expect(await handed(stranger, { ...how, message: text })).toMatch(taken)
      return id
    }
    const id = await forwarded()
    await until('a refusal', async () => /status=bounced .*550 5\.7\.26/.test(others.log()), others.log)
    expect(await first.has(id)).toBe(false)
    await first.set('smtp', "arcSealers = ['example.net']")
    const { text } = await first.arrived(await forwarded())
    expect(results(text)).toContain('arc=pass')
  })
})

describe('what goes out', () => {
  /** Sends from the first service; what became of it once it was tried. */
  async function sent(to: string, options: readonly string[] = []): Promise<{ id: string; steps: Body[] }> {
    const { id, text } = letter(first.user, to)
    const how = {
      host: first.host,
      port: 465,
      from: first.user,
      to,
      message: text,
      password: first.password,
      trusted,
      options,
    }
    expect(await handed(first.machine, how)).toMatch(taken)
    const look = async () => {
      const steps = (await first.json('trace', `<${id}>`)).flatMap(({ steps }) => steps ?? [])
      return steps.some(({ step }: Body) => /delivered|deferred|failed|bounced|retry/.test(step)) && steps
    }
    return { id, steps: await until('an attempt', look, first.log) }
  }
  const last = (steps: readonly Body[]) =>
    steps.filter(({ step }) => step !== 'queued' && step !== 'done').at(-1) as Body

  test('Postfix finds it signed, with both keys, after a rotation with the new ones', async () => {
    const { id } = await sent('bob@example.net')
    const judged = results(await others.arrived('bob@example.net', id))
    for (const method of ['dkim', 'spf', 'dmarc']) expect(judged).toContain(`${method}=pass`)
    const before = (await first.json('dkim', 'list')).map(({ selector }) => selector)
    const next = await first.json('dkim', 'rotate', 'example.org')
    await town.names.put(...next.map(({ dnsTxt: { name, value } }) => `${name}. IN TXT ${quotedText(value)}`))
    const states = async () =>
      (await first.json('dkim', 'status', 'example.org')).filter(({ state }) => state === 'current')
    await until('new keys', async () => (await states()).every(({ selector }) => !before.includes(selector)))
    const later = await others.arrived('bob@example.net', (await sent('bob@example.net')).id)
    expect(results(later)).toContain('dkim=pass')
    for (const { selector } of next) expect(later).toContain(`s=${selector}`)
    for (const selector of before) expect(later).not.toContain(`s=${selector}`)
  })

  test('MTA-STS: hosts of the policy, with a certificate for their name, and no others', async () => {
    const fine = await sent(second.user)
    expect(last(fine.steps)).toMatchObject({ step: 'delivered', security: 'mta-sts' })
    await second.arrived(fine.id)
    await town.names.put(`example.com. IN MX 10 ${others.host}.`)
    await settled()
    expect(last((await sent(second.user)).steps).step).not.toBe('delivered')
    await town.names.put('example.com. IN MX 10 mail.example.com.', `mail.example.com. IN A ${others.machine.address}`)
    await settled()
    const bad = last((await sent(second.user)).steps)
    expect(bad.step).not.toMatch(/delivered|failed|bounced/)
    await town.names.put(`mail.example.com. IN A ${second.machine.address}`)
    await settled()
  })

  test('DANE: a host that its records prove; not where they say otherwise, and not while they cannot be believed', async () => {
    const right = `3 1 1 ${digestOf(others.machine.read('/etc/postfix/cert.pem'))}`
    const at = `_25._tcp.${others.host}. IN TLSA`
    await town.names.put(`${at} ${right}`)
    await settled()
    expect(last((await sent('bob@example.net')).steps)).toMatchObject({ step: 'delivered', security: 'dane' })
    await town.names.put(`${at} 3 1 1 ${'00'.repeat(32)}`)
    await settled()
    expect(last((await sent('bob@example.net')).steps).step).not.toMatch(/delivered|failed|bounced/)
    await town.names.put(`${at} ${right}`)
    await town.names.forge('example.net', true)
    await settled()
    expect(last((await sent('bob@example.net')).steps).step).not.toMatch(/delivered|failed|bounced/)
    await town.names.forge('example.net', false)
    await settled()
    expect(last((await sent('bob@example.net')).steps)).toMatchObject({ step: 'delivered', security: 'dane' })
  })

  test("DANE is left alone where the resolver is not on the machine: what it calls proven could be anybody's word, and mail goes on", async () => {
    const at = `_25._tcp.${others.host}. IN TLSA`
    await town.names.put(`${at} 3 1 1 ${'00'.repeat(32)}`)
    await settled()
    expect(last((await sent('bob@example.net')).steps).step).not.toMatch(/delivered|failed|bounced/)
    const own = first.machine.read('/etc/resolv.conf')
    first.machine.write('/etc/resolv.conf', own.replace('127.0.0.1', elsewhere.address))
    const proven = await first.machine.good(['drill', '-D', 'TLSA', `_25._tcp.${others.host}`, `@${elsewhere.address}`])
    expect(proven).toMatch(/ ad[; ]/)
    await settled()
    const { id, steps } = await sent('bob@example.net')
    expect(last(steps)).toMatchObject({ step: 'delivered', security: 'encrypted' })
    await others.arrived('bob@example.net', id)
    const policy = await sent(second.user)
    expect(last(policy.steps)).toMatchObject({ step: 'delivered', security: 'mta-sts' })
    await second.arrived(policy.id)
    first.machine.write('/etc/resolv.conf', own)
    await settled()
    expect(last((await sent('bob@example.net')).steps).step).not.toMatch(/delivered|failed|bounced/)
    await town.names.put(`${at} 3 1 1 ${digestOf(others.machine.read('/etc/postfix/cert.pem'))}`)
    await settled()
  })

  test('DANE of ours, as Postfix sees it', async () => {
    const proven = async () => {
      const { id, text } = letter('bob@example.net', first.user)
      await others.send('bob@example.net', first.user, text)
      return id
    }
    const shown = [
      'sh',
      '-c',
      `openssl s_client -connect ${first.host}:465 -servername ${first.host} < /dev/null 2>/dev/null`,
    ]
    const at = `_25._tcp.${first.host}. IN TLSA`
    await town.names.put(`${at} 3 1 1 ${digestOf(await first.machine.good(shown))}`)
    await settled()
    await first.arrived(await proven())
    expect(others.log()).toMatch(/Verified TLS connection established to mail\.example\.org/)
    await town.names.put(`${at} 3 1 1 ${'00'.repeat(32)}`)
    await settled()
    await proven()
    await until(
      'a refusal',
      async () => /status=deferred \(Server certificate not (verified|trusted)/.test(others.log()),
      others.log,
    )
    await town.names.drop(`_25._tcp.${first.host}`)
    await settled()
  })

  test('REQUIRETLS goes to a proven host that keeps it, and comes back from one that does not', async () => {
    const kept = await sent(second.user, ['REQUIRETLS'])
    expect(last(kept.steps)).toMatchObject({ step: 'delivered' })
    await second.arrived(kept.id)
    const back = await sent('bob@example.net', ['REQUIRETLS'])
    expect(last(back.steps).step).not.toBe('delivered')
    await until('a notice', async () => (await first.find(`REQUIRETLS`)) || (await first.find('5.7.30')), first.log)
  })

  test('reports of the day go out, signed, arrive at the other service and are read there', async () => {
    const { id, text } = letter(second.user, first.user)
    const how = {
      host: second.host,
      port: 465,
      from: second.user,
      to: first.user,
      message: text,
      password: second.password,
      trusted,
    }
    expect(await handed(second.machine, how)).toMatch(taken)
    await first.arrived(id)
    await second.restart('+2d')
    await first.restart('+2d')
    const read = async () => {
      const [{ dmarc, tls } = {} as Body] = await second.json('reports', 'example.com')
      return dmarc?.reports > 0 && tls?.reports > 0 && { dmarc, tls }
    }
    const { dmarc, tls } = await until('reports', read, () => `${first.log()}\n${second.log()}`, 120)
    expect(dmarc.messages).toBeGreaterThan(0)
    expect(tls.sessions).toBeGreaterThan(0)
    expect(tls.failed).toBeGreaterThan(0)
    await others.arrived('reports@example.net', 'Report Domain: example.net')
  }, 240_000)
})

/** What resolvers and services remember of names is a second old at most, and some of ours longer. */
async function settled(): Promise<void> {
  await sleep(1100)
  await others.machine.good(['postfix', 'reload'])
  await first.restart()
}

function quotedText(value: string): string {
  return (value.match(/.{1,200}/g) ?? []).map(part => `"${part}"`).join(' ')
}

/** The digest of a certificate's key, as TLSA 3 1 1 has it. */
function digestOf(pem: string): string {
  const [text = ''] = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/.exec(pem) ?? []
  const open = new X509Certificate(text).publicKey.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(open).digest('hex')
}
