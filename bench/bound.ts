// What this machine can do at best, measured in the same run as what it is compared with.
//
// Each function does one thing in its barest form for about `ms` milliseconds and gives operations a second: a durable
// append, one transaction for each message, hashing on all processors, reading bodies. Nothing of the service is in the way
// but the files that open SQLite and unpack bodies.

import { pbkdf2 } from 'node:crypto'
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { readBodies } from '#store/bodies/format/run.ts'
import { openForWriting } from '#store/engine/sqlite/handle.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { databaseFile } from '#store/folder/place.ts'

/** Durable appends of `records` records of `size` bytes for each sync, in records a second. */
export function syncedAppends(folder: string, size: number, records: number, ms: number): number {
  const file = join(folder, 'append')
  const handle = openSync(file, 'w')
  const group = Buffer.alloc(size * records, 'a')
  const rate = repeat(ms, () => {
    writeSync(handle, group)
    fdatasyncSync(handle)
  })
  closeSync(handle)
  rmSync(file)
  return rate * records
}

/**
 * Messages a second where each is a transaction of its own: the body, a row with three indexes, the mailbox's counters,
 * a journal entry, as any store of mail has to write them.
 */
export function oneCommitEach(folder: string, size: number, ms: number): number {
  const file = join(folder, 'one-commit.db')
  const db = openForWriting(file)
  db.pragma('wal_autocheckpoint = 1000')
  db.exec(`
    CREATE TABLE body (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
    CREATE TABLE mailbox (id INTEGER PRIMARY KEY, uid_next INTEGER NOT NULL, modseq INTEGER NOT NULL, bytes INTEGER NOT NULL);
    CREATE TABLE message (id INTEGER PRIMARY KEY, mailbox INTEGER NOT NULL, uid INTEGER NOT NULL, modseq INTEGER NOT NULL,
      thread INTEGER NOT NULL, moment INTEGER NOT NULL, body INTEGER NOT NULL, envelope TEXT NOT NULL);
    CREATE UNIQUE INDEX message_uid ON message (mailbox, uid);
    CREATE INDEX message_modseq ON message (mailbox, modseq);
    CREATE INDEX message_thread ON message (thread);
    CREATE TABLE journal (id INTEGER PRIMARY KEY, mailbox INTEGER NOT NULL, uid INTEGER NOT NULL);
  `)
  const users = 100
  const mailbox = db.prepare('INSERT INTO mailbox VALUES (?, 1, 1, 0)')
  for (let id = 0; id < users; id++) mailbox.run(id)
  const body = db.prepare('INSERT INTO body VALUES (?, ?)')
  const message = db.prepare('INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  const count = db.prepare(
    'UPDATE mailbox SET uid_next = uid_next + 1, modseq = modseq + 1, bytes = bytes + ? WHERE id = ?',
  )
  const journal = db.prepare('INSERT INTO journal VALUES (?, ?, ?)')
  const bytes = Buffer.alloc(size, 'a')
  const envelope = 'e'.repeat(400)
  let id = 0
  const deliver = db.transaction(() => {
    id += 1
    const to = id % users
    const uid = Math.floor(id / users) + 1
    body.run(id, bytes)
    message.run(id, to, uid, uid, id, id, id, envelope)
    count.run(size, to)
    journal.run(id, to, uid)
  })
  const rate = repeat(ms, () => deliver())
  db.close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
  return rate
}

/** Reads the rows of `count` small bodies of a data directory that nobody serves and unpacks them, in bodies a second. */
export async function bareBodies(dataDir: string, count: number): Promise<number> {
  const read = openReader(databaseFile(dataDir))
  const nums = (await read.arrays<[number]>('SELECT num FROM body ORDER BY num DESC LIMIT ?', count)).map(
    ([num]) => num,
  )
  const started = performance.now()
  let done = 0
  for (let at = 0; at < nums.length; at += 100)
    done += [...(await readBodies(read, nums.slice(at, at + 100))).nums].length
  const rate = (done * 1000) / (performance.now() - started)
  read.close()
  return rate
}

/** Bare pbkdf2-sha256 with 100,000 iterations on all processors, in hashes a second. */
export async function bareHashes(ms: number): Promise<number> {
  const started = performance.now()
  let done = 0
  const worker = async (): Promise<void> => {
    while (performance.now() - started < ms) {
      await new Promise<void>((resolve, reject) => {
        pbkdf2(`password ${done}`, 'sixteen bytes of', 100_000, 32, 'sha256', error =>
          error ? reject(error) : resolve(),
        )
      })
      done += 1
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
  return (done * 1000) / (performance.now() - started)
}

function repeat(ms: number, task: () => void): number {
  const started = performance.now()
  let done = 0
  while (performance.now() - started < ms) {
    task()
    done += 1
  }
  return (done * 1000) / (performance.now() - started)
}
