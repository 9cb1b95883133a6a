// Starts the thread that writes to the database (workers/writer.ts), so that it can get ready while the rest of the
// program is still being read. What goes to it and comes back is writer.ts's alone.

import type { Worker } from 'node:worker_threads'
import { startThread } from '#lib/build-info.ts'
import { Fault, type FaultCode } from '#lib/fault.ts'

export interface WriterThread {
  readonly worker: Worker
  /** Resolves when the schema is up to date. @throws Fault DatabaseTooNew, DataDirectoryUnusable, DataMissing, StoreDamaged */
  readonly ready: Promise<Opened>
}

/** What the thread found. */
export interface Opened {
  /** There was no database. */
  readonly made: boolean
  /** What is gone of the write-ahead log, as a sentence. */
  readonly loss: string | null
}

export interface WriterThreadData {
  readonly file: string
  /** Whether a database may be made where there is none. */
  readonly mayBeNew: boolean
}

/** What the thread says first. */
export type FirstWord =
  | ({ readonly ready: true } & Opened)
  | { readonly refused: FaultCode | null; readonly text: string }

export function startWriterThread(file: string, mayBeNew: boolean): WriterThread {
  const worker = startThread('writer', { file, mayBeNew } satisfies WriterThreadData)
  const ready = new Promise<Opened>((resolve, reject) => {
    worker.once('error', reject)
    worker.once('message', (message: FirstWord) => {
      if ('ready' in message) return resolve({ made: message.made, loss: message.loss })
      const { refused, text } = message
      reject(refused === null ? new Error(text) : new Fault(refused, { text }))
    })
  }).finally(() => worker.removeAllListeners('error'))
  // Whoever waits for it hears of it; nobody may do so yet.
  ready.catch(() => {})
  return { worker, ready }
}
