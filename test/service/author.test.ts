// In whose name a message may come: whatever a stranger writes into From so that one reader finds somebody else there than another, each of
// those found must be proven; and what is signed, sealed or said in our name proves no more than it says.

import { generateKeyPairSync } from 'node:crypto'
import { sealMessage } from 'mailauth/lib/arc/index.js'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { privatePem } from '#lib/secret/private-key.ts'
import { dnsTxt, publicPem } from '#mail/crypt/dkim.ts'
import { readResults } from '#mail/header/auth-results.ts'
import type { Teal } from '#service'
import { Dialogue, deliver } from '../dialogue.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { accessTo, startOnEngine } from '../running.ts'

const key = generateKeyPairSync('ed25519').privateKey
const privateKey = privatePem(key)
let dns: NameServer
let teal: Teal
let anna: string
const service = accessTo(() => teal)

beforeAll(async () => {
  dns = await startNameServer()
  const smtp = { unjudged: [], arcSealers: ['sealer.test'], dnsServers: [dns.address] }
  teal = await startOnEngine({ smtp }, { strict: true })
  anna = await service.user('anna')
  for (const domain of ['bank.test', 'sealer.test', 'xn--bnk-qla.test']) putKey(domain)
  dns.texts.set('evil.test', ['v=spf1 ip4:127.0.0.1 -all'])
  dns.texts.set('_dmarc.evil.test', ['v=DMARC1; p=reject'])
  dns.texts.set('_dmarc.bank.test', ['v=DMARC1; p=reject'])
  dns.texts.set('_dmarc.xn--bnk-qla.test', ['v=DMARC1; p=reject'])
  dns.texts.set('_dmarc.careful.test', ['v=DMARC1; p=quarantine'])
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  await dns.close()
})

function putKey(domain: string, selector = 's1'): void {
  const { name, value } = dnsTxt(domain, selector, publicPem(key))
  dns.texts.set(name, [value])
}

let count = 0

function letter(head: string, text = 'Hello'): Buffer {
  count += 1
  return Buffer.from(`${head}\r\nSubject: x${count}\r\nMessage-ID: <${count}@t>\r\n\r\n${text}\r\n`)
}

async function send(bytes: Buffer, sender = 'x@evil.test'): Promise<string> {
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  await smtp.ask('EHLO there.test')
  const [reply = ''] = await deliver(smtp, sender, ['anna@example.com'], bytes)
  smtp.close()
  return reply
}

/** The message that came last, with its source. */
async function newest(path = 'INBOX') {
  const { body } = await service.call('GET', `/users/${anna}/mailboxes/resolve?path=${path}`)
  const messages = `/users/${anna}/mailboxes/${body.id}/messages`
  const [row] = (await service.call('GET', messages)).body.results
  expect(row.subject).toBe(`x${count}`)
  const source = await (await service.raw('GET', `${messages}/${row.id}/message.eml`)).text()
  return { ...(await service.call('GET', `${messages}/${row.id}`)).body, source }
}

async function signed(plain: Buffer, more: Record<string, unknown> = {}, when: object = {}): Promise<Buffer> {
  const one = { signingDomain: 'bank.test', selector: 's1', privateKey, algorithm: 'ed25519-sha256', ...more }
  const { signatures } = await dkimSign(plain, { ...when, signatureData: [one] } as never)
  return Buffer.concat([Buffer.from(signatures), plain])
}

const nul = String.fromCharCode(0)

