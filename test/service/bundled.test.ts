// What only goes wrong in the program as it is shipped: packages that are loaded when they are first asked for.

import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startChild } from '../child.ts'

test('one-time codes are set up with a picture by the program as it is shipped', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'teal-bundled-'))
  const child = await startChild(dataDir)
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json', 'x-access-token': child.token }
    const response = await fetch(child.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as { success?: boolean; id?: string; qrcode?: string }
  }
  const { id } = await post('/users', { username: 'anna', password: 'a long secret', address: 'anna@example.com' })
  const made = await post(`/users/${id}/2fa/totp/setup`, {})
  expect(made.qrcode).toMatch(/^data:image\/png;base64,/)
  expect(await child.end('SIGTERM')).toBe(0)
  await rm(dataDir, { recursive: true, force: true })
})
