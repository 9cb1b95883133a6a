// What a piece of work costs each thread in processor time, with no, one and two front threads, and from it what more cores would bear.
//
// The load is so much that nobody waits for it: what counts is processor time for a piece, which a busy machine changes least. Of the
// threads that there is one of (the main thread, the writer) the busier bounds the service however many cores there are; fronts, the
// threads of pools and what the runtime itself does share the rest. The machine that bears it is one like this, with more cores.

import { runLoad } from '../child.ts'
import { ImapLoad } from '../load/imap.ts'
import type { LoadResult } from '../load/job.ts'
import { letter, type MixName } from '../load/mix.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, type Service, startService, type User } from '../service.ts'
import { idle } from './delivery.ts'

const frontCounts = [0, 1, 2] as const
const cores = [4, 8, 16] as const
const users = 8
const rounds = 3

/** Pieces of work, and how many a second are wanted on eight cores. */
interface Piece {
  readonly what: string
  readonly run: (side: Side, ms: number, seed: number) => Promise<LoadResult>
  readonly wanted?: number
}

interface Side {
  readonly fronts: number
  readonly service: Service
  readonly users: readonly User[]
  /** Path of a page of fifty messages of the first user. */
  readonly page: string
}

/** Processor seconds by thread; `all` is the whole process. */
type Use = Readonly<Record<'all' | 'main' | 'writer' | 'fronts', number>>

const mix =
  (name: MixName, connections: number): Piece['run'] =>
  ({ service, users: all }, ms, seed) =>
    runLoad({ kind: 'mix', mix: name, connections, messages, ms, seed, accounts: all, ...service.listener('imap') })

const deliver =
  (size: number): Piece['run'] =>
  ({ service, users: all }, ms, seed) => {
    const recipients = all.map(({ address }) => address)
    return runLoad({
      ...{ kind: 'deliver', protocol: 'lmtp', connections: 16, size, recipients, seed, ms },
      ...service.listener('lmtp'),
    })
  }

const messages = 200

const pieces: readonly Piece[] = [
  { what: 'command of the reading mix', run: mix('mostly reading', 12), wanted: 20_000 },
  { what: 'FETCH of flags of one', run: mix('FETCH of flags of one', 8) },
  { what: 'STORE of one', run: mix('STORE one by one', 8) },
  { what: 'delivery of 2 KB', run: deliver(2048), wanted: 7000 },
  { what: 'delivery of 50 KB', run: deliver(51_200) },
  {
    what: 'warm login and logout',
    run: ({ service, users: all }, ms) =>
      runLoad({ kind: 'login', protocol: 'imap', connections: 16, users: all, ms, ...service.listener('imap') }),
  },
  {
    what: 'page of 50 over HTTP',
    run: ({ service, page }, ms) =>
      runLoad({
        ...{ kind: 'request', method: 'GET', path: page, headers: { 'X-Access-Token': service.token }, bodies: [] },
        ...{ status: 200, connections: 8, ms, ...service.listener('api') },
      }),
  },
]

export async function piecesSection(plan: Plan): Promise<Row[]> {
  const folders = frontCounts.map(() => makeFolder())
  const sides: Side[] = []
  try {
    for (const [index, fronts] of frontCounts.entries()) sides.push(await open(folders[index] ?? '', fronts))
    const rows: Row[] = []
    for (const piece of pieces) rows.push(...(await measure(piece, sides, plan.ms / 3)))
    for (const { service } of sides) await service.stop()
    return rows
  } finally {
    for (const folder of folders) removeFolder(folder)
  }
}

async function open(folder: string, fronts: number): Promise<Side> {
  const service = await startService(folder, { TEAL_THREADS: String(fronts), TEAL_IMAP_MAX_CONNECTIONS: '2000' })
  const all = await makeUsers(service, users)
  for (const { name, password } of all) {
    const client = await ImapLoad.open(service.listener('imap'), name, password)
    await client.run('CREATE Archive')
    for (let serial = 0; serial < messages; serial++) {
      const bytes = letter(serial, serial % 10 === 0 ? 30_000 : 5000)
      await client.run(`APPEND INBOX {${bytes.length}+}`, bytes)
    }
    client.close()
  }
  const [first] = all
  const { results } = (await service.call('GET', `/users/${first?.id}/mailboxes`)) as {
    results: { id: string; path: string }[]
  }
  const inbox = results.find(({ path }) => path === 'INBOX')?.id
  return { fronts, service, users: all, page: `/users/${first?.id}/mailboxes/${inbox}/messages?limit=50` }
}

async function measure({ what, run, wanted }: Piece, sides: readonly Side[], ms: number): Promise<Row[]> {
  const sums = sides.map(() => ({
    done: 0,
    use: { all: 0, main: 0, writer: 0, fronts: 0 } as Record<keyof Use, number>,
  }))
  for (const side of sides) await run(side, ms, 0)
  for (let round = 1; round <= rounds; round++) {
    for (const [index, side] of sides.entries()) {
      const sum = sums[index]
      if (sum === undefined) continue
      await idle(sides.map(({ service }) => service.pid))
      const before = await useOf(side.service)
      const { done } = await run(side, ms, round)
      const after = await useOf(side.service)
      sum.done += done
      for (const key of ['all', 'main', 'writer', 'fronts'] as const) sum.use[key] += after[key] - before[key]
    }
  }
  return sums.map(({ done, use }, index) => {
    const fronts = sides[index]?.fronts ?? 0
    const micro = (seconds: number) => (seconds / done) * 1e6
    const parts = { main: micro(use.main), writer: micro(use.writer), fronts: micro(use.fronts), all: micro(use.all) }
    const ceilings = cores.map(count => ceiling(parts, count))
    const said = `main ${Math.round(parts.main)}, writer ${Math.round(parts.writer)}, fronts ${Math.round(parts.fronts)} us`
    const more =
      fronts === 0 ? '' : `; ${cores.map((count, at) => `${count} cores ${round(ceilings[at] ?? 0)}/s`).join(', ')}`
    const eight = ceilings[1] ?? 0
    return {
      ...{ what: `${what}, ${fronts} fronts`, figure: parts.all, unit: 'us', note: said + more },
      ...(wanted !== undefined && fronts === 2
        ? { figure: eight, unit: '/s on eight cores, reckoned', wanted: { least: wanted } }
        : {}),
    }
  })
}

/** What so many cores bear a second: the busiest thread of one kind bounds it, and all cores together do. */
function ceiling(
  { main, writer, all }: { readonly main: number; readonly writer: number; readonly all: number },
  count: number,
): number {
  return 1e6 / Math.max(main, writer, all / count)
}

function round(rate: number): string {
  return (Math.round(rate / 100) * 100).toLocaleString('en-US')
}

/** As the service itself says it. */
async function useOf({ listener, token }: Service): Promise<Use> {
  const { host, port } = listener('api')
  const text = await (await fetch(`http://${host}:${port}/metrics`, { headers: { 'X-Access-Token': token } })).text()
  const value = (pattern: RegExp) => [...text.matchAll(pattern)].reduce((sum, [, number]) => sum + Number(number), 0)
  const thread = (name: string) => value(new RegExp(`thread_cpu_seconds_total\\{thread="${name}"\\} ([0-9.e+-]+)`, 'g'))
  return {
    all: value(/^process_cpu_seconds_total ([0-9.e+-]+)/gm),
    main: thread('main'),
    writer: thread('writer'),
    fronts: thread('front-\\d+'),
  }
}
