// Keeps the index of text behind the mail: bodies that wait are decoded on the thread for long reads and indexed in small
// background units, with a pause between two, so that deliveries come first. A crash loses nothing: what waits is rows.
// Searches do not depend on it, they only get faster: what is not indexed yet is looked into.

import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { monotonic, sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Reads } from '#store/engine/reads.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import { type SearchDoc, searchAdd, type WaitingDoc, waitingDocs } from '#store/search/docs.ts'
import { Loop, type LoopMetrics } from '../loop.ts'

export interface IndexingOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly reads: Reads
  readonly log: Log
  readonly metrics: LoopMetrics
}

/** Makes the loop; it starts with its first kick and looks again every limits.loop.pollMs. */
export function indexingLoop({ read, writer, reads, log, metrics }: IndexingOptions): Loop<readonly WaitingDoc[]> {
  return new Loop<readonly WaitingDoc[]>(
    {
      name: 'indexing',
      async claim(_room, _at, under) {
        const docs = await waitingDocs(read, limits.search.indexDocs)
        if (docs.length === 0) return []
        const texts = await reads.texts(docs.map(doc => doc.body))
        const rows = docs.map((doc, at) => ({ ...doc, ...(texts[at] ?? { text: '', whole: true, fields: true }) }))
        for (const group of grouped(rows)) {
          const started = monotonic()
          const bytes = group.reduce((sum, row) => sum + row.text.length * 2 + 50, 0)
          const operations: Operation[] = [operation(searchAdd, { docs: group })]
          await writer.submit({ operations, bytes, background: true, under })
          await giveWay(writer, monotonic() - started)
        }
        return [docs]
      },
      run: (_docs, signal) => sleep(limits.search.indexPauseMs, signal),
      next: () => null,
    },
    { inFlightMax: 1, log, metrics, duty: writer.duty },
  )
}

/** Bodies in units of little text, so that no delivery waits long behind one. */
function grouped(rows: readonly SearchDoc[]): SearchDoc[][] {
  const groups: SearchDoc[][] = []
  let room = 0
  for (const row of rows) {
    if (groups.length === 0 || room < row.text.length) {
      groups.push([])
      room = limits.search.indexUnitLength
    }
    groups.at(-1)?.push(row)
    room -= row.text.length
  }
  return groups
}

/** While others write, the index takes a hundredth of the writer's time; what is not indexed yet is searched all the same. */
async function giveWay(writer: JobWriter, tookMs: number): Promise<void> {
  for (let waited = 0; waited < 99 * tookMs; waited += limits.search.indexPauseMs) {
    const { commits } = writer
    await sleep(limits.search.indexPauseMs)
    if (writer.commits === commits && writer.pending === 0) return
  }
}
