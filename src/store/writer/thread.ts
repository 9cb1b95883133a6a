// Starts the thread that writes to the database (workers/writer.ts, or workers/postgres-writer.ts for an address), so that it can
// get ready while the rest of the program is still being read. Databases that are thrown away share one, and so do those behind an
// address whose services keep nothing else. What goes to it and comes back is writer.ts's alone.

import { threadFile } from '#lib/build-info.ts'
import { isPassing } from '#lib/lasting.ts'
import { lodge, type OwnedThread } from '#lib/process/lodging.ts'
import type { Answer } from '#lib/process/task.ts'
import { Thread } from '#lib/process/thread.ts'
import { isAddress } from '../engine/postgres/address.ts'

export interface WriterThread {
  readonly thread: OwnedThread
  /** Takes its answers from now on. */
  hear(listener: (id: number, answer: Answer) => void): void
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
  /** The database: a file, or an address of PostgreSQL. */
  readonly file: string
  /** Whether a database may be made where there is none. */
  readonly mayBeNew: boolean
  /** Its folder is thrown away: nothing is synced. */
  readonly passing: boolean
  /** The number of the node, where several share the database. */
  readonly node?: number
  /** Address of the store that large parts may be in; '' for none. */
  readonly bodies?: string
}

/** What is told of a database behind an address. */
interface BehindAddress extends Pick<WriterThreadData, 'node' | 'bodies'> {
  /** Of the service that it is started for. */
  readonly dataDir?: string
}

export function startWriterThread(
  file: string,
  mayBeNew: boolean,
  { dataDir = file, ...behind }: BehindAddress = {},
): WriterThread {
  let listener: ((id: number, answer: Answer) => void) | undefined
  const given: WriterThreadData = { file, mayBeNew, passing: isPassing(file), ...behind }
  const onReply = (id: number, answer: Answer) => listener?.(id, answer)
  const form = { file: threadFile(isAddress(file) ? 'postgres-writer' : 'writer'), given, lasting: true, onReply }
  // What is thrown away waits for no disk, and who waits for a server keeps no thread busy: one can write for all of them.
  const thread = isPassing(dataDir) ? lodge(form) : new Thread(form)
  return {
    thread,
    ready: thread.up as Promise<Opened>,
    hear: to => {
      listener = to
    },
  }
}
