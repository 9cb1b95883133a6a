// The one file that knows better-sqlite3: opens the database for writing, for reading and for locking.
//
// There is one writable handle in the whole service (workers/writer.ts); everything else gets a handle that the engine
// itself refuses to write through. Durability is set here and checked after it was set: the library drops to
// synchronous=NORMAL in write-ahead mode unless told again after the first access.

import assert from 'node:assert'
import { closeSync, existsSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { Fault } from '#lib/fault.ts'
import { isPassing } from '#lib/lasting.ts'
import { limits } from '#lib/limits.ts'
import { writingProblem } from '#lib/process/file-error.ts'
import { fold, mayFoldToAscii } from '#mail/text/fold.ts'
import { giveToOwner } from '../../folder/owner.ts'
import { inWords } from '../dialect.ts'
import type { Reader } from '../reader.ts'
import { sqliteWords } from './words.ts'

export type Handle = Database.Database
export type Statement = Database.Statement<unknown[]>

/** Prepares a statement once for its text. */
export type Sql = (text: string) => Statement

/** Pages of this size measured best for mixed small rows and bodies (bench/NOTES.md). */
const pageBytes = 4096
const cacheKib = Math.floor(limits.writer.pagesBytesMax / 1024)

/**
 * Opens, and makes where it is missing, the database at `file` for the one writer. A commit is on disk when it is over, but
 * in a folder that is thrown away (lib/lasting.ts).
 */
export function openForWriting(file: string): Handle {
  // The engine would let others read it; what it makes beside it takes the mode from it.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  return opened(file, {}, handle => {
    handle.pragma('busy_timeout = 5000')
    handle.pragma(`page_size = ${pageBytes}`)
    handle.pragma('journal_mode = WAL')
    handle.prepare('SELECT count(*) FROM sqlite_schema').get()
    const passing = isPassing(file)
    handle.pragma(`synchronous = ${passing ? 'OFF' : 'FULL'}`)
    assert.equal(handle.pragma('synchronous', { simple: true }), passing ? 0 : 2)
    handle.pragma('wal_autocheckpoint = 0')
    handle.pragma(`cache_size = -${cacheKib}`)
    handle.pragma('temp_store = MEMORY')
  })
}

/** Frames in the write-ahead log. */
export function framesOf(sql: Sql): number {
  const { log = 0 } = sql('PRAGMA wal_checkpoint(NOOP)').get() as { log?: number }
  return Math.max(0, log)
}

/** Copies the log back into the file: what nobody reads any more, or all of it, and cuts the log. */
export function copyBack(handle: Handle, mode: 'PASSIVE' | 'TRUNCATE' = 'PASSIVE'): void {
  handle.pragma(`wal_checkpoint(${mode})`)
}

/** Bytes the file should have. */
export function sizeOf(handle: Handle): number {
  return Number(handle.pragma('page_count', { simple: true })) * Number(handle.pragma('page_size', { simple: true }))
}

/** How many migrations the database at `file` has behind it (../schema.ts). @throws Fault as `engineFault` */
export function schemaNumber(file: string): number {
  const handle = openForReading(file)
  try {
    return Number(handle.pragma('user_version', { simple: true }))
  } finally {
    handle.close()
  }
}

/** The file grows to this many pages and no further; 0 for any number. */
export function limitPages(handle: Handle, pages: number): void {
  handle.pragma(`max_page_count = ${pages === 0 ? 4294967294 : pages}`)
}

/** The file stands for itself, without a log beside it. */
export function foldLog(handle: Handle): void {
  handle.pragma('journal_mode = DELETE')
}

/** What is wrong with the pages of the file, as sentences, at most a hundred. */
export async function brokenPages(read: Reader): Promise<string[]> {
  const rows = await read.all<{ integrity_check: string }>('PRAGMA integrity_check')
  return rows.map(row => row.integrity_check).filter(text => text !== 'ok')
}

