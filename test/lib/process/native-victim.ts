// A process that ends threads while they load an addon: at their start, and with a task that is past its deadline. It ends
// with 0 where none of that took it along. From round to round a thread is ended a little later.

import { Thread } from '#lib/process/thread.ts'

const [rounds, stepMicroseconds] = [Number(process.argv[2]), 25]

/** Holds up this loop, so that the thread is ended at that very moment. */
function waitFor(signal: Int32Array, count: number, microseconds: number): void {
  while (Atomics.load(signal, 0) < count) Atomics.wait(signal, 0, Atomics.load(signal, 0), 50)
  for (const from = performance.now(); performance.now() - from < microseconds / 1000; );
}

for (let index = 0; index < rounds; index += 1) {
  const given = new Int32Array(new SharedArrayBuffer(4))
  const thread = new Thread({ file: new URL('./native-worker.ts', import.meta.url), given })
  const atStart = index % 2 === 0
  if (!atStart) {
    await thread.up
    thread.ask('load', null).catch(() => {})
  }
  waitFor(given, atStart ? 1 : 2, index * stepMicroseconds)
  await thread.end()
}
