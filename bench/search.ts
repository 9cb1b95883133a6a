// Searching 100,000 messages of one account: a rare word, a frequent one, words too short for the index, and whether the
// main loop notices. How long somebody waits who sees what is found while typing. Also what the index costs: time of the writer, and disk as a share of the text.
//
// Queries go over HTTP against a service in this process; the first is asked before anything is indexed, since answers are
// complete at any moment.

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { sleep } from '#lib/clock.ts'
import { startTeal, type Teal } from '#service'
import { databaseFile } from '#store/folder/place.ts'
import { fill, folderOf, frequentWord, wordsToType } from './fill.ts'
import type { Plan } from './plan.ts'
import type { Row } from './row.ts'

const typedWords = 60

export async function searchSection(plan: Plan): Promise<Row[]> {
  const count = plan.mixed * 10
  const dataDir = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'teal-search-'))
  const teal = await startTeal({ dataDir, quota: { storage: 2 ** 40 } })
  try {
    const user = await makeUser(teal)
    const box = await folderOf(teal.core, user, 'INBOX')
    await fill(teal.core, user, box.id, count)
    const tail = await measure(teal, user, 'zyzzogeton', 3)
    const before = statSync(databaseFile(dataDir)).size
    const started = performance.now()
    await settle(teal)
    const seconds = (performance.now() - started) / 1000
    const share = (await indexBytes(teal)) / (await textBytes(teal))
    const rare = await measure(teal, user, 'zyzzogeton', 20)
    const some = await measure(teal, user, 'subject:lo from:sender7@', 5)
    const frequent = await measure(teal, user, frequentWord(), 3)
    const phrase = await measure(teal, user, '"zyzzogeton of number"', 20)
    const short = await measure(teal, user, 'zy', 1)
    const typed = await typing(teal, user)
    const name = (text: string) => `${text} in ${count.toLocaleString('en-US')} messages`
    return [
      { what: name('search for a rare word'), figure: rare.ms, unit: 'ms', wanted: { most: 50 }, note: rare.note },
      { what: name('  a phrase'), figure: phrase.ms, unit: 'ms', wanted: { most: 50 }, note: phrase.note },
      { what: name('  a subject and a sender'), figure: some.ms, unit: 'ms', note: some.note },
      { what: name('  a frequent word'), figure: frequent.ms, unit: 'ms', note: frequent.note },
      { what: name('  two letters, scanned'), figure: short.ms, unit: 'ms', note: short.note },
      {
        what: name('  while it is typed, 99 of 100 letters'),
        ...{ figure: typed.p99, unit: 'ms', wanted: { most: 100 } },
        note: `the middle one ${typed.p50.toFixed(1)} ms, ${typed.letters} letters`,
      },
      { what: name('  a rare word, nothing indexed yet'), figure: tail.ms, unit: 'ms', note: tail.note },
      {
        what: '  share of the main loop while scanning',
        figure: short.busy * 100,
        unit: '%',
        wanted: { most: 25 },
      },
      { what: '  indexing', figure: count / seconds, unit: 'messages/s' },
      {
        what: '  index by text',
        figure: share,
        unit: 'x',
        wanted: { most: 1 },
        note: `database ${Math.round(before / 2 ** 20)} MiB`,
      },
    ]
  } finally {
    await teal.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function makeUser(teal: Teal): Promise<string> {
  const body = JSON.stringify({ username: 'bench', password: 'secret of bench', address: 'bench@example.com' })
  const headers = { 'content-type': 'application/json', 'x-access-token': teal.rootToken }
  const answer = await fetch(`${teal.url}/users`, { method: 'POST', headers, body })
  return ((await answer.json()) as { id: string }).id
}

/** The median of some searches over HTTP, each asked for another size of page so that none is remembered. */
async function measure(teal: Teal, user: string, q: string, times: number) {
  const took: number[] = []
  let total = 0
  const busy = performance.eventLoopUtilization()
  for (let at = 0; at < times; at++) {
    const query = `q=${encodeURIComponent(`${q} maxSize:${10_000_000 + at}`)}`
    const started = performance.now()
    const answer = await fetch(`${teal.url}/users/${user}/search?${query}`, {
      headers: { 'x-access-token': teal.rootToken },
    })
    total = ((await answer.json()) as { total: number }).total
    took.push(performance.now() - started)
  }
  const used = performance.eventLoopUtilization(busy).utilization
  took.sort((one, other) => one - other)
  const note = `${total} found, main loop busy ${Math.round(used * 100)}%`
  return { ms: took[Math.floor(took.length / 2)] ?? 0, busy: used, note }
}

/** Words as they are typed, a search for each letter from the third on, some of them in a subject or a sender. */
async function typing(teal: Teal, user: string): Promise<{ p50: number; p99: number; letters: number }> {
  const took: number[] = []
  for (const [at, word] of wordsToType(typedWords).entries()) {
    const before = ['', 'subject:', 'is:unread ', 'from:sender1 '][at % 4]
    for (let length = 3; length <= word.length; length++) {
      const q = encodeURIComponent(`${before}${word.slice(0, length)}`)
      const path = `/users/${user}/search?quick=true&order=desc&limit=50&useAndSearch=true&q=${q}`
      const started = performance.now()
      const answer = await fetch(teal.url + path, { headers: { 'x-access-token': teal.rootToken } })
      await answer.json()
      took.push(performance.now() - started)
    }
  }
  took.sort((one, other) => one - other)
  const of = (part: number) => took[Math.min(took.length - 1, Math.floor(took.length * part))] ?? 0
  return { p50: of(0.5), p99: of(0.99), letters: took.length }
}

async function settle({ core }: Teal): Promise<void> {
  while ((await core.read.one('SELECT 1 FROM search_doc WHERE indexed = 0 LIMIT 1')) !== undefined) await sleep(20)
}

async function indexBytes({ core }: Teal): Promise<number> {
  return (
    (
      await core.read.one<{ n: number }>(
        'SELECT sum(n) AS n FROM (SELECT sum(length(block)) AS n FROM search_data UNION ALL SELECT sum(length(block)) FROM search_word_data)',
      )
    )?.n ?? 0
  )
}

async function textBytes({ core }: Teal): Promise<number> {
  return (await core.read.one<{ n: number }>('SELECT sum(size) AS n FROM body'))?.n ?? 1
}
