// The writer thread: the only writable handle on the database.
//
// A batch is one transaction: what has come while the one before was synced, on a slow disk with who is soon back
// (store/writer/commit-delay.ts). The answer is sent after the commit is on disk.
// A unit that breaks a rule is undone alone: its batch is done again with a savepoint for each; a commit that fails undoes
// the batch. Between batches the write-ahead log is looked at, which is copied back when it has grown long.

import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { after, monotonic, type Timer } from '../src/lib/clock.ts'
import { Fault } from '../src/lib/fault.ts'
import { letPass } from '../src/lib/lasting.ts'
import { limits } from '../src/lib/limits.ts'
import { collectWhenQuiet } from '../src/lib/process/heap.ts'
import { lodgings, type ThreadEnd, threadEnd } from '../src/lib/process/serve.ts'
import { settleText } from '../src/store/engine/full-text.ts'
import { migrate } from '../src/store/engine/schema.ts'
import {
  damaged,
  engineFault,
  framesOf,
  type Handle,
  limitPages,
  openForWriting,
  type Sql,
  sizeOf,
  sqliteFailure,
  statements,
} from '../src/store/engine/sqlite/handle.ts'
import { type Watched, watching } from '../src/store/engine/watched.ts'
import { definedWrites, type Effects, findWrite, Refused } from '../src/store/engine/write.ts'
import { logBefore, logLoss } from '../src/store/folder/log-loss.ts'
import { databaseMissing, isUnfinished } from '../src/store/folder/presence.ts'
import { Checkpoints } from '../src/store/writer/checkpoint.ts'
import { CommitDelay } from '../src/store/writer/commit-delay.ts'
import { type Batch, gather, Inbox, type Message } from '../src/store/writer/inbox.ts'
import type { Opened, WriterThreadData } from '../src/store/writer/thread.ts'
import type { WriterReply } from '../src/store/writer/writer.ts'
import '../src/store/writer/writes.ts'

type End = ThreadEnd<WriterThreadData>

const own = threadEnd<WriterThreadData | undefined>()
// Not before the first writes: whoever starts waits for them.
if (own.given === undefined) {
  lodgings(own, begin)
  collectWhenQuiet()
} else if (begin(own as End)) collectWhenQuiet()

/** Opens a database and serves it, until it is told to close. Gives whether it is open. */
function begin(end: End): boolean {
  const opened = end.start(() => open(end))
  if (!opened) end.port.close()
  return opened
}

function open(end: End): Opened {
  const { file, mayBeNew, passing } = end.given
  const stay = passing ? letPass(dirname(file)) : () => {}
  try {
    const before = logBefore(file)
    const handle = openForWriting(file)
    const loss = logLoss(file, before, framesOf(statements(handle)))
    refuseCut(handle, file)
    const made = migrate(handle, mayBeNew || isUnfinished(dirname(file)))
    settleText(handle)
    start(handle, end, stay)
    return { made, loss }
  } catch (error) {
    stay()
    if (!(error instanceof Fault)) throw engineFault(error, file) ?? error
    throw error.code === 'DataMissing' ? databaseMissing(dirname(file)) : error
  }
}

/** A file that is shorter than it says is met at the start, not when somebody asks for the rest. */
function refuseCut(handle: Handle, path: string): void {
  // What is in the log need not be in the file.
  if (framesOf(statements(handle)) > 0) return
  if (statSync(path).size < sizeOf(handle)) throw new Fault('StoreDamaged', { text: damaged(path, 'it was cut short') })
}

function start(handle: Handle, end: End, stay: () => void): void {
  const touched = new Set<Watched>()
  const sql = watching(statements(handle), touched)
  /** Partition -> the epoch whose state a failure has made worthless. */
  const stale = new Map<number, number>()
  const inbox = new Inbox(end.receive)
  const checkpoints = new Checkpoints(handle, sql, end.given.file)
  const commitDelay = new CommitDelay()
  const arrivals = () => inbox.arrivals()
  let timer: Timer | undefined
  const work = () => {
    timer?.cancel()
    while (inbox.peek() !== undefined) {
      const ms = commitDelay.wait(monotonic(), arrivals)
      if (ms > 0) {
        timer = after(ms, work)
        return
      }
      const message = inbox.take() as Message
      if ('close' in message) {
        try {
          checkpoints.end()
        } finally {
          handle.close()
          stay()
        }
        end.port.close()
        return
      }
      if (message.task === 'limitPages') {
        limitPages(handle, message.input)
        continue
      }
      const batch = gather(message, inbox)
      const { failure: uncopied } = checkpoints
      const reply: WriterReply = {
        ...commit(handle, sql, stale, batch),
        ...(touched.size > 0 && { changed: [...touched] }),
        ...(uncopied !== undefined && { uncopied }),
      }
      end.reply(batch.upTo, { value: reply })
      touched.clear()
      commitDelay.committed(batch, reply.commitMs, monotonic(), arrivals)
      release(batch)
      checkpoints.look(inbox.peek() === undefined)
      if (inbox.tired) {
        setImmediate(work)
        return
      }
    }
  }
  end.port.on('message', (message: Message) => {
    inbox.put(message)
    work()
  })
}

