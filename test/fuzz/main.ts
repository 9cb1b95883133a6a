// `npm run fuzz -- [seed]`: rounds without end, each with the next seed, until one fails or somebody stops it.
//
// Memory is looked at when what nobody holds is collected: what is live must stay flat, however much is thrown at the
// service. Without that the process grows to some 800 MB before the engine finds it worth collecting; 140 rounds held 40
// to 45 MB of heap and 30 to 52 outside of it, most of that opened bodies that are kept (limits.body.cacheBytesMax). The
// process itself grows by 0.9 MB a round at first, 0.3 after 130: caches that fill. With those of bodies and of SQLite's
// pages cut to 1 MB it stood at 295 to 303 MB from the 25th round to the 115th, 31 of them in use outside the heap.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { advanceClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { startTeal } from '#service'
import { fuzzRound } from './round.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const mib = (bytes: number) => Math.round(bytes / 1024 / 1024)
/** Rounds after which everything has been used once, and what may be added to what is live then. */
const warmRounds = 5
const growthMax = limits.body.cacheBytesMax + 64 * 1024 * 1024

let rounds = 0
let liveAtFirst = 0
let seed = Number(process.argv[2] ?? 1)
const teal = await startTeal({ log: { level: 'error' } })
let stopped = false
process.once('SIGINT', () => {
  stopped = true
})
try {
  for (; !stopped; seed++) {
    await fuzzRound(teal, seed, { assaults: 400, messages: 2000, steps: 500 })
    // What was guessed from here is forgotten: rounds are quicker than anybody who forgets his password.
    advanceClock(limits.attempts.networkMs)
    collect()
    const { rss, heapUsed, external } = process.memoryUsage()
    rounds += 1
    if (rounds === warmRounds) liveAtFirst = heapUsed + external
    if (rounds > warmRounds && heapUsed + external > liveAtFirst + growthMax) {
      throw new Error(`memory grows: ${mib(heapUsed + external)} MB are live, ${mib(liveAtFirst)} were`)
    }
    process.stdout.write(`seed ${seed} held; memory ${mib(rss)}, heap ${mib(heapUsed)}, outside ${mib(external)} MB\n`)
  }
} catch (error) {
  process.stdout.write(`seed ${seed} failed\n${error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = 1
} finally {
  await teal.close()
}