describe('somebody else is not hidden', () => {
  test.each([
    ['among several', 'From: a@bank.test, x@evil.test'],
    ['behind several', 'From: x@evil.test, y@evil.test, a@bank.test'],
    ['behind a semicolon', 'From: x@evil.test; a@bank.test'],
    ['in a group', 'From: us: x@evil.test, a@bank.test;'],
    ['in a second field', 'From: a@bank.test\r\nFrom: x@evil.test'],
    ['in a first field', 'From: x@evil.test\r\nFrom: a@bank.test'],
    ['in a field whose name has a space behind it', 'From: x@evil.test\r\nFrom : a@bank.test'],
    ['in a field whose colon is on the next line', 'From\r\n : a@bank.test\r\nFrom: x@evil.test'],
    ['behind a bare CR', 'X-Note: 1\rFrom: a@bank.test\r\nFrom: x@evil.test'],
    ['in two brackets', 'From: <x@evil.test> <a@bank.test>'],
    ['in two brackets, the other way', 'From: <a@bank.test><x@evil.test>'],
    ['in two words', 'From: x@evil.test a@bank.test'],
    ['behind NUL', `From: <a@bank.test>${nul}<x@evil.test>`],
    ['before NUL', `From: <a@bank.test${nul}@evil.test>`],
    ['before a second @', 'From: <a@bank.test@evil.test>'],
    ['behind a route', 'From: <@evil.test:a@bank.test>'],
    ['in a route', 'From: <@bank.test:x@evil.test>'],
    ['with a bracket that nothing opened', 'From: a@bank.test>'],
    ['with a space in it', 'From: a@bank .test'],
    ['with what shows as nothing', 'From: a@bank\u00ad.test\u200b'],
    ['in letters of full width', 'From: a@ｂａｎｋ。test'],
    ['in letters that are not ASCII', 'From: a@bänk.test'],
    ['in an encoded word that stands for an address', 'From: =?utf-8?q?a=40bank.test?='],
    ['in quotes that stand for an address', 'From: "a@bank.test"'],
    ['in an encoded word for a domain', 'From: a@=?utf-8?q?bank=2Etest?='],
    ['behind a backslash', 'From: a@bank\\.test'],
    ['with a dot at its end', 'From: <a@bank.test.>'],
    ['with comments in it', 'From: a@(x)bank.(y)test'],
    ['on a folded line', 'From: x@evil.test\r\n\t,\r\n a@bank.test'],
    ['by a name that does not exist below it', 'From: a@no.such.bank.test'],
    ['in a field whose name begins with NUL', `${nul}From: a@bank.test\r\nFrom: x@evil.test`],
    ['in a field whose name has NUL in it', `X-Note: 1\r\nFr${nul}om: a@bank.test\r\nFrom: x@evil.test`],
    ['in a field whose name has VT behind it', 'X-Note: 1\r\nFrom\x0b: a@bank.test\r\nFrom: x@evil.test'],
    ['in a field whose name has a wide space behind it', 'From\u00a0:\r\n a@bank.test\r\nFrom: x@evil.test'],
    ['in a field behind a mark of the code', '\ufeffFROM: a@bank.test\r\nFrom: x@evil.test'],
  ])('%s', async (_, head) => {
    expect(await send(letter(head))).toMatch(/^550 5\.7\.26/)
  })

  test.each([
    ['an address as a name', 'From: "a@bank.test" <x@evil.test>'],
    ['an encoded word as a name', 'From: =?utf-8?q?a=40bank.test?= <x@evil.test>'],
    ['a comment', 'From: x@evil.test (a@bank.test)'],
    ['a local part in quotes', 'From: <"a@bank.test"@evil.test>'],
    ['several of one domain', 'From: x@evil.test, y@evil.test'],
  ])('%s is no author', async (_, head) => {
    expect(await send(letter(head))).toMatch(/^250/)
    expect((await newest()).verificationResults.dmarc).toEqual({ domain: 'evil.test', policy: 'reject' })
  })

  test('the strictest policy of those who are not proven is heeded', async () => {
    expect(await send(letter('From: x@evil.test, a@careful.test'))).toMatch(/^250/)
    const { verificationResults, source } = await newest('Junk')
    expect(verificationResults.dmarc).toEqual({ domain: false, policy: 'quarantine' })
    expect(source).not.toMatch(/dmarc=pass/)
    expect(await send(letter('From: x@evil.test, a@careful.test, a@bank.test'))).toMatch(/^550 5\.7\.26/)
  })

  test('who names more than are looked at is put aside, at a bounded price', async () => {
    const asked = dns.asked.length
    const crowd = Array.from({ length: 200 }, (_, n) => `a@d${n}.test`)
    expect(await send(letter(`From: ${crowd.join(', ')}`))).toMatch(/^250/)
    expect((await newest('Junk')).verificationResults.dmarc).toEqual({ domain: false, policy: 'quarantine' })
    expect(dns.asked.length - asked).toBeLessThan(limits.verify.spfLookupsMax)
  })

  test('who has many names uses up no questions about others', async () => {
    dns.texts.set('_dmarc.names.test', ['v=DMARC1; p=none'])
    const own = ['f', 'g', 'h', 'i'].map(one => `x@a.b.c.d.e.${one}.names.test`)
    let message = letter(`From: ${own.join(', ')}, a@bank.test`)
    for (let n = 0; n < 6; n++) {
      const signingDomain = `l${n}.m${n}.n${n}.o${n}.names.test`
      putKey(signingDomain)
      message = await signed(message, { signingDomain })
    }
    const asked = dns.asked.length
    expect(await send(message)).toMatch(/^550 5\.7\.26/)
    const { spfLookupsMax, keyLookupsMax, policyLookupsMax } = limits.verify
    expect(dns.asked.length - asked).toBeLessThan(spfLookupsMax + keyLookupsMax + policyLookupsMax)
  })

  test('a signature proves nobody where a second author was put beside the signed one', async () => {
    const whole = await signed(letter('From: a@bank.test'))
    expect(await send(whole, 'x@elsewhere.test')).toMatch(/^250/)
    const again = await signed(letter('From: a@bank.test'))
    const added = Buffer.concat([Buffer.from('From: "The bank" <boss@bank.test>\r\n'), again])
    expect(await send(added, 'x@elsewhere.test')).toMatch(/^550 5\.7\.26/)
  })
})

