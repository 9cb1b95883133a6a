// `globalSetup: 'teal/testing/global'` of vitest, jest and Playwright: one service for the whole run. Tests reach it by
// `connectTesting()` of teal/testing; `SMTP_URL`, `SMTP_HOST` and `SMTP_PORT` are set for the application under test.

/** Starts the service; what it gives stops it. */
export default function setup(): Promise<() => Promise<void>>
