// Mail in the browser against Roundcube: both before the same service and the same folder, in a real Chromium, in turns.
//
// Each round is a browser without anything kept: signing in, opening the large folder, jumping to its middle and its end, opening a
// message, sending one. A new window first loads some hundred scripts of the browser's own surface, which would take both cores from
// whichever page is opened meanwhile: it is left to settle. Bytes are those of the network, as the browser counts them. Then pages are
// held open, for what each costs the service in memory. With `--ground FOLDER` what was filled and indexed stays for the next run.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { loadConfig } from '#config'
import { openCore } from '#core'
import { sleep } from '#lib/clock.ts'
import { makeLog } from '#lib/log.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { databaseFile } from '#store/folder/place.ts'
import { memoryOf } from '../child.ts'
import { fill, folderOf } from '../fill.ts'
import { installed } from '../peer/install.ts'
import { withRoundcube } from '../peer/roundcube.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, type Service, startService, type User } from '../service.ts'

const rounds = 5
const large = 'Large'
const held = [10, 50] as const
const settleMs = 3000
/** Half of its times. */
const wanted = { most: 0.5 }
const waitMs = 60_000

interface Ground {
  readonly service: Service
  readonly user: User
  /** Id of the large folder. */
  readonly box: string
  readonly count: number
}

type Deed = 'sign in and list' | 'open the folder' | 'to the middle' | 'to the end' | 'open a message' | 'send'

interface Side {
  readonly name: string
  readonly took: Map<Deed, number[]>
  readonly bytes: Map<Deed, number[]>
  round(page: Page, step: Step): Promise<void>
}

type Step = (deed: Deed, run: () => Promise<unknown>) => Promise<void>

export async function webmailSection(plan: Plan): Promise<Row[]> {
  installed('chromium', ['chromium'])
  const kept = plan.ground
  const dataDir = kept === undefined ? makeFolder() : join(kept, 'data')
  try {
    const filled = await prepared(dataDir, plan.attacked, kept)
    const rows = await before(dataDir, filled, async ground => {
      const { service } = ground
      const places = { imap: service.listener('imap'), submission: service.listener('submission') }
      return withRoundcube(places, origin => compare(plan, ground, origin))
    })
    // Of a service that did nothing yet: what the others asked it for is given back for minutes.
    return [...rows, ...(await before(dataDir, filled, ground => holding(plan, ground)))]
  } finally {
    if (kept === undefined) removeFolder(dataDir)
  }
}

/** What is on disk. */
type Filled = Omit<Ground, 'service'>

async function prepared(dataDir: string, count: number, kept: string | undefined): Promise<Filled> {
  if (kept === undefined) return fillAll(dataDir, count)
  const told = join(kept, 'webmail.json')
  if (existsSync(told)) return JSON.parse(readFileSync(told, 'utf8')) as Filled
  // What was not filled to its end is of no use.
  removeFolder(dataDir)
  mkdirSync(kept, { recursive: true })
  const made = await fillAll(dataDir, count)
  writeFileSync(told, JSON.stringify(made))
  return made
}

async function fillAll(dataDir: string, count: number): Promise<Filled> {
  const first = await startService(dataDir)
  const [user] = await makeUsers(first, 1)
  if (user === undefined) throw new Error('no user')
  const { id } = await first.call('POST', `/users/${user.id}/mailboxes`, { path: large })
  await first.stop()
  const core = await openCore(
    loadConfig({ flags: { dataDir, hostname: 'bench.test', log: { level: 'error' } } }),
    makeLog('error'),
  )
  const inbox = await folderOf(core, user.id, 'INBOX')
  await fill(core, user.id, inbox.id, 100)
  await fill(core, user.id, String(id), count, 100)
  await core.close()
  return { user, box: String(id), count }
}

async function before<T>(dataDir: string, of: Filled, run: (ground: Ground) => Promise<T>): Promise<T> {
  const service = await startService(dataDir, { TEAL_API_ACCESS_CONTROL_ENABLED: 'true' })
  try {
    await settled(dataDir)
    return await run({ ...of, service })
  } finally {
    await service.stop()
  }
}

