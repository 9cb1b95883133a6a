// Whatever works or remembers by itself is seen in /metrics, and what is remembered of others has an end.

import { expect, test } from 'vitest'
import { DaneHosts } from '#jobs/relay/proof/dane-hosts.ts'
import { StsPolicies } from '#jobs/relay/proof/sts-policies.ts'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { DnsAnswers } from '#mail/origin/dns-answers.ts'
import { Remembered } from '#mail/origin/remembered.ts'
import { MailHosts } from '#net/outward/mail-hosts.ts'
import { operation } from '#store/engine/write.ts'
import { stsPolicyPut, stsPolicySweep } from '#store/sending/sts-policy.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import { useTeal } from '../running.ts'

const service = useTeal({
  threads: 0,
  hostname: 'mx.seen.test',
  tls: { acme: { enabled: true, directory: 'https://127.0.0.1:1/directory', termsAgreed: true } },
})

async function metrics(): Promise<Map<string, number>> {
  const text = await (await service.raw('GET', '/metrics')).text()
  const lines = [...text.matchAll(/^wildduck_(.+) (\S+)$/gm)]
  return new Map(lines.map(([, name = '', value]) => [name, Number(value)]))
}

const loops = [
  ...['tasks', 'indexing', 'spam', 'signing keys', 'expiry', 'relay', 'reports', 'acme'],
  ...['fan-out', 'deliveries', 'webhook sweep'],
]

test('every loop is seen, with what it does', async () => {
  const seen = await metrics()
  for (const loop of loops) {
    expect([...seen.keys()]).toContain(`loop_in_flight{loop="${loop}"}`)
    expect([...seen.keys()]).toContain(`loop_items_total{loop="${loop}",result="broke-off"}`)
  }
  await service.user('anna')
  const lmtp = await openLmtp(service.at('lmtp'))
  await deliver(lmtp, 'x@far.test', ['anna@example.com'], Buffer.from('Subject: x\r\n\r\nText\r\n'))
  lmtp.close()
  const done = async (loop: string) => (await metrics()).get(`loop_items_total{loop="${loop}",result="done"}`)
  for (const loop of ['indexing', 'signing keys']) await expect.poll(() => done(loop)).toBeGreaterThan(0)
})

test('what is remembered of others is counted', async () => {
  const seen = await metrics()
  const kinds = [
    ...['dns', 'spf', 'dmarc', 'bimi', 'standing', 'marks', 'quiet-networks'],
    ...['mail-hosts', 'tlsa', 'mta-sts', 'destinations', 'connections'],
  ]
  for (const kind of kinds) expect([...seen.keys()]).toContain(`remembered{of="${kind}"}`)
})

test('answers of DNS have a number, and bytes', async () => {
  const { answersMax, answersBytesMax, answerBytesMax } = limits.verify
  const known = new DnsAnswers(async name => (name.startsWith('fat') ? ['x'.repeat(answerBytesMax / 2)] : ['x']))
  for (let n = 0; n < answersMax + 100; n++) await known.ask(`n${n}.test`, 'TXT')
  expect(known.size).toBe(answersMax)
  for (let n = 0; n < 600; n++) await known.ask(`fat${n}.test`, 'TXT')
  expect(known.size).toBeLessThanOrEqual(answersBytesMax / (answerBytesMax / 2))
  let asked = 0
  const huge = new DnsAnswers(async () => {
    asked += 1
    return ['x'.repeat(answerBytesMax)]
  })
  for (let n = 0; n < 2; n++) await huge.ask('huge.test', 'TXT')
  expect([huge.size, asked]).toEqual([0, 2])
})

test('so have what was made of them, hosts, records, and moments of asking', async () => {
  const remembered = new Remembered<number>(() => true)
  for (let n = 0; n < limits.verify.resultsMax + 10; n++) remembered.keep(`k${n}`, n)
  expect(remembered.size).toBe(limits.verify.resultsMax)
  expect(remembered.find('k0')).toBeUndefined()
  const hosts = new MailHosts(async () => ({ records: [], exists: true, secure: false }))
  for (let n = 0; n < limits.outbound.routesMax + 10; n++) await hosts.find(`d${n}.test`)
  expect(hosts.size).toBe(limits.outbound.routesMax)
  const nothing = { records: [], secure: false, canonical: '', exists: true, ttlMs: limits.time.hour }
  const dane = new DaneHosts(async name => ({ ...nothing, canonical: name }), 25)
  for (let n = 0; n < limits.dane.hostsMax + 10; n++) await dane.of(`h${n}.test`)
  expect(dane.size).toBe(limits.dane.hostsMax)
  const { read, jobWriter: writer, outward } = service.teal.core
  const sts = new StsPolicies({ read, writer, outward, resolveTxt: async () => [] })
  for (let n = 0; n < limits.sts.domainsMax + 10; n++) await sts.of(`s${n}.test`)
  expect(sts.size).toBe(limits.sts.domainsMax)
})

test('policies of domains have a number, and those that were asked for last stay', async () => {
  const { jobWriter, read } = service.teal.core
  const at = now()
  const row = (n: number) => ({
    ...{ domain: `p${n}.test`, id: '1', mode: 'enforce' as const, mx: ['mx.test'] },
    ...{ fetched: at - n, expires: at + limits.time.day },
  })
  const rows = Array.from({ length: 30 }, (_, n) => operation(stsPolicyPut, row(n)))
  const sweep = operation(stsPolicySweep, { before: at, count: 10, rowsMax: 20 })
  await jobWriter.submit({ operations: [...rows, sweep], bytes: 1000 })
  const left = await read.all<{ domain: string }>('SELECT domain FROM sts_policy ORDER BY fetched DESC')
  expect(left.map(({ domain }) => domain)).toEqual(Array.from({ length: 20 }, (_, n) => `p${n}.test`))
})
