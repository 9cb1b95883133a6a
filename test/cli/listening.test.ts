// What `teal serve` says of a place where it cannot listen: why, and what to do, whoever would speak there.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { childEnvironment, runTeal } from '../child.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-listening-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** Reserved for documents (RFC 5737): no machine has it. */
const nobodys = '192.0.2.1'

const serve = (more: Record<string, string>) => runTeal(['serve'], childEnvironment(join(root, 'data'), more))

const speakers = [
  ['SMTP', { TEAL_SMTP_ENABLED: 'true' }],
  ['API', { TEAL_API_FRONT: 'uWebSockets.js' }],
  ['API', { TEAL_API_FRONT: 'node:http' }],
] as const

test.each(speakers)('%s on a port that is taken, %o', async (name, more) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const { code, err } = await serve({ ...more, [`TEAL_${name}_PORT`]: String(port) })
  other.close()
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(new RegExp(`^teal: Port ${port} on 127\\.0\\.0\\.1 is in use already: .*ss -ltnp.*\\n$`)),
  ])
})

test.each(speakers)('%s on an address of somebody else, %o', async (name, more) => {
  const { code, err } = await serve({ ...more, [`TEAL_${name}_HOST`]: nobodys })
  expect([code, err]).toEqual([2, expect.stringMatching(/^teal: .* this machine does not have that address; .*\n$/)])
})

test('challenges on an address of somebody else', async () => {
  const acme = { TEAL_TLS_ACME_ENABLED: 'true', TEAL_TLS_ACME_TERMS_AGREED: 'true', TEAL_TLS_ACME_HTTP: `${nobodys}:0` }
  const own = { TEAL_HOSTNAME: 'mail.example.com', TEAL_TLS_ACME_DIRECTORY: 'http://127.0.0.1:9/' }
  const { code, err } = await serve({ ...acme, ...own })
  expect([code, err]).toEqual([2, expect.stringMatching(/^teal: .*\(tls\.acme\.http\) cannot be listened on: .*\n$/)])
})
