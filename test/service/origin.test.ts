// Whether mail over SMTP comes from whom it says: what is found is kept and shown, and heeded where that is configured.

import { generateKeyPairSync } from 'node:crypto'
import { sealMessage } from 'mailauth/lib/arc/index.js'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { advanceClock, shiftClock } from '#lib/clock.ts'
import { Fault, smtpReply } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { privatePem } from '#lib/secret/private-key.ts'
import { dnsTxt, publicPem, signatures } from '#mail/crypt/dkim.ts'
import { verifyMessage } from '#mail/origin/verification.ts'
import type { Teal } from '#service'
import { Dialogue, deliver, openLmtp } from '../dialogue.ts'
import { Client } from '../imap/client.ts'
import { openSubscriber, until } from '../jobs/outbox.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { Wire } from '../net/wire.ts'
import { accessTo, type Running, startOnEngine } from '../running.ts'

const key = generateKeyPairSync('ed25519').privateKey
let dns: NameServer
const running: Partial<Record<'noting' | 'heeding' | 'off', Teal>> = {}
const at = (name: keyof typeof running): Running => accessTo(() => running[name] as Teal)

beforeAll(async () => {
  dns = await startNameServer()
  const smtp = { unjudged: [], arcSealers: ['sealer.test'], forwarders: ['list.test'], dnsServers: [dns.address] }
  running.noting = await startOnEngine(
    { smtp: { ...smtp, dmarc: 'note' }, network: { allowPrivate: ['127.0.0.0/8'] } },
    { strict: true },
  )
  running.heeding = await startOnEngine({ smtp }, { strict: true })
  running.off = await startOnEngine(
    { smtp: { authenticate: false, unjudged: [], dnsServers: [dns.address] } },
    { strict: true },
  )
  for (const name of ['noting', 'heeding', 'off'] as const) await at(name).user('anna')
})
afterAll(async () => {
  shiftClock(0)
  for (const teal of Object.values(running)) {
    expect(await teal.check()).toEqual([])
    await teal.close()
  }
  await dns.close()
})
beforeEach(() => {
  dns.texts.clear()
  dns.silent.clear()
  dns.failing = false
  const { name, value } = dnsTxt('good.test', 's1', publicPem(key))
  dns.texts.set('good.test', ['v=spf1 ip4:127.0.0.1 -all', 'something else'])
  dns.texts.set(name, [value])
  dns.texts.set('_dmarc.good.test', ['v=DMARC1; p=reject'])
  dns.texts.set('soft.test', ['v=spf1 -all'])
  dns.texts.set('_dmarc.soft.test', ['v=DMARC1; p=quarantine'])
})

let count = 0

function message(from: string, text = 'Hello'): Buffer {
  count += 1
  return Buffer.from(
    `From: ${from}\r\nTo: anna@example.com\r\nSubject: x\r\nMessage-ID: <o${count}@t>\r\n\r\n${text}\r\n`,
  )
}

async function signed(plain: Buffer, domain = 'good.test'): Promise<Buffer> {
  const head = await signatures(plain, [{ domain, selector: 's1', privateKey: privatePem(key) }])
  return Buffer.concat([Buffer.from(head), plain])
}

/** A message of good.test that was changed on its way and sealed by who changed it. */
async function sealed(signingDomain: string, authResults: string): Promise<Buffer> {
  const plain = message('bob@good.test')
  const privateKey = privatePem(key)
  const how = { signingDomain, selector: 's1', privateKey, algorithm: 'ed25519-sha256', authResults, cv: 'none' }
  return Buffer.concat([await sealMessage(plain, how as never), plain])
}

async function send(service: Running, sender: string, bytes: Buffer, to = 'anna@example.com'): Promise<string> {
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  await smtp.ask('EHLO there.test')
  const [reply = ''] = await deliver(smtp, sender, [to], bytes)
  smtp.close()
  return reply
}

/** The newest message of a folder. */
async function newest(service: Running, path = 'INBOX') {
  const { body: user } = await service.call('GET', '/users/resolve/anna')
  const { body } = await service.call('GET', `/users/${user.id}/mailboxes/resolve?path=${path}`)
  const messages = `/users/${user.id}/mailboxes/${body.id}/messages`
  const [row] = (await service.call('GET', messages)).body.results
  return (await service.call('GET', `${messages}/${row?.id}`)).body
}

