// The dashboard and the alert rules ask for what /metrics really has: every name, and every label they take it apart by.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliver, openLmtp } from '../dialogue.ts'
import { useTeal } from '../running.ts'
import { queries } from './queries.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-dashboards-'))
// Said before the service, so that it comes when that has ended: it makes a backup there.
afterAll(() => rmSync(root, { recursive: true, force: true }))
const service = useTeal({
  tls: { acme: { enabled: true, termsAgreed: true, directory: 'http://127.0.0.1:9/dir', names: ['mx.example.com'] } },
  backup: { folder: root },
  network: { allowPrivate: ['127.0.0.0/8'] },
})
let text = ''

beforeAll(async () => {
  await service.user('anna')
  await service.call('POST', '/authenticate', { username: 'anna', password: 'wrong' })
  const lmtp = await openLmtp(service.at('lmtp'))
  await deliver(lmtp, 'a@example.org', ['anna@example.com'], Buffer.from('Subject: x\r\n\r\nx\r\n'))
  lmtp.close()
  text = await (await service.raw('GET', '/metrics')).text()
})

test.each([...queries()])('%s', (_where, query) => {
  const names = query.match(/\b(wildduck|process|nodejs)_\w+/g) ?? []
  if (!/^up\{/.test(query)) expect(names.length).toBeGreaterThan(0)
  for (const name of names) {
    const family = name.replace(/_bucket$/, '')
    expect(text).toContain(`# TYPE ${family} ${name === family ? '' : 'histogram'}`)
  }
})

test('there is what an owner looks for first: accounts, storage, room, queue, backups', () => {
  for (const name of ['users', 'storage_bytes', 'disk_free_bytes', 'outbound_oldest_seconds', 'backup_age_seconds']) {
    expect(text).toMatch(new RegExp(`^wildduck_${name} -?[\\d.e+]+$`, 'm'))
  }
  expect(text).toMatch(/^wildduck_users 1$/m)
  expect(Number(/^wildduck_storage_bytes (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(10)
})

test('labels that queries take apart by are the labels there are', () => {
  const source = readFileSync('src/lib/metrics.ts', 'utf8')
  for (const [, query] of queries()) {
    for (const [, labels = '', name = ''] of query.matchAll(
      /by \(([^)]*)\) \((?:rate\()?wildduck_(\w+?)(?:_bucket)?[[)]/g,
    )) {
      const known = new RegExp(`'${name}'[^\\n]*\\[([^\\]]*)\\]\\)`).exec(source)?.[1] ?? ''
      for (const label of labels.split(',').map(one => one.trim())) {
        if (label !== 'le') expect([name, known]).toEqual([name, expect.stringContaining(`'${label}'`)])
      }
    }
  }
})