/** Whether the pages of the file are sound. @throws the engine's error where one cannot be read */
export function isSound(handle: Handle): boolean {
  const [row] = handle.pragma('integrity_check(1)') as { integrity_check: string }[]
  return row?.integrity_check === 'ok'
}

/**
 * Makes every index of its table again, before anything else of the transaction. One whose pages are damaged cannot be
 * emptied: it is forgotten first.
 */
export function makeIndexes(handle: Handle): void {
  try {
    handle.exec('REINDEX')
  } catch {
    if (handle.inTransaction) handle.exec('ROLLBACK')
    handle.exec('BEGIN IMMEDIATE')
    const named = `FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL`
    const texts = handle.prepare(`SELECT sql ${named}`).pluck().all() as string[]
    handle.unsafeMode(true)
    handle.pragma('writable_schema = ON')
    handle.exec(`DELETE ${named}`)
    handle.pragma('writable_schema = RESET')
    handle.unsafeMode(false)
    for (const text of texts) handle.exec(text)
  }
}

/** What is replaced or taken away meanwhile is overwritten in the file, and not only forgotten. */
export function overwriting(sql: Sql, task: () => void): void {
  sql('PRAGMA secure_delete = ON').get()
  try {
    task()
  } finally {
    sql('PRAGMA secure_delete = OFF').get()
  }
}

/**
 * @param prepare opens what lies beside the file with its first statement
 * @throws Fault as `engineFault`
 */
function opened(file: string, options: Database.Options, prepare: (handle: Handle) => void = () => {}): Handle {
  let handle: Handle | undefined
  try {
    handle = new Database(file, options)
    prepare(handle)
    return handle
  } catch (error) {
    handle?.close()
    throw engineFault(error, file) ?? error
  }
}

/** Opens the database at `file` for reading; the writer must have made it. */
export function openForReading(file: string): Handle {
  const handle = opened(file, { readonly: true, fileMustExist: true, timeout: 5000 }, fresh => {
    fresh.pragma('query_only = ON')
    fresh.pragma(`cache_size = -${Math.floor(cacheKib / 2)}`)
    fresh.pragma('temp_store = MEMORY')
    fresh.pragma('user_version')
  })
  // The engine's own lower() knows ASCII alone.
  handle.function('folded', { deterministic: true }, text => fold(String(text)))
  handle.function('may_fold_to_ascii', { deterministic: true }, text => Number(mayFoldToAscii(String(text))))
  return handle
}

/**
 * A statement cache over `handle`. Texts are constants of this program, so the cache is bounded by its size.
 *
 * The engine plans some statements (joins, ranges, limits) by the values that are bound, and so compiles them anew each
 * time one is bound (bench/NOTES.md, Statements). There are no statistics that would make the plan a better one, so values
 * are wrapped in `likely()`, which changes nothing and costs nothing but hides them from the planner.
 */
export function statements(handle: Handle): Sql {
  const cache = new Map<string, Statement>()
  return text => {
    let statement = cache.get(text)
    if (statement === undefined) {
      const said = sqliteText(text)
      statement = handle.prepare<unknown[]>(planned.test(said) ? said.replace(values, hideValue) : said)
      cache.set(text, statement)
    }
    return statement
  }
}

/** A text of the store in the words of this engine. */
export function sqliteText(text: string): string {
  return inWords(text, sqliteWords)
}

/** What makes the engine look for a plan; where the values stand, and strings, which may look like some. */
const planned = /\b(?:WHERE|LIMIT|JOIN)\b/
const values = /'[^']*'|\?|@\w+/g

function hideValue(found: string): string {
  return found.startsWith("'") ? found : `likely(${found})`
}

/**
 * Takes the lock of a data directory; the operating system lets go of it when the process ends, however it ends.
 *
 * @returns a function that gives it back
 * @throws Fault DataDirectoryInUse when another process, or another service of this one, holds it, DataDirectoryUnusable
 * when the disk is full
 */
