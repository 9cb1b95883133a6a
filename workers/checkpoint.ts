// The thread that copies the write-ahead log back into the database beside the writer (src/store/writer/checkpoint.ts).

import { parentPort, workerData } from 'node:worker_threads'
import { openForWriting } from '../src/store/engine/sqlite.ts'
import { type CheckpointData, type CheckpointMessage, copying } from '../src/store/writer/checkpoint.ts'

const { file, state } = workerData as CheckpointData
const handle = openForWriting(file)

function say(what: number): void {
  Atomics.store(state, 0, what)
  Atomics.notify(state, 0)
}

parentPort?.on('message', (message: CheckpointMessage) => {
  if (message === 'close') {
    handle.close()
    parentPort?.close()
    say(copying.closed)
    return
  }
  try {
    handle.pragma('wal_checkpoint(PASSIVE)')
  } catch {
    // The writer copies what is left, and meets the reason itself.
  } finally {
    say(copying.done)
  }
})
