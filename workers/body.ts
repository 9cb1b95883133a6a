// The thread that reads bodies ahead of a long answer (store/bodies/thread.ts). It has a read-only handle of its own, and
// gives away the memory of what it read.

import { parentPort, workerData } from 'node:worker_threads'
import { readBodies } from '../src/store/bodies/format/run.ts'
import type { BodyAnswer, BodyQuestion } from '../src/store/bodies/thread.ts'
import { Reader } from '../src/store/engine/reader.ts'
import { databaseFile } from '../src/store/folder/place.ts'

const port = parentPort
if (port === null) throw new Error('this file is a thread')

const read = Reader.open(databaseFile((workerData as { dataDir: string }).dataDir))

port.on('message', ({ id, nums }: BodyQuestion) => {
  try {
    const run = readBodies(read, nums).pack()
    port.postMessage({ id, run } satisfies BodyAnswer, [run.slab.buffer])
  } catch {
    // Whoever asked reads for himself and is told what is wrong.
    port.postMessage({ id, run: null } satisfies BodyAnswer)
  }
})
port.postMessage({ ready: true } satisfies BodyAnswer)