/** Waits until all text is indexed, which would take from both. */
async function settled(dataDir: string): Promise<void> {
  const read = openReader(databaseFile(dataDir))
  try {
    while ((await read.one('SELECT 1 FROM search_doc WHERE indexed = 0 LIMIT 1')) !== undefined)
      await sleep(settleMs / 10)
  } finally {
    read.close()
  }
}

const launch = () =>
  chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
    ],
  })

async function compare(plan: Plan, ground: Ground, roundcube: string): Promise<Row[]> {
  const side = (name: string, round: Side['round']): Side => ({ name, round, took: new Map(), bytes: new Map() })
  const sides = [
    side('Teal', (page, step) => inTeal(ground, page, step)),
    side('Roundcube', (page, step) => inRoundcube(ground, roundcube, page, step)),
  ]
  const browser = await launch()
  try {
    // The first round is not counted.
    for (let round = 0; round <= (plan.ms < 3000 ? 1 : rounds); round++) {
      for (const one of round % 2 === 0 ? sides : sides.toReversed()) {
        const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' })
        const measured = round === 0 ? { ...one, took: new Map(), bytes: new Map() } : one
        await walk(context, measured)
        await context.close()
      }
    }
  } finally {
    await browser.close()
  }
  const [ours, theirs] = sides
  if (ours === undefined || theirs === undefined) return []
  return [...ours.took.keys()].map(deed => {
    const kilobytes = (of: Side) => `${Math.round(median(of.bytes.get(deed)) / 1024)} KB`
    return {
      ...{ what: `${deed}, ${ground.count.toLocaleString('en-US')} messages`, figure: median(ours.took.get(deed)) },
      ...{ unit: 'ms', bound: { name: 'Roundcube', value: median(theirs.took.get(deed)) }, wanted },
      note: `${kilobytes(ours)}, there ${kilobytes(theirs)}`,
    }
  })
}

/** One round of a side, each step with its time and bytes. */
async function walk(context: BrowserContext, side: Side): Promise<void> {
  const page = await context.newPage()
  page.setDefaultTimeout(waitMs)
  const network = await context.newCDPSession(page)
  await network.send('Network.enable')
  await sleep(settleMs)
  let bytes = 0
  network.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength
  })
  await side.round(page, async (deed, run) => {
    const before = bytes
    const started = performance.now()
    await run()
    add(side.took, deed, performance.now() - started)
    add(side.bytes, deed, bytes - before)
    // What goes on behind is not the next step's; a stream of changes never ends.
    await page.waitForLoadState('networkidle', { timeout: settleMs }).catch(() => {})
  })
}

function add(to: Map<Deed, number[]>, deed: Deed, value: number): void {
  to.set(deed, [...(to.get(deed) ?? []), value])
}

async function signIn(page: Page, { service, user }: Ground): Promise<void> {
  await page.goto(`http://localhost:${service.listener('api').port}/app/mail`)
  await page.locator('input[name=username]').fill(user.name)
  await page.locator('input[name=password]').fill(user.password)
  await page.locator('input[name=password]').press('Enter')
  await page.locator('.mail-row a').first().waitFor()
}

async function inTeal(ground: Ground, page: Page, step: Step): Promise<void> {
  const { user, box, count } = ground
  const scroll = (row: number) => page.evaluate(`document.querySelector('.mail-list').scrollTop = ${row} * 72`)
  const at = (row: number) => page.locator(`.mail-row[aria-posinset="${row}"] a`).waitFor()
  await step('sign in and list', () => signIn(page, ground))
  await step('open the folder', async () => {
    await page.locator(`.mail-folders a[href$="${box}"]`).click()
    await page.locator(`.mail-list[data-rows="${count}"] .mail-row a`).first().waitFor()
  })
  await step('to the middle', async () => {
    await scroll(count / 2)
    await at(count / 2 + 1)
  })
  await step('to the end', async () => {
    await scroll(count)
    await at(count)
  })
  await step('open a message', async () => {
    await page.locator(`.mail-row[aria-posinset="${count}"] a`).click()
    await page.locator('.mail-message :is(iframe, pre)').first().waitFor()
  })
  await step('send', async () => {
    await page.locator('.mail-write').click()
    const writer = page.locator('.mail-writer')
    await writer.getByLabel('To', { exact: true }).fill(user.address)
    await writer.getByLabel('Subject').fill('measured')
    await writer.getByLabel('What you write').fill('one line')
    await writer.getByRole('button', { name: 'Send', exact: true }).click()
    await writer.waitFor({ state: 'detached' })
  })
}