export function lock(file: string): () => void {
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  giveToOwner(file)
  const handle = opened(file, { timeout: 0 })
  try {
    if (existsSync(`${file}-wal`)) foldLog(handle)
    handle.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    handle.close()
    throw engineFault(error, file) ?? error
  }
  return () => handle.close()
}

/** What an error of the engine means: a broken rule of the schema, no room, or something worse. */
export function sqliteFailure(error: unknown): { kind: 'conflict' | 'full' | 'broken'; text: string } | undefined {
  if (!(error instanceof Database.SqliteError)) return undefined
  const text = error.message
  if (error.code.startsWith('SQLITE_CONSTRAINT')) return { kind: 'conflict', text }
  return { kind: error.code === 'SQLITE_FULL' ? 'full' : 'broken', text }
}

/** Whether the disk refused: it has no room, or cannot be written. The same may go well the next time. */
export function isRefusedByDisk(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(FULL|IOERR)/.test(error.code)
}

/** What an error of the engine about the database at `file` means to the one who runs the service, in a sentence. */
export function engineFault(cause: unknown, file: string): Fault | undefined {
  if (!(cause instanceof Database.SqliteError)) return undefined
  const { code, message } = cause
  const is = (...names: string[]) => names.some(name => code === `SQLITE_${name}` || code.startsWith(`SQLITE_${name}_`))
  if (is('BUSY', 'LOCKED')) return new Fault('DataDirectoryInUse', { cause })
  if (is('FULL')) return new Fault('DataDirectoryUnusable', { text: `There is no room on the disk for ${file}`, cause })
  if (is('CORRUPT', 'NOTADB')) return new Fault('StoreDamaged', { text: damaged(file, message), cause })
  if (is('CANTOPEN', 'READONLY', 'PERM', 'IOERR')) {
    const reason = writingProblem(dirname(file))
    const hint = reason?.includes('EROFS') && is('CANTOPEN') ? besides : ''
    const text =
      reason === undefined
        ? `${file} cannot be used: ${message}. Does it belong to the user this runs as, has its disk room left, and is it all right?`
        : `${file} cannot be used: ${reason}${hint}`
    return new Fault('DataDirectoryUnusable', { text, cause })
  }
  return undefined
}

/** Who reads says so in a file beside it. */
const besides = '. Reading it takes a file beside it: mount it so that it can be written, or copy the whole folder'

/** What is said of a database that is damaged. */
export function damaged(file: string, how: string): string {
  return (
    `${file} is damaged (${how}). With the service stopped, \`teal verify --repair\` mends indexes and counters; ` +
    'what it cannot mend comes back from a backup (`teal restore`).'
  )
}

/**
 * Copies the database at `file`, as it is at one moment, to `to`, in slices and while others write. The copy is on disk
 * when this resolves.
 *
 * @param progress hears how many pages are left of how many
 * @throws Fault DataDirectoryUnusable, StoreDamaged and DataDirectoryInUse, which name the one of both that it is about
 */
export async function copyDatabase(
  file: string,
  to: string,
  progress: (left: number, total: number) => void,
): Promise<void> {
  const handle = openForReading(file)
  let about = file
  try {
    // One transaction around all slices: otherwise each commit of another process would begin the copy anew.
    handle.exec('BEGIN')
    handle.prepare('SELECT count(*) FROM sqlite_schema').get()
    await handle.backup(to, {
      progress({ remainingPages, totalPages }) {
        progress(remainingPages, totalPages)
        return slicePages
      },
    })
    handle.exec('COMMIT')
    about = to
    finishCopy(to)
  } catch (error) {
    // What is read has its room already.
    throw engineFault(error, isRefusedByDisk(error) ? to : about) ?? error
  } finally {
    handle.close()
  }
}

/** A copy is one file that anything can read, also where nothing may be written beside it. */
function finishCopy(file: string): void {
  const copy = new Database(file)
  try {
    foldLog(copy)
    copy.pragma('synchronous = FULL')
  } finally {
    copy.close()
  }
}

/** Pages copied in one go: a millisecond or two. */
const slicePages = 500
