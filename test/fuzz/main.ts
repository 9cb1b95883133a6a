// `npm run fuzz -- [seed]`: rounds without end, each with the next seed, until one fails or somebody stops it.

import { startTeal } from '#service'
import { fuzzRound } from './round.ts'

let seed = Number(process.argv[2] ?? 1)
const teal = await startTeal({ log: { level: 'error' } })
let stopped = false
process.once('SIGINT', () => {
  stopped = true
})
try {
  for (; !stopped; seed++) {
    await fuzzRound(teal, seed, { assaults: 400, messages: 2000, steps: 500 })
    const { rss, heapUsed, external } = process.memoryUsage()
    const mib = (bytes: number) => Math.round(bytes / 1024 / 1024)
    process.stdout.write(`seed ${seed} held; memory ${mib(rss)}, heap ${mib(heapUsed)}, outside ${mib(external)} MB\n`)
  }
} catch (error) {
  process.stdout.write(`seed ${seed} failed\n${error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = 1
} finally {
  await teal.close()
}
