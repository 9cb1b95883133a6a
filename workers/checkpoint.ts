// The thread that copies the write-ahead log back into the database beside the writer (src/store/writer/checkpoint.ts).

import { dirname } from 'node:path'
import { letPass } from '../src/lib/lasting.ts'
import { serve, threadEnd } from '../src/lib/process/serve.ts'
import { copyBack, type Handle, openForWriting } from '../src/store/engine/sqlite/handle.ts'
import { type CheckpointData, copying } from '../src/store/writer/checkpoint.ts'

const end = threadEnd<CheckpointData>()
const { file, state, passing } = end.given
let handle: Handle

function say(what: number): void {
  Atomics.store(state, 0, what)
  Atomics.notify(state, 0)
}

function copy(): void {
  try {
    copyBack(handle)
  } catch {
    // The writer copies what is left, and meets the reason itself.
  } finally {
    say(copying.done)
  }
}

function close(): void {
  handle.close()
  say(copying.closed)
}

function open(): void {
  if (passing) letPass(dirname(file))
  handle = openForWriting(file)
}

serve({ copy }, { end, open, close })