async function newestSource(service: Running): Promise<string> {
  const { user, mailbox, id } = await newest(service)
  return (await service.raw('GET', `/users/${user}/mailboxes/${mailbox}/messages/${id}/message.eml`)).text()
}

describe('what is found', () => {
  test('is shown with the message: sending host, signature, policy', async () => {
    const noting = at('noting')
    expect(await send(noting, 'bob@good.test', await signed(message('bob@good.test')))).toMatch(/^250/)
    expect((await newest(noting)).verificationResults).toEqual({
      ...{ tls: false, spf: 'good.test', dkim: 'good.test' },
      dmarc: { domain: 'good.test', policy: 'reject' },
    })
    const source = await newestSource(noting)
    expect(source).toMatch(
      /\r\nAuthentication-Results: \S+;\r\n\tspf=pass [^;]*smtp\.mailfrom=good\.test[^;]*;\r\n\tdkim=pass/,
    )
    expect(source).toMatch(/;\r\n\tdmarc=pass [^;]*header\.from=good\.test[^;]*\r\nReceived: from there\.test /)
  })

  test('is shown to mail programs, and nothing of ours that a stranger says', async () => {
    const noting = at('noting')
    const host = /^Authentication-Results: ([^;\s]+)/m.exec(await newestSource(noting))?.[1]
    const said = Buffer.from(`Authentication-Results: ${host}; dmarc=pass header.from=bank.test\r\n`)
    const plain = await signed(message('bob@good.test'))
    expect(await send(noting, 'bob@good.test', Buffer.concat([said, plain]))).toMatch(/^250/)
    const imap = await Client.login(noting.at('imap'), 'anna', 'INBOX')
    const [shown = ''] = await imap.ok('FETCH * BODY.PEEK[HEADER.FIELDS (Authentication-Results)]')
    expect(shown.match(/^.*Authentication-Results: .*$/gim)).toHaveLength(1)
    expect(shown).toMatch(/\r\n\tspf=pass [\s\S]*\r\n\tdkim=pass [\s\S]*\r\n\tdmarc=pass [^;]*header\.from=good\.test/)
    expect(shown).not.toContain('bank.test')
    imap.close()
  })

  test.each([
    [
      'a signature alone',
      'x@elsewhere.test',
      true,
      { spf: false, dkim: 'good.test', dmarc: { domain: 'good.test', policy: 'reject' } },
    ],
    [
      'the host alone',
      'x@good.test',
      false,
      { spf: 'good.test', dkim: false, dmarc: { domain: 'good.test', policy: 'reject' } },
    ],
    ['nothing', 'x@soft.test', false, { spf: false, dkim: false, dmarc: { domain: false, policy: 'reject' } }],
    ['a null sender', '', false, { spf: false, dkim: false, dmarc: { domain: false, policy: 'reject' } }],
  ])('with %s', async (_, sender, signs, wanted) => {
    const plain = message('bob@good.test')
    expect(await send(at('noting'), sender, signs ? await signed(plain) : plain)).toMatch(/^250/)
    expect((await newest(at('noting'))).verificationResults).toEqual({ tls: false, ...wanted })
  })

  test('of a sender whose domain is not ASCII names it as DNS has it', async () => {
    dns.texts.set('xn--bcher-kva.test', ['v=spf1 ip4:127.0.0.1 -all'])
    const smtp = await Dialogue.open(at('noting').at('smtp'))
    await smtp.reply()
    for (const line of [
      'EHLO there.test',
      'MAIL FROM:<bob@b\u00fccher.test> SMTPUTF8',
      'RCPT TO:<anna@example.com>',
      'DATA',
    ])
      await smtp.ask(line)
    expect(await smtp.ask(`${message('bob@b\u00fccher.test').toString()}.`)).toMatch(/^250/)
    smtp.close()
    expect((await newest(at('noting'))).verificationResults).toMatchObject({ spf: 'xn--bcher-kva.test' })
    expect(await newestSource(at('noting'))).toMatch(/\tspf=pass [^?;]* smtp\.mailfrom=xn--bcher-kva\.test;/)
  })

  test('a broken signature, a foreign one and one of a part prove nothing', async () => {
    const noting = at('noting')
    const changed = Buffer.from((await signed(message('bob@good.test'))).toString().replace('Hello', 'Hullo'))
    await send(noting, 'x@elsewhere.test', changed)
    expect((await newest(noting)).verificationResults).toMatchObject({ dkim: false, dmarc: { domain: false } })
    await send(noting, 'x@elsewhere.test', await signed(message('bob@soft.test')))
    const foreign = (await newest(noting)).verificationResults
    expect(foreign).toMatchObject({ dkim: 'good.test', dmarc: { domain: false, policy: 'quarantine' } })
    const many = `DKIM-Signature: v=1; a=rsa-sha256; d=good.test; s=s1; h=from; bh=AA==; b=AA==\r\n`.repeat(
      limits.verify.signaturesMax,
    )
    await send(noting, 'x@elsewhere.test', Buffer.concat([Buffer.from(many), await signed(message('bob@good.test'))]))
    const shown = (await newest(noting)).verificationResults
    expect(shown).toMatchObject({ dkim: false, dmarc: { domain: false, policy: 'reject' } })
  })

  test('no policy is no verdict, and neither are several authors without one', async () => {
    const noting = at('noting')
    await send(noting, 'x@elsewhere.test', message('bob@nowhere.test'))
    expect((await newest(noting)).verificationResults).toEqual({ tls: false, spf: false, dkim: false })
    expect(await send(at('heeding'), 'x@elsewhere.test', message('a@nowhere.test, b@elsewhere.test'))).toMatch(/^250/)
    expect((await newest(at('heeding'))).verificationResults).toEqual({ tls: false, spf: false, dkim: false })
  })

  test('without an author nothing is taken where verdicts are heeded, and where they are not it is noted', async () => {
    expect(await send(at('heeding'), 'x@elsewhere.test', message(''))).toMatch(/^554 5\.6\.0 .*From/)
    expect(await send(at('noting'), 'x@elsewhere.test', message(''))).toMatch(/^250/)
    expect((await newest(at('noting'))).verificationResults.dmarc).toEqual({ domain: false, policy: 'reject' })
  })

  test('says how the connection was secured', async () => {
    const wire = await Wire.open(at('noting').at('smtp'))
    await wire.reply()
    await wire.ask('EHLO there.test')
    await wire.ask('STARTTLS')
    await wire.startTls()
    for (const line of ['EHLO there.test', 'MAIL FROM:<x@good.test>', 'RCPT TO:<anna@example.com>', 'DATA'])
      await wire.ask(line)
    expect(await wire.ask(`${message('x@good.test').toString()}.`)).toMatch(/^250/)
    wire.close()
    const { tls } = (await newest(at('noting'))).verificationResults
    expect(tls).toEqual({ name: expect.stringMatching(/^TLS_/), version: 'TLSv1.3' })
  })

  test('goes with the event of a message that is marked', async () => {
    const service = at('noting')
    const subscriber = await openSubscriber()
    await service.call('POST', '/webhooks', { type: ['marked.spam'], url: subscriber.url })
    await send(service, 'x@good.test', message('x@good.test'))
    const shown = await newest(service)
    const { body: user } = await service.call('GET', '/users/resolve/anna')
    const junk = (await service.call('GET', `/users/${user.id}/mailboxes/resolve?path=Junk`)).body.id
    const path = `/users/${user.id}/mailboxes/${shown.mailbox}/messages`
    expect((await service.call('PUT', path, { message: String(shown.id), moveTo: junk })).status).toBe(200)
    await until('the event', () => subscriber.calls.length > 0)
    expect(subscriber.calls[0]?.body.verificationResults).toEqual(shown.verificationResults)
    await subscriber.close()
  })
})

