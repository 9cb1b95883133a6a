// A process that bounds the young part of its heap, makes much that lives for a while, rests, and does it again: says how large that part was.
// Then it collects while another thread takes back what that needs, as one does that has collected.

import { once } from 'node:events'
import { getHeapSpaceStatistics } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { breathe } from '#lib/clock.ts'
import { boundYoung, collectGarbage } from '#lib/process/heap.ts'

const youngSize = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0

const rounds = 60
const living = 100_000

async function work(): Promise<number> {
  let most = 0
  for (let round = 0; round < rounds; round++) {
    const kept = Array.from({ length: living }, (_, at) => ({ at, list: [at] }))
    most = Math.max(most, youngSize(), kept.length === living ? 0 : 1)
    await breathe()
  }
  return most
}

boundYoung()
const most = await work()
collectGarbage()
const rested = youngSize()
const again = await work()

const other = new Worker(
  `const { setFlagsFromString } = require('node:v8')
  require('node:worker_threads').parentPort.postMessage('begun')
  for (;;) setFlagsFromString('--no-expose-gc')`,
  { eval: true },
)
await once(other, 'message')
for (let times = 0; times < 20; times++) collectGarbage()
await other.terminate()

process.stdout.write(JSON.stringify({ most, rested, again }))