test.each([
  ['that has not ended', -10, 10, /^250/],
  ['that has ended', -10, -5, /^550 5\.7\.26/],
])('a signature with a time %s (x=)', async (_, from, to, answer) => {
  const when = { signTime: new Date(now() + from * limits.time.day), expires: new Date(now() + to * limits.time.day) }
  const whole = await signed(letter('From: a@bank.test'), {}, when)
  expect(whole.toString()).toMatch(/[ ;]x=\d+/)
  expect(await send(whole, 'x@elsewhere.test')).toMatch(answer)
})

describe('a message that names no author', () => {
  const heads = [
    ['no From', 'To: anna@example.com'],
    ['an empty From', 'From:'],
    ['an empty group', 'From: Friends:;'],
    ['a name alone', 'From: "Your bank"'],
    ['brackets around nothing', 'From: Your bank <>'],
    ['a local part alone', 'From: root'],
    ['another field', 'Sender: x@evil.test'],
  ] as const

  test.each(heads)('is refused: %s', async (_, head) => {
    expect(await send(letter(head))).toMatch(/^554 5\.6\.0 .*From/)
  })

  test('is put aside where it says that it came back', async () => {
    for (const [, head] of heads) {
      expect(await send(letter(head), '')).toMatch(/^250/)
      const { verificationResults, source } = await newest('Junk')
      expect(verificationResults.dmarc).toEqual({ domain: false, policy: 'quarantine' })
      expect(source).toContain('dmarc=permerror (no author)')
    }
  })
})

test('a header that is longer than what is read of it is refused, and nobody hides behind it', async () => {
  const fill = `X-Fill: ${'y'.repeat(900)}\r\n`.repeat(limits.mime.headerBytesMax / 900)
  expect(await send(letter(`From: x@evil.test\r\n${fill}X-Spam-Flag: NO\r\nFrom: a@bank.test`))).toMatch(/^554 5\.6\.0/)
  expect(await send(letter(`From: x@evil.test\r\nX-Fill: ${'y'.repeat(1_000_000)}`))).toMatch(/^554 5\.6\.0/)
  expect(await send(letter(`From: x@evil.test\r\n${fill.slice(0, fill.length / 2)}`))).toMatch(/^250/)
})

