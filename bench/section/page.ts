// The page for people in a real browser, on a service with many users, domains and queued messages: what the first load costs, and how
// long it takes until each list of the admin's is there to be worked with.
//
// Each place is opened in a window that knows nothing yet (`first`) and by a link in one that is open (`again`); calls alone are measured beside.

import { setTimeout as delay } from 'node:timers/promises'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { startChromium } from '../../test/browser/chromium.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, removeFolder, type Service, startService } from '../service.ts'

const perDomain = 100
const queued = 1000
const senders = 50
const inFlight = 32
const rounds = 5
const loadKilobytes = 150
const quickMs = 1000

export async function pageSection(plan: Plan): Promise<Row[]> {
  const folder = makeFolder()
  // Nobody listens there: what is sent waits.
  const service = await startService(folder, {
    TEAL_OUTBOUND_RELAY: 'smtp://127.0.0.1:1',
    TEAL_NETWORK_ALLOW_PRIVATE: '127.0.0.0/8',
  })
  let browser: Browser | undefined
  try {
    await fill(service, 2 * plan.accounts)
    await sampled(service)
    browser = await startChromium('whole')
    const origin = `http://localhost:${service.listener('api').port}`
    return [...(await loads(browser, origin)), ...(await lists(browser, origin, service)), ...(await calls(service))]
  } finally {
    await browser?.close()
    await service.stop()
    removeFolder(folder)
  }
}

async function fill({ call }: Service, users: number): Promise<void> {
  await each(users, async n => {
    const name = `person${String(n).padStart(5, '0')}`
    const address = `${name}@domain${Math.floor(n / perDomain)}.example`
    await call('POST', '/users', { username: name, name: `Person ${n}`, password: false, address, emptyAddress: false })
  })
  // By many, since whoever sends far more than usual is held back.
  const { results } = (await call('GET', `/users?query=person000&limit=${senders}`)) as { results: { id: string }[] }
  await each(queued, async n => {
    const to = [{ address: `someone${n}@far${n % 50}.example` }]
    await call('POST', `/users/${results[n % results.length]?.id}/submit`, {
      to,
      subject: `Number ${n}`,
      text: 'hello',
    })
  })
}

/** A service keeps its first figures after a minute: until then there is nothing to draw. */
async function sampled({ call }: Service): Promise<void> {
  for (;;) {
    const { columns } = (await call('GET', '/figures')) as { columns: Record<string, (number | null)[]> }
    if (Object.values(columns).some(values => values.some(value => value !== null))) return
    await delay(1000)
  }
}

async function each(count: number, run: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await run(next++)
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
}

/** What a browser that knows nothing fetches until somebody can sign in, and until an admin sees the service. */
async function loads(browser: Browser, origin: string): Promise<Row[]> {
  const rows: Row[] = []
  for (const [what, path, ready] of [
    ['signing in', '/app', 'input[name=username]'],
    ['the account’s pages, before signing in', '/app/account', 'input[name=username]'],
  ] as const) {
    const times: number[] = []
    let bytes = 0
    let requests = 0
    for (let round = 0; round < rounds; round++) {
      const context = await browser.newContext()
      const page = await context.newPage()
      const sizes: Promise<number>[] = []
      page.on('requestfinished', request => {
        sizes.push(request.sizes().then(size => size.responseBodySize + size.responseHeadersSize))
      })
      times.push(await timed(() => page.goto(origin + path).then(() => page.locator(ready).waitFor())))
      bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
      requests = sizes.length
      await context.close()
    }
    rows.push(
      {
        what: `first load, ${what}`,
        figure: bytes / 1024,
        unit: 'KB',
        wanted: { most: loadKilobytes },
        note: `${requests} requests`,
      },
      { what: `first load, ${what}: until one can type`, figure: median(times), unit: 'ms', wanted: { most: quickMs } },
    )
  }
  return rows
}

interface Place {
  readonly what: string
  readonly path: string
  /** What is there when it can be worked with. */
  readonly ready: string
}

const places: readonly Place[] = [
  { what: 'overview', path: '/app/service', ready: 'canvas' },
  { what: 'users', path: '/app/service/users', ready: 'tbody tr' },
  { what: 'domains', path: '/app/service/domains', ready: 'tbody tr' },
  { what: 'queue', path: '/app/service/queue', ready: 'tbody tr' },
  { what: 'addresses', path: '/app/service/addresses', ready: 'tbody tr' },
]

async function lists(browser: Browser, origin: string, { token }: Service): Promise<Row[]> {
  const rows: Row[] = []
  for (const { what, path, ready } of places) {
    const first: number[] = []
    const again: number[] = []
    for (let round = 0; round < rounds; round++) {
      const context = await signedIn(browser, origin, token)
      const page = await context.newPage()
      first.push(await timed(() => page.goto(origin + path).then(() => page.locator(ready).first().waitFor())))
      await page.locator('nav.side a[href$="/service/backups"]').click()
      await page.locator('nav.side a[href$="/service/backups"][aria-current=page]').waitFor()
      await page.locator(ready).first().waitFor({ state: 'detached' })
      const link = page.locator(`nav.side a[href$="${path}"]`)
      again.push(await timed(() => link.click().then(() => page.locator(ready).first().waitFor())))
      await context.close()
    }
    rows.push({
      ...{ what: `${what}: until its rows are there`, figure: median(again), unit: 'ms', wanted: { most: quickMs } },
      note: `in a window that knows nothing ${median(first).toFixed(0)} ms`,
    })
  }
  const context = await signedIn(browser, origin, token)
  const page = await context.newPage()
  rows.push(await searched(page, `${origin}/app/service/users`, 'users', 'person01234'))
  rows.push(await searched(page, `${origin}/app/service/domains`, 'domains', 'domain39.example'))
  await context.close()
  return rows
}

async function searched(page: Page, url: string, what: string, text: string): Promise<Row> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    await page.goto(url)
    await page.locator('tbody tr').nth(1).waitFor()
    const field = page.getByRole('searchbox')
    times.push(
      await timed(async () => {
        await field.fill(text)
        await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
        await page.locator('tbody tr', { hasText: text }).waitFor()
      }),
    )
  }
  const note = 'a quarter of a second of it waits for the typing to end'
  return {
    what: `${what}: until a search has its row`,
    figure: median(times),
    unit: 'ms',
    wanted: { most: quickMs },
    note,
  }
}

async function calls({ call }: Service): Promise<Row[]> {
  const rows: Row[] = []
  for (const path of [
    ...[
      '/users?limit=50',
      '/users?limit=50&query=person01234',
      '/domains?limit=20',
      '/domains?limit=20&query=domain39',
    ],
    ...['/outbound/messages?limit=50', '/addresses?limit=50', '/figures'],
  ]) {
    const times: number[] = []
    for (let round = 0; round < 4 * rounds; round++) times.push(await timed(() => call('GET', path)))
    const most = times.toSorted((a, b) => a - b).at(-1) ?? 0
    rows.push({ what: `GET ${path}`, figure: median(times), unit: 'ms', note: `at most ${most.toFixed(0)} ms` })
  }
  return rows
}

async function signedIn(browser: Browser, origin: string, accessToken: string): Promise<BrowserContext> {
  const context = await browser.newContext()
  const headers = { 'x-teal-page': '1', origin }
  const answer = await context.request.post(`${origin}/session`, { headers, data: { accessToken } })
  if (!answer.ok()) throw new Error(`signing in: ${answer.status()}`)
  return context
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await run()
  return performance.now() - started
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
