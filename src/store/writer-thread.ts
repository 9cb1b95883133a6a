// Starts the thread that writes to the database (workers/writer.ts), so that it can get ready while the rest of the
// program is still being read. What goes to it and comes back is writer.ts's alone.

import type { Worker } from 'node:worker_threads'
import { Fault, type FaultCode } from '#lib/fault.ts'
import { startThread } from '#lib/own.ts'

export interface WriterThread {
  readonly worker: Worker
  /** Resolves when the schema is up to date. @throws Fault DatabaseTooNew, DataDirectoryUnusable */
  readonly ready: Promise<void>
}

/** What the thread says first. */
type FirstWord = { readonly ready: true } | { readonly refused: FaultCode | null; readonly text: string }

export function startWriterThread(file: string, dataDir: string): WriterThread {
  const worker = startThread('writer', { file, dataDir })
  const ready = new Promise<void>((resolve, reject) => {
    worker.once('error', reject)
    worker.once('message', (message: FirstWord) => {
      if ('ready' in message) return resolve()
      reject(message.refused === null ? new Error(message.text) : new Fault(message.refused))
    })
  }).finally(() => worker.removeAllListeners('error'))
  // Whoever waits for it hears of it; nobody may do so yet.
  ready.catch(() => {})
  return { worker, ready }
}