describe('a record of hosts (SPF, RFC 7208 4.6.4)', () => {
  const domain = (name: string, terms: readonly string[]) => {
    dns.texts.set(`${name}.test`, [`v=spf1 ${terms.join(' ')} ip4:127.0.0.1 -all`])
    dns.texts.set(`_dmarc.${name}.test`, ['v=DMARC1; p=reject'])
  }
  const many = (length: number, term: (n: number) => string) => Array.from({ length }, (_, n) => term(n))

  test.each([
    ['ten look-ups', 'ten', many(10, n => `include:i${n}.some.test`), /^250/],
    ['eleven', 'eleven', many(11, n => `include:i${n}.some.test`), /^550 5\.7\.26/],
    ['two names that do not exist', 'void2', many(2, n => `exists:n${n}.void2.test`), /^250/],
    ['a flood of them', 'void90', many(90, n => `a:n${n}.void90.test`), /^550 5\.7\.26/],
    ['hosts of mail without end', 'mxs', ['mx:crowd.test'], /^550 5\.7\.26/],
  ])('with %s, at a bounded price', async (_, name, terms, answer) => {
    for (let n = 0; n < 11; n++) dns.texts.set(`i${n}.some.test`, ['v=spf1 ip4:192.0.2.1 -all'])
    dns.records.set(
      'MX crowd.test',
      many(200, n => `${n} h${n}.crowd.test`),
    )
    domain(name, terms)
    const asked = dns.asked.length
    expect(await send(letter(`From: x@${name}.test`), `x@${name}.test`)).toMatch(answer)
    expect(dns.asked.length - asked).toBeLessThan(limits.verify.spfLookupsMax)
  })
})

describe('a signature of a part (l=)', () => {
  test('is one where nothing follows', async () => {
    const plain = letter('From: a@bank.test')
    const covered = plain.length - plain.indexOf('\r\n\r\n') - 4
    expect(await send(await signed(plain, { maxBodyLength: covered }), 'x@elsewhere.test')).toMatch(/^250/)
    expect((await newest()).verificationResults.dmarc.domain).toBe('bank.test')
  })

  test.each([0, 5])('of %i bytes proves nothing of what follows, which is taken for junk', async covered => {
    const part = await signed(letter('From: a@bank.test', 'Hello and what others added'), { maxBodyLength: covered })
    expect(await send(part, 'x@elsewhere.test')).toMatch(/^250/)
    const { verificationResults } = await newest('Junk')
    expect(verificationResults).toMatchObject({ dkim: false, dmarc: { domain: false, policy: 'reject' } })
  })
})

describe('a field that was added beside a signed one of its name', () => {
  test.each([
    ['Subject', 'Subject: x$'],
    ['Reply-To', 'Reply-To: x@evil.test'],
    ['Content-Type', 'Content-Type: text/html'],
  ])("is nobody's, and the message taken for junk: %s", async (name, field) => {
    const head = 'From: a@bank.test\r\nReply-To: a@bank.test\r\nContent-Type: text/plain'
    const whole = await signed(letter(head), {}, { headerList: `From:Subject:${name}` })
    const added = Buffer.concat([Buffer.from(`${field.replace('$', String(count))}\r\n`), whole])
    expect(await send(added, 'x@elsewhere.test')).toMatch(/^250/)
    const { verificationResults, source } = await newest('Junk')
    expect(verificationResults).toMatchObject({ dkim: false, dmarc: { domain: false, policy: 'reject' } })
    expect(source.replace(/\s+/g, ' ')).toContain(`dkim=pass (another ${name.toLowerCase()} is not signed)`)
  })

  test("is the signer's where both are signed, and is nothing to a signature that names none", async () => {
    const two = 'From: a@bank.test\r\nReply-To: a@bank.test\r\nReply-To: b@bank.test'
    for (const headerList of ['From:Subject:Reply-To', 'From:Subject']) {
      expect(await send(await signed(letter(two), {}, { headerList }), 'x@elsewhere.test')).toMatch(/^250/)
      expect((await newest()).verificationResults.dmarc.domain).toBe('bank.test')
    }
  })
})

/** The three fields of one sealer. */
const setOf = (number: number) => new RegExp(`^(?:ARC-[\\w-]+:\\s*i=${number};.*\\r\\n(?:[ \\t].*\\r\\n)*){3}`, 'im')