type WrittenUnit = Batch['units'][number]
type UnitFailure = Omit<WriterReply['failures'][number], 'unit'>

/** What units want done around their commit. */
interface Tasks {
  readonly before: (() => void)[]
  readonly afterwards: (() => void)[]
  readonly undo: (() => void)[]
}

/**
 * One batch. First without savepoints, each of which costs a copy of every page its unit touches; where something in it
 * breaks a rule, or can be done only once, every unit gets one.
 */
function commit(handle: Handle, sql: Sql, stale: Map<number, number>, batch: Batch): WriterReply {
  const isStale = ({ partition, epoch }: WrittenUnit) => partition !== 0 && (stale.get(partition) ?? -1) >= epoch
  const bare = (unit: WrittenUnit, tasks: Tasks) => {
    if (isStale(unit)) return { kind: 'stale', text: '' } as const
    run(sql, unit, tasks)
    return undefined
  }
  const spoil = ({ partition, epoch }: WrittenUnit) => {
    if (partition !== 0) stale.set(partition, Math.max(epoch, stale.get(partition) ?? -1))
  }
  if (!batch.units.some(isOnce)) {
    const reply = attempt(handle, sql, batch, bare)
    if (reply.broken === null) return reply
  }
  const reply = attempt(handle, sql, batch, (unit, tasks) => {
    if (isStale(unit)) return { kind: 'stale', text: '' }
    const failure = apply(handle, sql, unit, tasks)
    if (failure !== undefined) spoil(unit)
    return failure
  })
  // What comes after these may be on its way already.
  if (reply.broken !== null) batch.units.forEach(spoil)
  return reply
}

/** A name that no write has is met when its unit is run, which fails alone. */
function isOnce({ operations }: WrittenUnit): boolean {
  return operations.some(([name, row]) => definedWrites().get(name)?.once?.(row) === true)
}

/** One transaction with each unit in it that `apply` does not refuse. */
function attempt(
  handle: Handle,
  sql: Sql,
  { units }: Batch,
  apply: (unit: WrittenUnit, tasks: Tasks) => UnitFailure | undefined,
): WriterReply {
  const failures: WriterReply['failures'] = []
  const tasks: Tasks = { before: [], afterwards: [], undo: [] }
  let began = monotonic()
  try {
    sql('BEGIN IMMEDIATE').run()
    units.forEach((unit, index) => {
      const failure = apply(unit, tasks)
      if (failure !== undefined) failures.push({ unit: index, ...failure })
    })
    for (const task of tasks.before) task()
    began = monotonic()
    sql('COMMIT').run()
  } catch (error) {
    if (handle.inTransaction) handle.exec('ROLLBACK')
    for (const task of tasks.undo.reverse()) task()
    return { failures: [], broken: String(error), commitMs: monotonic() - began }
  }
  const commitMs = monotonic() - began
  for (const task of tasks.afterwards) task()
  return { failures, broken: null, commitMs }
}

/** A unit in a savepoint of its own: one that breaks a rule is undone alone. */
function apply(handle: Handle, sql: Sql, unit: WrittenUnit, tasks: Tasks): UnitFailure | undefined {
  const own: Tasks = { before: [], afterwards: [], undo: [] }
  sql('SAVEPOINT unit').run()
  try {
    run(sql, unit, own)
    sql('RELEASE unit').run()
  } catch (error) {
    const failure = sqliteFailure(error)
    // A full disk or a broken file is not this unit's doing: the batch fails as a whole.
    if (failure !== undefined && failure.kind !== 'conflict') throw error
    if (!handle.inTransaction) throw error
    sql('ROLLBACK TO unit').run()
    sql('RELEASE unit').run()
    const text = String((error as Error).message)
    if (error instanceof Refused) return { kind: 'refused', text, code: error.code }
    const kind = failure !== undefined ? 'conflict' : isOfFile(error) ? 'file' : 'error'
    return { kind, text }
  }
  tasks.before.push(...own.before)
  tasks.afterwards.push(...own.afterwards)
  tasks.undo.push(...own.undo)
  return undefined
}

/** A file of this unit could not be made; the database has a disk of its own, or will say so itself. */
function isOfFile(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall !== undefined
}

function run(sql: Sql, { operations }: WrittenUnit, { before, afterwards, undo }: Tasks): void {
  const effects: Effects = {
    beforeCommit: task => before.push(task),
    afterCommit: task => afterwards.push(task),
    onRollback: task => undo.push(task),
  }
  for (const [name, row] of operations) findWrite(name).run(sql, row, effects)
}

/**
 * Gives back the memory of large values: the next ones then lie where these did. Left to the collector they would lie in a
 * hundred megabytes that are touched one after the other (bench/NOTES.md, Writer).
 */
function release({ units }: Batch): void {
  for (const { operations } of units) {
    for (const [name, row] of operations) {
      for (const { buffer } of definedWrites().get(name)?.values?.(row) ?? []) {
        if (buffer instanceof ArrayBuffer && buffer.byteLength >= limits.writer.releasedBytesMin) buffer.transfer(0)
      }
    }
  }
}
