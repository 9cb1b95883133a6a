// The parts of a login apart from the network: hashing through the pool against bare pbkdf2 on all processors, passwords
// that were verified lately, the counters of failures, and what the main loop feels of it.
//
// Run: node bench/login-parts.ts [seconds]. Figures are ratios against the bound measured in the same run.

import { pbkdf2Sync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { makeLog } from '#lib/log.ts'
import { makePools } from '#pool'
import { Cache } from '#store/folder/cache.ts'

const inFlight = 64

if (isMainThread) await main(Number(process.argv[2] ?? 3) * 1000)
else parentPort?.postMessage(bareHashes(workerData as number))

async function main(ms: number): Promise<void> {
  const cores = availableParallelism()
  const bare = await bareRate(cores, ms)
  show(`bare pbkdf2 on ${cores} processors`, `${bare.toFixed(0)}/s`)
  const pools = makePools({ log: makeLog('silent'), recall: true })
  const start = performance.now()
  const stored = await pools.passwords.hash('password')
  show('first hash, thread start included', `${(performance.now() - start).toFixed(0)} ms`)
  await Promise.all(Array.from({ length: cores }, () => pools.passwords.hash('warm')))

  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  let guess = 0
  const cold = await rate(ms, () => pools.passwords.verify(`guess ${guess++}`, stored))
  delay.disable()
  show('cold verifications through the pool', `${cold.toFixed(0)}/s = ${percent(cold / bare)} of bare`)
  show(
    'event loop delay meanwhile',
    `p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms, max ${(delay.max / 1e6).toFixed(1)} ms`,
  )

  await pools.passwords.verify('password', stored)
  show('warm verifications', `${(await rate(ms / 3, () => pools.passwords.verify('password', stored))).toFixed(0)}/s`)
  show('warm recognitions', `${burst(ms / 3, () => pools.passwords.recalls('password', stored)).toFixed(0)}/s`)
  await counters(ms / 3)
  show('resident memory', `${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`)
  await pools.close()
}

async function counters(ms: number): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'teal-bench-'))
  const cache = Cache.open({ dir: join(dir, 'cache'), log: makeLog('silent') })
  let user = 0
  const counted = await rate(ms, async () => cache.count('fail', `user ${user++ % 5000}`, 120_000))
  await cache.flush()
  show('failure counters, 5000 accounts', `${counted.toFixed(0)}/s`)
  show('counters read', `${burst(ms, () => cache.counted('fail', `user ${user++ % 5000}`)).toFixed(0)}/s`)
  await cache.close()
  rmSync(dir, { recursive: true })
}

/** Tasks a second with so many at once. */
async function rate(ms: number, task: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  let done = 0
  const line = async () => {
    while (performance.now() - start < ms) {
      await task()
      done += 1
      if (done % 1000 === 0) await new Promise(resolve => setImmediate(resolve))
    }
  }
  await Promise.all(Array.from({ length: inFlight }, line))
  return (done * 1000) / (performance.now() - start)
}

function burst(ms: number, task: () => unknown): number {
  const start = performance.now()
  let done = 0
  for (; performance.now() - start < ms; done++) task()
  return (done * 1000) / (performance.now() - start)
}

async function bareRate(cores: number, ms: number): Promise<number> {
  const url = new URL(import.meta.url)
  const counts = Array.from({ length: cores }, () => {
    const worker = new Worker(url, { workerData: ms })
    return new Promise<number>((resolve, reject) => worker.once('message', resolve).once('error', reject))
  })
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

/** Hashes a second on this thread. */
function bareHashes(ms: number): number {
  const salt = Buffer.alloc(16, 7)
  return burst(ms, () => pbkdf2Sync('password', salt, 100_000, 32, 'sha256'))
}

function show(what: string, figure: string): void {
  process.stdout.write(`${what.padEnd(42)} ${figure}\n`)
}

function percent(ratio: number): string {
  return `${(ratio * 100).toFixed(1)}%`
}