describe('a chain of seals', () => {
  async function chain(length: number, last: string, others = last): Promise<Buffer> {
    let message = letter('From: a@bank.test')
    for (let n = 1; n <= length; n += 1) {
      const signingDomain = n === length ? last : others.replace('#', String(n))
      putKey(signingDomain)
      const how = {
        signingDomain,
        selector: 's1',
        privateKey,
        algorithm: 'ed25519-sha256',
        cv: n === 1 ? 'none' : 'pass',
      }
      const authResults = `mx.${signingDomain}; ${n === 1 ? '' : 'arc=pass; '}dmarc=${n === 1 ? 'pass' : 'fail'} header.from=bank.test`
      message = Buffer.concat([await sealMessage(message, { ...how, authResults } as never), message])
    }
    return message
  }

  test('of fifty is read to its beginning, one more is none (RFC 8617 4.2.1)', async () => {
    const fifty = await chain(limits.verify.sealsMax, 'sealer.test')
    let tries = 0
    // On a busy machine the thread for what is costly may come too late, and the message is taken as it is.
    await expect
      .poll(async () => {
        tries += 1
        expect(await send(Buffer.concat([Buffer.from(`X-Try: ${tries}\r\n`), fifty]), 'x@elsewhere.test')).toMatch(
          /^250/,
        )
        return (await newest()).verificationResults.arc
      })
      .toBe('sealer.test')
    const { source } = await newest()
    expect(source).toContain('(pardoned: sealed by sealer.test)')
    const whole = (await chain(limits.verify.sealsMax, 'sealer.test')).toString('latin1')
    const set = /^(?:ARC-[\s\S]*?\r\n(?! |\t)){3}/i.exec(whole)?.[0].replaceAll('i=50;', 'i=51;') ?? ''
    expect(set.match(/i=51;/g)).toHaveLength(3)
    expect(await send(Buffer.from(set + whole, 'latin1'), 'x@elsewhere.test')).toMatch(/^550 5\.7\.26/)
  })

  test('vouches for no Subject that was added beside the sealed one', async () => {
    const whole = await chain(1, 'sealer.test')
    expect(await send(Buffer.concat([Buffer.from(`Subject: x${count}\r\n`), whole]), 'x@elsewhere.test')).toMatch(
      /^250/,
    )
    const { verificationResults, source } = await newest('Junk')
    expect(verificationResults).toMatchObject({ arc: 'sealer.test', dmarc: { domain: false, policy: 'reject' } })
    expect(source).not.toContain('pardoned')
  })

  test('of fifty strangers is worth nothing behind one who is believed, and costs a bounded number of questions', async () => {
    const asked = dns.asked.length
    const long = await chain(limits.verify.sealsMax, 'sealer.test', 'h#.test')
    expect(await send(long, 'x@elsewhere.test')).toMatch(/^550 5\.7\.26/)
    const { keyLookupsMax, policyLookupsMax } = limits.verify
    expect(dns.asked.length - asked).toBeLessThan(2 * keyLookupsMax + policyLookupsMax)
  })

  test.each([
    ['a set is missing', (text: string) => text.replace(setOf(2), '')],
    ['its first set is missing', (text: string) => text.replace(setOf(1), '')],
    ['its newest set has a number far above', (text: string) => text.replaceAll(/^(ARC-[\w-]+:\s*)i=3;/gim, '$1i=50;')],
    ['a seal is missing', (text: string) => text.replace(/^ARC-Seal:\s*i=2;.*\r\n(?:[ \t].*\r\n)*/im, '')],
    ['a set is there twice', (text: string) => `${setOf(2).exec(text)?.[0]}${text}`],
  ])('proves nobody where %s', async (_, change) => {
    const whole = (await chain(3, 'sealer.test')).toString('latin1')
    const torn = change(whole)
    expect(torn).not.toBe(whole)
    expect(await send(Buffer.from(torn, 'latin1'), 'x@elsewhere.test')).toMatch(/^550 5\.7\.26/)
    expect(await send(Buffer.from(whole, 'latin1'), 'x@elsewhere.test')).toMatch(/^250/)
  })

  test.each([
    [
      'in a comment',
      'mx.sealer.test; spf=pass (of x(y\\) ; dmarc=pass header.from=bank.test; \\()); dmarc=fail header.from=bank.test',
    ],
    ['in quotes', 'mx.sealer.test; spf=pass smtp.mailfrom="x; dmarc=pass header.from=bank.test ;"@evil.test'],
    ['beside a failure', 'mx.sealer.test; dmarc=pass header.from=bank.test; dmarc=fail header.from=bank.test'],
    ['of another', 'mx.sealer.test; dmarc=pass header.from=evil.test policy.from=bank.test'],
  ])('proves nobody by a result %s', async (_, authResults) => {
    const plain = letter('From: a@bank.test')
    const how = { signingDomain: 'sealer.test', selector: 's1', privateKey, algorithm: 'ed25519-sha256', cv: 'none' }
    const message = Buffer.concat([await sealMessage(plain, { ...how, authResults } as never), plain])
    expect(await send(message, 'x@elsewhere.test')).toMatch(/^550 5\.7\.26/)
  })
})

