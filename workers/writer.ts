// The writer thread: the only writable handle on the database.
//
// A batch is one transaction, a unit one savepoint in it, and the answer is sent after the commit is on disk. A unit that
// breaks a rule is undone alone; a commit that fails undoes the batch. Between batches, when nobody waits or the log has
// grown long, the write-ahead log is copied back.

import { parentPort, workerData } from 'node:worker_threads'
import { Fault } from '../src/lib/fault.ts'
import { collectGarbage } from '../src/lib/heap.ts'
import { limits } from '../src/lib/limits.ts'
import { migrate } from '../src/store/schema.ts'
import { type Handle, openForWriting, type Sql, sqliteFailure, statements } from '../src/store/sqlite.ts'
import { type Effects, findWrite } from '../src/store/write.ts'
import type { WriterReply, WriterRequest } from '../src/store/writer.ts'
import '../src/store/archive-writes.ts'
import '../src/store/audit-writes.ts'
import '../src/store/body-writes.ts'
import '../src/store/certificate-writes.ts'
import '../src/store/credential-writes.ts'
import '../src/store/dkim-writes.ts'
import '../src/store/domain-writes.ts'
import '../src/store/file-writes.ts'
import '../src/store/outbound-writes.ts'
import '../src/store/rule-writes.ts'
import '../src/store/register-writes.ts'
import '../src/store/removal-writes.ts'
import '../src/store/retention-writes.ts'
import '../src/store/search-writes.ts'
import '../src/store/task-writes.ts'
import '../src/store/transfer-writes.ts'
import '../src/store/webhook-writes.ts'
import '../src/store/writes.ts'

const port = parentPort
if (port === null) throw new Error('this file is a thread')

try {
  const handle = openForWriting(workerData.file as string)
  migrate(handle)
  start(handle)
  port.postMessage({ ready: true })
  collectGarbage()
} catch (error) {
  port.postMessage({ refused: error instanceof Fault ? error.code : null, text: String(error) })
}

function start(handle: Handle): void {
  const sql = statements(handle)
  /** Lane -> the epoch whose state a failure has made worthless. */
  const stale = new Map<number, number>()
  port?.on('message', (message: WriterRequest | { close: true } | { limitPages: number }) => {
    if ('close' in message) {
      handle.pragma('wal_checkpoint(TRUNCATE)')
      handle.close()
      port?.close()
    } else if ('limitPages' in message) {
      handle.pragma(`max_page_count = ${message.limitPages === 0 ? 4294967294 : message.limitPages}`)
    } else {
      port?.postMessage(commit(handle, sql, stale, message))
      checkpoint(handle, message.checkpoint)
    }
  })
}

function commit(handle: Handle, sql: Sql, stale: Map<number, number>, request: WriterRequest): WriterReply {
  const failures: WriterReply['failures'] = []
  const before: (() => void)[] = []
  const afterwards: (() => void)[] = []
  const undo: (() => void)[] = []
  try {
    sql('BEGIN IMMEDIATE').run()
    request.units.forEach((unit, index) => {
      const failure = apply(handle, sql, stale, unit, { before, afterwards, undo })
      if (failure !== undefined) failures.push({ unit: index, ...failure })
    })
    for (const task of before) task()
    sql('COMMIT').run()
  } catch (error) {
    if (handle.inTransaction) handle.exec('ROLLBACK')
    for (const task of undo.reverse()) task()
    return { batch: request.batch, failures: [], broken: String(error) }
  }
  for (const task of afterwards) task()
  return { batch: request.batch, failures, broken: null }
}

interface Tasks {
  readonly before: (() => void)[]
  readonly afterwards: (() => void)[]
  readonly undo: (() => void)[]
}

function apply(
  handle: Handle,
  sql: Sql,
  stale: Map<number, number>,
  unit: WriterRequest['units'][number],
  tasks: Tasks,
): { kind: 'conflict' | 'stale' | 'error'; text: string } | undefined {
  if (unit.lane !== 0 && (stale.get(unit.lane) ?? -1) >= unit.epoch) return { kind: 'stale', text: '' }
  const before: (() => void)[] = []
  const afterwards: (() => void)[] = []
  const undo: (() => void)[] = []
  const effects: Effects = {
    beforeCommit: task => before.push(task),
    afterCommit: task => afterwards.push(task),
    onRollback: task => undo.push(task),
  }
  sql('SAVEPOINT unit').run()
  try {
    for (const [name, row] of unit.operations) findWrite(name).run(sql, row, effects)
    sql('RELEASE unit').run()
  } catch (error) {
    const failure = sqliteFailure(error)
    // A full disk or a broken file is not this unit's doing: the batch fails as a whole.
    if (failure !== undefined && failure.kind !== 'conflict') throw error
    if (!handle.inTransaction) throw error
    sql('ROLLBACK TO unit').run()
    sql('RELEASE unit').run()
    if (unit.lane !== 0) stale.set(unit.lane, unit.epoch)
    return { kind: failure === undefined ? 'error' : 'conflict', text: String((error as Error).message) }
  }
  tasks.before.push(...before)
  tasks.afterwards.push(...afterwards)
  tasks.undo.push(...undo)
  return undefined
}

let sinceCheckpoint = 0

function checkpoint(handle: Handle, idle: boolean): void {
  sinceCheckpoint += 1
  if (!idle && sinceCheckpoint < 64) return
  sinceCheckpoint = 0
  const pages = handle.pragma('wal_checkpoint(NOOP)') as { log: number }[]
  if ((pages[0]?.log ?? 0) < limits.writer.checkpointPages) return
  handle.pragma('wal_checkpoint(PASSIVE)')
}
