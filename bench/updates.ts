// Update streams: whether every change reaches every stream, how late, and what a stream costs in memory.
//
// `node bench/updates.ts [--quick]`. So many streams of some users are open while folders are renamed at a steady rate;
// each stream must hear of each rename of its user. Memory is what the process grows by when five times as many more are
// opened: the growth of two hundred alone would drown in that of the heap while changes flow.

import { type ClientRequest, get } from 'node:http'
import { pathToFileURL } from 'node:url'
import { monotonic, sleep } from '#lib/clock.ts'
import { residentBytes } from './child.ts'
import { fullPlan, type Plan, quickPlan } from './plan.ts'
import { formatRows, type Row } from './row.ts'
import { makeFolder, makeUsers, removeFolder, type Service, startService, type User } from './service.ts'

const streams = 200
const users = 20
const perSecond = 100
const mostBytes = 30 * 1024

export async function updatesSection(plan: Plan): Promise<Row[]> {
  const folder = makeFolder()
  const service = await startService(folder)
  try {
    const people = await makeUsers(service, users)
    const folders = await Promise.all(people.map(user => makeFolders(service, user)))
    const result = await run(service, people, folders, plan.ms)
    const bytes = await memory(service, people)
    return [
      {
        what: `updates, changes heard of ${result.changes} on ${streams} streams`,
        figure: result.heard,
        unit: 'changes',
        bound: { name: 'expected', value: result.expected },
        wanted: { least: 1, most: 1 },
        note: `${perSecond} changes a second; p50 ${result.p50.toFixed(1)} ms, p99 ${result.p99.toFixed(1)} ms after the answer`,
      },
      { what: 'updates, memory of a stream', figure: bytes / 1024, unit: 'KB', wanted: { most: mostBytes / 1024 } },
    ]
  } finally {
    await service.stop()
    removeFolder(folder)
  }
}

async function makeFolders(service: Service, user: User): Promise<string> {
  return String((await service.call('POST', `/users/${user.id}/mailboxes`, { path: `Own ${user.name}` })).id)
}

/** Bytes of resident memory that one more open stream costs. */
async function memory(service: Service, people: readonly User[]): Promise<number> {
  const some = await openAll(service, people, streams)
  await sleep(2000)
  const before = residentBytes(service.pid)
  const more = await openAll(service, people, 5 * streams)
  await sleep(2000)
  const bytes = (residentBytes(service.pid) - before) / more.length
  for (const { request } of [...some, ...more]) request.destroy()
  return bytes
}

function openAll(service: Service, people: readonly User[], count: number): Promise<Listener[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => listen(service, people[index % users] as User)))
}

interface Result {
  readonly changes: number
  readonly expected: number
  readonly heard: number
  readonly p50: number
  readonly p99: number
}

async function run(service: Service, people: readonly User[], folders: readonly string[], ms: number): Promise<Result> {
  const listeners = await openAll(service, people, streams)
  const answered = new Map<string, number>()
  const waiting: Promise<unknown>[] = []
  const start = monotonic()
  let changes = 0
  for (; changes < (ms / 1000) * perSecond; changes++) {
    const path = `Run ${start}-${changes}`
    const which = changes % users
    const url = `/users/${people[which]?.id}/mailboxes/${folders[which]}`
    waiting.push(service.call('PUT', url, { path }).then(() => answered.set(path, monotonic())))
    const due = start + ((changes + 1) * 1000) / perSecond
    if (due > monotonic()) await sleep(due - monotonic())
  }
  await Promise.all(waiting)
  const expected = (changes * streams) / users
  const heard = () => listeners.reduce((sum, listener) => sum + listener.paths.size, 0)
  for (let waited = 0; heard() < expected && waited < 100; waited++) await sleep(50)
  for (const { request } of listeners) request.destroy()
  const delays = listeners
    .flatMap(({ paths }) => [...paths].map(([path, at]) => at - (answered.get(path) ?? at)))
    .sort((a, b) => a - b)
  const at = (part: number) => delays[Math.floor(delays.length * part)] ?? 0
  return { changes, expected, heard: heard(), p50: at(0.5), p99: at(0.99) }
}

interface Listener {
  readonly request: ClientRequest
  /** Path of each rename that was heard, and when. */
  readonly paths: Map<string, number>
}

function listen(service: Service, user: User): Promise<Listener> {
  const { host, port } = service.listener('api')
  const headers = { 'x-access-token': service.token }
  return new Promise((resolve, reject) => {
    const paths = new Map<string, number>()
    let text = ''
    const request = get({ host, port, path: `/users/${user.id}/updates`, headers }, response => {
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const path = /"path": "(.*)"/.exec(text.slice(0, end))?.[1]
          if (path !== undefined) paths.set(path, monotonic())
          text = text.slice(end + 2)
        }
        resolve({ request, paths })
      })
      response.on('error', () => {})
    })
    request.on('error', reject)
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const rows = await updatesSection(process.argv.includes('--quick') ? quickPlan : fullPlan)
  process.stdout.write(`${formatRows(rows)}\n`)
}
