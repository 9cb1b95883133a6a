// A data directory with mail in it, made by a service that was closed in order: for tests that copy it and do harm.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { startTeal } from '#service'
import { deliver, openLmtp } from './dialogue.ts'
import { accessTo } from './running.ts'

/**
 * Made before the tests and removed after them, with what they put beside it.
 *
 * @param name of the folder for all of it
 * @param messages for the account `anna`, whole
 */
export function useWholeFolder(name: string, messages: readonly string[]): { root: string; whole: string } {
  const root = mkdtempSync(join(tmpdir(), `teal-${name}-`))
  const whole = join(root, 'whole')
  beforeAll(async () => {
    mkdirSync(whole)
    const teal = await startTeal({ dataDir: whole, threads: 0 })
    const running = accessTo(() => teal)
    await running.user('anna')
    const lmtp = await openLmtp(running.at('lmtp'))
    for (const message of messages) {
      const [reply] = await deliver(lmtp, 'a@example.org', ['anna@example.com'], Buffer.from(message))
      expect(reply).toMatch(/^250 /)
    }
    lmtp.close()
    await running.indexed()
    expect(await teal.check()).toEqual([])
    await teal.close()
  })
  afterAll(() => rmSync(root, { recursive: true, force: true }))
  return { root, whole }
}
