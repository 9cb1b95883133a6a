// The thread that reads bodies ahead of a long answer (store/bodies/thread.ts). It has a read-only handle of its own, and
// gives away the memory of what it read. Its priority is lower than that of what answers and delivers: who asks for all bodies of a folder
// takes no processor from the others.

import { standBack } from '../src/lib/process/polite.ts'
import { serve, threadEnd, transferring } from '../src/lib/process/serve.ts'
import { readBodies } from '../src/store/bodies/format/run.ts'
import { openDatabase } from '../src/store/engine/open.ts'
import type { Reader } from '../src/store/engine/reader.ts'
import { databaseOf, type Place } from '../src/store/folder/place.ts'

standBack()

const end = threadEnd<Place>()
let reader: Reader

async function read(nums: readonly number[]) {
  const run = (await readBodies(reader, nums)).pack()
  return transferring(run, [run.slab.buffer])
}

function open(): void {
  reader = openDatabase(databaseOf(end.given))
}

serve({ read }, { end, open })
