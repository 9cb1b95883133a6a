// Pages of message lists: the same page of 20 in a mailbox of 100,000 messages and in one of 1,000, first, deep and unseen.
//
// Both are asked for in turns by one client over loopback, so that what the machine does meanwhile meets both; what counts
// is the ratio of the medians.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTeal, type Teal } from '#service'
import { fill, folderOf } from './fill.ts'
import type { Plan } from './plan.ts'
import type { Row } from './row.ts'

const small = 1000
const most = 1.3

export async function listingSection(plan: Plan): Promise<Row[]> {
  const large = plan.mixed * 10
  const dataDir = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'teal-listing-'))
  const teal = await startTeal({ dataDir, quota: { storage: 2 ** 40 } })
  try {
    const api = caller(teal)
    const { id: user } = await api('POST', '/users', {
      username: 'bench',
      password: 'secret',
      address: 'bench@example.com',
    })
    const base = `/users/${user}/mailboxes`
    const boxes: Record<'small' | 'large', string> = { small: '', large: '' }
    for (const [name, count] of [
      ['small', small],
      ['large', large],
    ] as const) {
      await api('POST', base, { path: name })
      boxes[name] = (await folderOf(teal.core, String(user), name)).id
      await fill(teal.core, String(user), boxes[name], count, name === 'small' ? 0 : small)
    }
    const rows: Row[] = []
    for (const [what, query] of [
      ['first page', ''],
      ['first page of what was not read', '&unseen=true'],
      ['first page of threads with counters', '&threadCounters=true'],
    ] as const) {
      const path = (name: 'small' | 'large') => `${base}/${boxes[name]}/messages?limit=20${query}`
      const [inSmall, inLarge] = await both(api, path('small'), path('large'), plan.ms)
      const bound = { name: `of ${small.toLocaleString('en-US')}`, value: inSmall }
      rows.push({
        what: `${what} of ${large.toLocaleString('en-US')}`,
        figure: inLarge,
        unit: 'us',
        bound,
        wanted: { most },
      })
    }
    let deep = `${base}/${boxes.large}/messages?limit=250`
    for (let at = 0; at < Math.min(large / 500, 100); at++) {
      const { nextCursor } = await api('GET', deep)
      deep = `${base}/${boxes.large}/messages?limit=250&next=${nextCursor}`
    }
    const last = deep.replace('limit=250', 'limit=20')
    const [first, later] = await both(api, `${base}/${boxes.large}/messages?limit=20`, last, plan.ms)
    rows.push({
      what: '  a page far down',
      figure: later,
      unit: 'us',
      bound: { name: 'the first', value: first },
      wanted: { most },
    })
    return rows
  } finally {
    await teal.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

type Call = (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>

function caller(teal: Teal): Call {
  const headers = { 'content-type': 'application/json', 'x-access-token': teal.rootToken }
  return async (method, path, body) => {
    const init: RequestInit = { method, headers }
    if (body !== undefined) init.body = JSON.stringify(body)
    const answer = await fetch(teal.url + path, init)
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Record<string, unknown>
  }
}

/** Medians of two calls made in turns, in microseconds. */
async function both(api: Call, one: string, other: string, ms: number): Promise<[number, number]> {
  const took: [number[], number[]] = [[], []]
  for (let round = 0; round < 20; round++) await Promise.all([api('GET', one), api('GET', other)])
  for (const until = performance.now() + ms; performance.now() < until; ) {
    for (const [at, path] of [one, other].entries()) {
      const started = performance.now()
      await api('GET', path)
      took[at as 0 | 1].push((performance.now() - started) * 1000)
    }
  }
  return [median(took[0]), median(took[1])]
}

function median(values: number[]): number {
  values.sort((one, other) => one - other)
  return values[Math.floor(values.length / 2)] ?? 0
}