describe('what follows', () => {
  test('nothing, unless the policy is to be heeded', async () => {
    expect(await send(at('noting'), 'x@elsewhere.test', message('bob@good.test'))).toMatch(/^250/)
    expect(await send(at('heeding'), 'bob@good.test', message('bob@good.test'))).toMatch(/^250/)
    const { code, enhanced } = smtpReply(new Fault('SenderRefused'))
    const reply = await send(at('heeding'), 'x@elsewhere.test', message('bob@good.test'))
    expect(reply).toMatch(new RegExp(`^${code} ${enhanced} `))
    expect([code, enhanced]).toEqual([550, '5.7.26'])
  })

  test('what is to be put aside lands in Junk', async () => {
    const text = `aside ${count}`
    expect(await send(at('heeding'), 'x@elsewhere.test', message('bob@soft.test', text))).toMatch(/^250/)
    expect((await newest(at('heeding'), 'Junk')).text).toContain(text)
  })

  test('a thousand signatures save nobody from being judged, and nobody from being believed', async () => {
    const heeding = at('heeding')
    const line = (n: number) => `DKIM-Signature: v=1; a=rsa-sha256; d=d${n}.test; s=s; h=from; bh=AA==; b=AA==\r\n`
    const many = Buffer.from(Array.from({ length: 1000 }, (_, n) => line(n)).join(''))
    const asked = dns.asked.length
    expect(await send(heeding, 'x@elsewhere.test', Buffer.concat([many, message('bob@good.test')]))).toMatch(/^550/)
    const believed = Buffer.concat([many, await signed(message('bob@good.test'))])
    expect(await send(heeding, 'x@elsewhere.test', believed)).toMatch(/^250/)
    expect(dns.asked.length - asked).toBeLessThan(limits.verify.keyLookupsMax + limits.verify.policyLookupsMax)
  })

  test.each([
    ['a policy for no share of messages asks for one step less', 'pct.test', 'v=DMARC1; p=reject; pct=0', 'Junk'],
    ['a test asks for one step less', 'tried.test', 'v=DMARC1; p=reject; t=y', 'Junk'],
    ['subdomains have a policy of their own', 'a.sub.test', 'v=DMARC1; p=reject; sp=none', 'INBOX'],
  ])('%s', async (_, domain, policy, path) => {
    dns.texts.set(`_dmarc.${domain.replace(/^a\./, '')}`, [policy])
    dns.texts.set(domain, ['v=spf1 -all'])
    const text = `as asked ${domain}`
    expect(await send(at('heeding'), 'x@elsewhere.test', message(`bob@${domain}`, text))).toMatch(/^250/)
    expect((await newest(at('heeding'), path)).text).toContain(text)
  })

  test.each([
    [
      'a domain that does not exist has a policy of its own',
      'ghost.np.test',
      'np.test',
      'p=none; sp=none; np=reject',
      '550',
    ],
    ['one that exists has not', 'here.np.test', 'np.test', 'p=none; sp=none; np=reject', '250'],
    ['subdomains are as strict as the domain', 'a.b.deep.test', 'deep.test', 'p=reject', '550'],
    ['a subdomain speaks for itself', 'own.deep.test', 'own.deep.test', 'p=none', '250'],
    [
      'who is above all of a zone speaks for none who speaks himself',
      'x.zone.test',
      'zone.test',
      'p=reject; psd=y',
      '550',
    ],
    ['two policies are none', 'two.test', 'two.test', '', '250'],
    ['what cannot be read is none', 'odd.test', 'odd.test', 'p=burn', '250'],
    ['a share that is no number is none', 'share.test', 'share.test', 'p=reject; pct=all', '550'],
  ])('%s: %s', async (_, domain, where, policy, code) => {
    dns.texts.set(
      `_dmarc.${where}`,
      policy === '' ? ['v=DMARC1; p=reject', 'v=DMARC1; p=none'] : [`v=DMARC1; ${policy}`],
    )
    if (domain !== 'ghost.np.test') dns.texts.set(domain, ['v=spf1 -all'])
    expect(await send(at('heeding'), 'x@elsewhere.test', message(`bob@${domain}`))).toMatch(new RegExp(`^${code}`))
  })

  test('a null sender is known by the name its host gives, a record that asks too much proves nothing', async () => {
    dns.texts.set('mailer.test', ['v=spf1 ip4:127.0.0.1 -all'])
    const smtp = await Dialogue.open(at('noting').at('smtp'))
    await smtp.reply()
    await smtp.ask('EHLO mailer.test')
    expect(await deliver(smtp, '', ['anna@example.com'], message('x@mailer.test'))).toEqual([
      expect.stringMatching(/^250/),
    ])
    smtp.close()
    expect((await newest(at('noting'))).verificationResults).toMatchObject({ spf: 'mailer.test' })
    // RFC 7208 4.6.4: more than two names that do not exist.
    dns.texts.set('void.test', ['v=spf1 a:n1.void.test a:n2.void.test a:n3.void.test ip4:127.0.0.1 -all'])
    expect(await send(at('noting'), 'x@void.test', message('x@void.test'))).toMatch(/^250/)
    expect((await newest(at('noting'))).verificationResults).toMatchObject({ spf: false })
    expect(await newestSource(at('noting'))).toMatch(/\tspf=permerror/)
    dns.texts.set('macro.test', ['v=spf1 exists:%{l}.%{ir}.%{v}.macro.test -all'])
    dns.records.set('A bob.1.0.0.127.in-addr.macro.test', ['127.0.0.2'])
    expect(await send(at('noting'), 'bob@macro.test', message('bob@macro.test'))).toMatch(/^250/)
    expect((await newest(at('noting'))).verificationResults).toMatchObject({ spf: 'macro.test' })
  })

  test('alignment is relaxed, unless the domain wants it strict', async () => {
    dns.texts.set('mail.kin.test', ['v=spf1 ip4:127.0.0.1 -all'])
    dns.texts.set('_dmarc.kin.test', ['v=DMARC1; p=reject'])
    expect(await send(at('heeding'), 'x@mail.kin.test', message('bob@kin.test'))).toMatch(/^250/)
    dns.texts.set('mail.stern.test', ['v=spf1 ip4:127.0.0.1 -all'])
    dns.texts.set('_dmarc.stern.test', ['v=DMARC1; p=reject; aspf=s'])
    expect(await send(at('heeding'), 'x@mail.stern.test', message('bob@stern.test'))).toMatch(/^550/)
  })

  test('a sealer who is believed may vouch, another may not', async () => {
    const heeding = at('heeding')
    for (const domain of ['sealer.test', 'liar.test']) {
      const { name, value } = dnsTxt(domain, 's1', publicPem(key))
      dns.texts.set(name, [value])
    }
    const said = 'mx; dmarc=pass header.from=good.test'
    expect(await send(heeding, 'x@elsewhere.test', await sealed('sealer.test', said))).toMatch(/^250/)
    const { verificationResults } = await newest(heeding)
    expect(verificationResults).toMatchObject({ arc: 'sealer.test', dmarc: { domain: false, policy: 'reject' } })
    expect(await newestSource(heeding)).toContain('(pardoned: sealed by sealer.test)')
    expect(await send(heeding, 'x@elsewhere.test', await sealed('liar.test', said))).toMatch(/^550/)
    const nothing = ['mx; dmarc=fail header.from=good.test', 'mx; dmarc=pass header.from=other.test', 'mx; spf=pass']
    for (const other of nothing)
      expect(await send(heeding, 'x@elsewhere.test', await sealed('sealer.test', other))).toMatch(/^550/)
    const broken = Buffer.from((await sealed('sealer.test', said)).toString().replace('Hello', 'Hullo'))
    expect(await send(heeding, 'x@elsewhere.test', broken)).toMatch(/^550/)
  })

  test('nobody is answered whose domain says that it is not its', async () => {
    const service = at('noting')
    const user = await service.user('away')
    expect((await service.call('PUT', `/users/${user}/autoreply`, { status: true, text: 'Later' })).body.success).toBe(
      true,
    )
    const desk = { address: 'desk@example.com', autoreply: { status: true, text: 'We have it' } }
    expect((await service.call('POST', '/addresses/forwarded', desk)).status).toBe(200)
    dns.texts.set('disowning.test', ['v=spf1 -all'])
    const { name, value } = dnsTxt('disowning.test', 's1', publicPem(key))
    dns.texts.set(name, [value])
    const answered = async () => {
      const queued = await service.teal.core.read.all<{ value: string }>(
        "SELECT value FROM outbound_target t JOIN outbound o ON o.num = t.message WHERE o.origin = 'autoreply' ORDER BY value",
      )
      return queued.map(({ value }) => value)
    }
    const mail = (to: string, from: string) =>
      Buffer.from(message(from).toString().replace('anna@example.com', to).replace('Subject: x', `Subject: ${from}`))
    for (const to of ['away@example.com', 'desk@example.com']) {
      expect(await send(service, `forged-${to[0]}@disowning.test`, mail(to, 'a@disowning.test'), to)).toMatch(/^250/)
      const own = await signed(mail(to, 'b@disowning.test'), 'disowning.test')
      expect(await send(service, `own-${to[0]}@disowning.test`, own, to)).toMatch(/^250/)
    }
    const { body: list } = await service.call('GET', `/users/${user}/filters/trace`)
    expect(list.results?.map(({ autoreply }: { autoreply: { reason?: string } }) => autoreply.reason)).toContain(
      'forged-sender',
    )
    expect(await answered()).toEqual(['own-a@disowning.test', 'own-d@disowning.test'])
  })

  test('a forwarder that is named brings mail of others', async () => {
    dns.texts.set('list.test', ['v=spf1 ip4:127.0.0.1 -all'])
    expect(await send(at('heeding'), 'x@list.test', message('bob@good.test'))).toMatch(/^250/)
    expect(await newestSource(at('heeding'))).toContain('(pardoned: forwarded by list.test)')
  })

  test('the house itself and its networks are no strangers, without being asked', async () => {
    const teal = await startOnEngine({ smtp: { dnsServers: [dns.address] } }, { strict: true })
    const service = accessTo(() => teal)
    await service.user('anna')
    const asked = dns.asked.length
    expect(await send(service, 'x@elsewhere.test', message('bob@good.test'))).toMatch(/^250/)
    expect((await newest(service)).verificationResults).toEqual({ tls: false })
    expect(dns.asked.length).toBe(asked)
    await teal.close()
  })

  test('who asks for nothing is looked up nowhere, nor is mail over LMTP', async () => {
    const asked = dns.asked.length
    expect(await send(at('off'), 'x@soft.test', message('bob@good.test'))).toMatch(/^250/)
    expect((await newest(at('off'))).verificationResults).toEqual({ tls: false })
    const lmtp = await openLmtp(at('heeding').at('lmtp'))
    const replies = await deliver(lmtp, 'x@soft.test', ['anna@example.com'], message('bob@good.test'))
    lmtp.close()
    expect(replies).toEqual([expect.stringMatching(/^250/)])
    expect((await newest(at('heeding'))).verificationResults).toBeUndefined()
    expect(dns.asked.length).toBe(asked)
  })
})

