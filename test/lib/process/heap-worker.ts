// A process that bounds the young part of its heap, makes much that lives for a while, rests, and does it again: says how large that part was.

import { getHeapSpaceStatistics } from 'node:v8'
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
process.stdout.write(JSON.stringify({ most, rested, again: await work() }))
