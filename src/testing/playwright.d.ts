// `import { mailFixtures } from 'teal/testing/playwright'`, for `test.extend(mailFixtures)` of Playwright's runner. Written
// without its types, as it is no dependency.

import type { MailFixtures } from '../testing.d.ts'

/**
 * `mail`, for each worker: the service of the run where `globalSetup` is `teal/testing/global`, else one of its own. `inbox`, for
 * each test: a fresh address; what arrived there is attached where the test fails.
 */
export const mailFixtures: MailFixtures