describe('names that cannot be looked up', () => {
  test('a server that fails costs nobody his mail', async () => {
    dns.failing = true
    expect(await send(at('heeding'), 'x@gone.test', message('bob@gone.test'))).toMatch(/^250/)
    expect((await newest(at('heeding'))).verificationResults).toEqual({ tls: false, spf: false, dkim: false })
  })

  test('a server that never answers costs no more than the time there is', { timeout: 30_000 }, async () => {
    dns.silent.add('mute.test')
    const replies = await Promise.all(
      Array.from({ length: 3 * limits.verify.concurrency }, (_, n) =>
        send(at('heeding'), `x@n${n}.mute.test`, message(`bob@n${n}.mute.test`)),
      ),
    )
    expect(new Set(replies.map(reply => reply.slice(0, 3)))).toEqual(new Set(['250']))
    expect((await newest(at('heeding'))).verificationResults).toMatchObject({ tls: false })
  })

  test('who makes it costly to look comes not past a policy while the thread for it is busy', {
    timeout: 120_000,
  }, async () => {
    const heeding = at('heeding')
    for (let at = 0; at < 7; at++) dns.silent.add(`slow${at}.test`)
    const fields = 'X-More: 1\r\n'.repeat(limits.verify.plainFieldsMax + 1)
    const costly = (from: string) => {
      const plain = message(from, `${'x'.repeat(70)}\r\n`.repeat(limits.verify.largeBytes / 70))
      return Buffer.concat([Buffer.from(fields), plain])
    }
    // Large ones are looked at one after the other: whatever a busy machine is late with, there is always one.
    let isOver = false
    const slow = [...dns.silent].map(async domain => {
      for (let count = 0; !isOver; count++) {
        const from = `bob@n${count}.${domain}`
        await send(heeding, from, costly(from))
      }
    })
    await expect.poll(() => dns.asked.some(name => name.includes('slow'))).toBe(true)
    const forged = costly('bob@good.test')
    const forge = () => send(heeding, 'eve@evil.test', forged)
    await expect.poll(forge, { timeout: 60_000 }).toMatch(/^451 4\.7\.1 /)
    isOver = true
    await Promise.all(slow)
  })

  test('what might have passed is put off and not refused', async () => {
    dns.texts.set('_dmarc.later.test', ['v=DMARC1; p=reject'])
    dns.texts.set('_dmarc.spf.later.test', ['v=DMARC1; p=reject'])
    dns.silent.add('s1._domainkey.later.test').add('host.spf.later.test')
    dns.texts.set('later.test', ['v=spf1 -all'])
    dns.texts.set('spf.later.test', ['v=spf1 include:host.spf.later.test -all'])
    const signature = await signed(message('bob@later.test'), 'later.test')
    const heeding = at('heeding')
    const { code, enhanced } = smtpReply(new Fault('SenderUnproven'))
    expect([code, enhanced]).toEqual([451, '4.7.26'])
    expect(await send(heeding, 'x@elsewhere.test', signature)).toMatch(new RegExp(`^${code} ${enhanced} `))
    expect(await send(heeding, 'x@spf.later.test', message('bob@spf.later.test'))).toMatch(/^451 4\.7\.26/)
    // Nothing that did not answer would have made it pass.
    const foreign = await signed(message('bob@good.test'), 'later.test')
    expect(await send(heeding, 'x@elsewhere.test', foreign)).toMatch(/^550 5\.7\.26/)
  })

  test('a key of 64 KB proves nothing, and includes that go round end', async () => {
    const { name, value } = dnsTxt('fat.test', 's1', publicPem(key))
    dns.texts.set(name, [`${value};n=${'x'.repeat(50_000)}`])
    dns.texts.set('_dmarc.fat.test', ['v=DMARC1; p=reject'])
    dns.texts.set('fat.test', ['v=spf1 include:fat.test include:round.fat.test -all'])
    dns.texts.set('round.fat.test', ['v=spf1 include:fat.test include:round.fat.test -all'])
    const asked = dns.asked.length
    const reply = await send(at('heeding'), 'x@fat.test', await signed(message('bob@fat.test'), 'fat.test'))
    expect(reply).toMatch(/^(?:550 5|451 4)\.7\.26/)
    expect(dns.asked.length - asked).toBeLessThan(limits.verify.spfLookupsMax)
  })

  test('an answer is remembered, and so is that there is none', async () => {
    dns.texts.set('twice.test', ['v=spf1 -all'])
    for (let n = 0; n < 3; n += 1) await send(at('heeding'), 'x@twice.test', message('bob@twice.test'))
    expect(dns.asked.filter(one => one === 'TXT twice.test')).toHaveLength(1)
    expect(dns.asked.filter(one => one === 'TXT _dmarc.twice.test')).toHaveLength(1)
  })

  test.each([
    ['stricter', 'p=none', '250', 'p=reject', '550'],
    ['milder', 'p=reject', '550', 'p=none', '250'],
  ])(
    'a policy that has become %s is heeded when the old one has had its time',
    async (name, old, first, next, then) => {
      const domain = `${name}.changed.test`
      const bring = async () => (await send(at('heeding'), 'x@elsewhere.test', message(`bob@${domain}`))).slice(0, 3)
      const asked = () => dns.asked.filter(one => one === `TXT _dmarc.${domain}`).length
      dns.texts.set(domain, ['v=spf1 -all'])
      dns.texts.set(`_dmarc.${domain}`, [`v=DMARC1; ${old}`])
      expect(await bring()).toBe(first)
      dns.texts.set(`_dmarc.${domain}`, [`v=DMARC1; ${next}`])
      // It is believed meanwhile, also where mail keeps coming.
      advanceClock(limits.verify.resultMs)
      expect([await bring(), asked()]).toEqual([first, 1])
      advanceClock(limits.verify.answerMs - limits.verify.resultMs)
      // What was worked out of an answer may be as old as it was then.
      advanceClock(limits.verify.resultMs)
      expect([await bring(), asked()]).toEqual([then, 2])
    },
  )

  test('questions of one message have a number', async () => {
    let asked = 0
    const resolve = async (name: string) => {
      asked += 1
      return name.startsWith('_')
        ? [['v=DMARC1; p=none']]
        : [[`v=spf1 include:a${asked}.${name} include:b${asked}.${name} -all`]]
    }
    const from = Array.from({ length: 200 }, (_, n) => `a@d${n}.test`).join(', ')
    const input = {
      message: message(from),
      ip: '192.0.2.1',
      helo: 'h.test',
      sender: 'x@loop.test',
      hostname: 'mx.test',
      sealers: [],
    }
    expect(await verifyMessage(input, resolve)).toMatchObject({ spf: false, dkim: false })
    expect(asked).toBeLessThanOrEqual(limits.verify.spfLookupsMax + limits.verify.policyLookupsMax)
  })
})
