// Fixtures for Playwright's runner: a service for each worker, or the one of the run, an inbox for each test, and what arrived
// there attached to a test that failed.
//
// The runner is not needed here: fixtures are an object of functions, `test.extend(mailFixtures)`.

import type * as Promised from '../testing.d.ts'
import { connectTesting } from './run/connection.ts'
import { placeOfRun } from './run/environment.ts'
import { startTesting } from './testing.ts'

/** Mails of one test that are attached. */
const attachedMax = 20

export const mailFixtures: Promised.MailFixtures = {
  mail: [
    // biome-ignore lint/correctness/noEmptyPattern: the runner reads from the parameter's form which fixtures are needed
    async ({}, use) => {
      const mail = placeOfRun() === undefined ? await startTesting() : await connectTesting()
      await use(mail)
      await mail.close()
    },
    { scope: 'worker' },
  ],
  inbox: async ({ mail }, use, testInfo) => {
    const inbox = await mail.inbox(testInfo.title)
    await use(inbox)
    if (testInfo.status === testInfo.expectedStatus) return
    for (const one of (await inbox.list()).slice(-attachedMax)) {
      const name = one.subject || 'mail'
      await testInfo.attach(`${name}.eml`, { body: one.raw, contentType: 'message/rfc822' })
      if (one.text !== '') await testInfo.attach(`${name}.txt`, { body: one.text, contentType: 'text/plain' })
      if (one.html !== '') await testInfo.attach(`${name}.html`, { body: one.html, contentType: 'text/html' })
    }
  },
}
