// The fixtures of Playwright's runner, called as it calls them: what arrived is attached to a test that failed, and to no other.

import { expect, test } from 'vitest'
import { mailFixtures } from '#testing/playwright.ts'
import type { Inbox, TestingClient } from '../../src/testing.d.ts'

/** What is attached to a test in which `body` runs. */
async function attachedTo(
  mail: TestingClient,
  status: string,
  body: (inbox: Inbox) => Promise<void>,
): Promise<string[]> {
  const attached: string[] = []
  const info = { title: 'Who registers, gets a code', status, expectedStatus: 'passed' }
  const attach = async (name: string, { contentType }: { contentType: string }) =>
    void attached.push(`${name} ${contentType}`)
  await mailFixtures.inbox({ mail }, body, { ...info, attach })
  return attached
}

test('mails of a test that failed are attached, whole and to be read', async () => {
  const [service, { scope }] = mailFixtures.mail
  expect(scope).toBe('worker')
  await service({}, async mail => {
    const body = async (inbox: Inbox) => {
      expect(inbox.address).toMatch(/^who-registers-gets-a-code-/)
      await mail.send({ to: inbox.address, subject: 'Welcome', text: 'x', html: '<p>x</p>' })
      await inbox.wait()
    }
    expect(await attachedTo(mail, 'failed', body)).toEqual([
      'Welcome.eml message/rfc822',
      'Welcome.txt text/plain',
      'Welcome.html text/html',
    ])
    expect(await attachedTo(mail, 'passed', body)).toEqual([])
  })
})