describe('Authentication-Results', () => {
  test.each([
    ['in capitals, with a dot at its end', 'AUTHENTICATION-RESULTS : LOCALHOST. ; '],
    ['behind comments, on lines of its own', 'Authentication-Results:\r\n (a (b) c)\r\n localhost\r\n ; '],
    ['in quotes', 'Authentication-Results: "local\\host" 1; '],
    ['in two quotes', 'Authentication-Results: "local" "host"; '],
    ['with a comment in it', 'Authentication-Results: local(x)host; '],
    ['with white space in it', 'Authentication-Results: local host 1; '],
    ['in an encoded word', 'Authentication-Results: =?utf-8?q?local=68ost?=; '],
    ['in letters of full width', 'Authentication-Results: ｌｏｃａｌｈｏｓｔ; '],
    ['behind a name that is missing', 'Authentication-Results: ; localhost; '],
    ['behind a bare CR', 'X-Note: 1\rAuthentication-Results: localhost; '],
    ['with its colon on the next line', 'Authentication-Results\r\n : localhost; '],
    ['behind NUL', `${nul}Authentication-Results: localhost${nul}; `],
    ['with VT behind its name', 'Authentication-Results\x0b: localhost; '],
    ['with a wide space behind its name', 'Authentication-Results\u00a0: localhost; '],
    ['behind a mark of the code', '\ufeffAuthentication-Results: localhost; '],
  ])('of a stranger in our name are cut out: %s', async (_, field) => {
    expect(await send(letter(`${field}dmarc=pass header.from=bank.test\r\nFrom: x@evil.test`))).toMatch(/^250/)
    expect((await newest()).source).not.toContain('bank.test')
  })

  test('of others stay', async () => {
    const near = 'Authentication-Results: localhost.other.test; dmarc=pass header.from=bank.test'
    expect(await send(letter(`${near}\r\nFrom: x@evil.test`))).toMatch(/^250/)
    expect((await newest()).source).toContain(near)
  })

  test('say what was found, whatever a stranger calls himself', async () => {
    const locals = ['"a;dmarc=pass header.from=bank.test "', '"(dkim=pass"', '"x\\\\"', 'x'.repeat(64)]
    for (const [at, local] of locals.entries()) {
      dns.texts.set(`said${at}.test`, [`v=spf1 exists:%{l}.said${at}.test -all`])
      expect(await send(letter('From: a@nobody.test'), `${local}@said${at}.test`)).toMatch(/^250/)
      const { source } = await newest()
      const value = /^Authentication-Results:((?:.*\r\n[ \t])*.*)\r$/m.exec(source)?.[1] ?? ''
      const { found } = readResults(value)
      const said = found.map(({ method, result }) => `${method}=${result}`)
      // A name with such letters is none that could be asked for.
      expect(said).toEqual([expect.stringMatching(/^spf=(?:fail|permerror)$/), 'dkim=none', 'dmarc=none'])
      expect(found[0]?.properties.get('smtp.mailfrom')).toContain(`@said${at}.test`)
    }
  })
})
