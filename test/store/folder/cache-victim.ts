// Writes into a cache until its file may not grow any more, and says what is known then.

import { sleep } from '#lib/clock.ts'
import { makeLog } from '#lib/log.ts'
import { Cache } from '#store/folder/cache.ts'

const cache = Cache.open({ dir: process.argv[2] ?? '', log: makeLog('info') })
const hour = 3_600_000
cache.keep('full', 'first', 'kept', hour)
await cache.flush()
let broken = false
for (let at = 0; at < 200 && !broken; at++) {
  for (let n = 0; n < 200; n++) cache.keep('filler', `${at} ${n}`, 'x'.repeat(100), hour)
  await sleep(50)
  broken = await cache.check().then(
    () => false,
    () => true,
  )
}
// Long enough for what nobody listens to to end the process.
await sleep(1500)
cache.keep('full', 'newest', 'kept', hour)
const known = (id: string) => cache.look('full', id)?.value
process.stdout.write(`${JSON.stringify({ broken, first: known('first'), newest: known('newest') })}\n`)
process.exit(0)
