// What went from a folder stays for a while when the folder goes, and its account: no folder that is made later takes it for its own.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { startTeal, type Teal } from '#service'
import { Client } from '../imap/client.ts'
import { accessTo } from '../running.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'teal-left-'))
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

/** Runs the service on the folder, which has to be sound afterwards. */
async function served(task: (service: ReturnType<typeof accessTo>) => Promise<void>): Promise<void> {
  const teal: Teal = await startTeal({ dataDir }, { strict: true })
  try {
    await task(accessTo(() => teal))
    expect(await teal.check()).toEqual([])
  } finally {
    await teal.close()
  }
}

test('a folder of an account that came later begins with nothing', async () => {
  await served(async service => {
    const anna = await service.user('anna')
    const client = await Client.login(service.at('imap'), 'anna')
    await client.ok('CREATE Box')
    const text = 'Subject: x\r\n\r\nx'
    const message = Buffer.from(` {${text.length}+}\r\n${text}`)
    for (let left = limits.mailbox.forgetRows + 300; left > 0; left -= 300)
      await client.ok(Buffer.concat([Buffer.from('APPEND Box'), ...Array.from({ length: 300 }, () => message)]))
    await client.ok('SELECT Box')
    await client.ok('STORE 1:* +FLAGS.SILENT (\\Deleted)')
    await client.ok('CLOSE')
    await client.ok('DELETE Box')
    client.close()
    await service.call('DELETE', `/users/${anna}`)
    const rows = async () => (await service.teal.core.read.all('SELECT 1 FROM "user" WHERE id = ?', anna)).length
    await expect.poll(rows).toBe(0)
  })
  await served(async service => {
    await service.user('ben')
    const client = await Client.login(service.at('imap'), 'ben', 'INBOX')
    for (let count = 0; count < 8; count++) await client.ok(`CREATE Box${count}`)
    client.close()
  })
})