const idle = `!window.rcmail.busy && document.querySelector('#messagelist tbody tr.message') !== null`

async function inRoundcube({ user, count }: Ground, origin: string, page: Page, step: Step): Promise<void> {
  const pages = `window.rcmail.env.pagecount`
  const goTo = async (number: string) => {
    await page.evaluate(`window.wanted = ${number}; window.rcmail.list_page(window.wanted)`)
    await page.waitForFunction(`window.rcmail.env.current_page === window.wanted && ${idle}`)
  }
  await step('sign in and list', async () => {
    await page.goto(origin)
    await page.locator('#rcmloginuser').fill(user.name)
    await page.locator('#rcmloginpwd').fill(user.password)
    await page.locator('#rcmloginpwd').press('Enter')
    await page.waitForURL(/_task=mail/)
    await page.waitForFunction(`window.rcmail && ${idle}`)
  })
  await step('open the folder', async () => {
    await page.locator('#mailboxlist a', { hasText: large }).click()
    await page.waitForFunction(
      `window.rcmail.env.mailbox === '${large}' && window.rcmail.env.messagecount >= ${count} && ${idle}`,
    )
  })
  await step('to the middle', () => goTo(`Math.ceil(${pages} / 2)`))
  await step('to the end', () => goTo(pages))
  await step('open a message', async () => {
    await page.locator('#messagelist tbody tr.message').last().click()
    await page.frameLocator('#messagecontframe').locator('#messagebody').waitFor()
  })
  await step('send', async () => {
    await page.goto(`${origin}/?_task=mail&_action=compose`)
    await page
      .locator('#_to, [name=_to]')
      .first()
      .evaluate((field, to) => {
        ;(field as unknown as { value: string }).value = to
      }, user.address)
    await page.locator('[name=_subject]').fill('measured')
    await page.locator('[name=_message]').fill('one line')
    await page.evaluate(`window.rcmail.command('send', {})`)
    await page.waitForURL(url => !url.search.includes('compose'))
  })
}

/**
 * What pages that are held open cost the service: the difference to before they were opened and to after they were closed, once as many had
 * been there already, so that neither what is made once nor what the service gives back after its start is in it.
 */
async function holding(plan: Plan, ground: Ground): Promise<Row[]> {
  const { service } = ground
  const browser = await launch()
  const rows: Row[] = []
  try {
    const first = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' })
    await signIn(await first.newPage(), ground)
    const storageState = await first.storageState()
    const open = async (many: number): Promise<BrowserContext[]> => {
      const contexts: BrowserContext[] = []
      while (contexts.length < many) {
        // Browsers hold six connections to one origin of one context.
        const one = await browser.newContext({ viewport: { width: 1280, height: 800 }, storageState })
        contexts.push(one)
        const page = await one.newPage()
        await page.goto(`http://localhost:${service.listener('api').port}/app/mail`)
        await page.locator('.mail-row a').first().waitFor()
      }
      return contexts
    }
    const close = (contexts: readonly BrowserContext[]) => Promise.all(contexts.map(one => one.close()))
    const holds = async () => {
      await sleep(settleMs)
      return { heap: await service.held(), resident: memoryOf(service.pid).own }
    }
    for (const many of plan.ms < 3000 ? held.slice(0, 1) : held) {
      await close(await open(many))
      const before = await holds()
      const contexts = await open(many)
      const during = await holds()
      await close(contexts)
      const after = await holds()
      const each = (of: 'heap' | 'resident') => (during[of] - (before[of] + after[of]) / 2) / many / 1024
      rows.push({
        ...{ what: `memory of the service for each of ${many} open pages`, figure: each('heap'), unit: 'KB' },
        note: `held by its main thread; resident ${Math.round(each('resident'))} KB`,
      })
    }
  } finally {
    await browser.close()
  }
  return rows
}

function median(values: readonly number[] = []): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
