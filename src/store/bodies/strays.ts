// Files of bodies that no row names (objects, where large parts are in a store beside the database), and rows whose file is not
// there: looked for at the start and once a day. The table of the former, and its writes.
//
// A crash leaves a few files behind. An older copy of the database beside newer files looks the same, and there they are
// somebody's mail: so a file goes only after it was seen without a row on many different days, and until then the right
// database finds it where it was. Nothing is removed on the word of the clock: a clock that jumps by a year is one day more.

import { existsSync } from 'node:fs'
import { breathe, every, now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { type Duty, isElsewhere } from '../cluster/duty.ts'
import { integer, text } from '../engine/column.ts'
import { bitOf } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import { table } from '../engine/table.ts'
import { defineWrite, type Write } from '../engine/write.ts'
import type { Bodies } from './bodies.ts'
import { BodyFiles, fileName } from './files.ts'
import { oldNames, unnamed } from './objects/parts.ts'
import type { ObjectStore } from './objects/store.ts'
import { partSuspect } from './writes.ts'

/** Files seen without a row. */
const strays = table(
  'stray',
  {
    name: text,
    /** On how many days, and the last of them (days since 1970): one counts once, however often the service starts in it. */
    days: integer,
    last: integer,
  },
  { key: ['name'], clustered: true },
)

const noting = `${strays.insertion}
  ON CONFLICT (name) DO UPDATE SET days = stray.days + ${bitOf('stray.last <> excluded.last')}, last = excluded.last`

/** Files that were seen without a row on that day (days since 1970). */
const strayNote = defineWrite<{ names: readonly string[]; day: number }>('stray.note', (sql, { names, day }) => {
  for (const name of names) {
    sql(noting).run(name, 1, day)
  }
})

/** Forgets those that were not seen on that day: they are gone, or have a row again. */
const strayForget = defineWrite<{ day: number }>('stray.forget', (sql, { day }) => {
  sql('DELETE FROM stray WHERE last <> ?').run(day)
})

export interface StraysOptions {
  readonly dataDir: string
  readonly bodies: Bodies
  readonly read: Reader
  readonly log: Log
  write<Row>(write: Write<Row>, row: Row): Promise<void>
  /** Where nodes share the objects: one of them looks. */
  readonly duty?: Duty | undefined
  /** On so many days an object was seen without a row before it goes. */
  readonly keepDays?: number
}

/** Rows looked at in one go. */
const pageRows = 200

/** Looks now and once a day. */
export class Strays {
  readonly #options: StraysOptions
  #round: Promise<void>
  #closed = false
  readonly #timer = every(limits.body.strayRoundMs, () => {
    this.#round = this.#round.then(() => this.#look())
  })

  constructor(options: StraysOptions) {
    this.#options = options
    this.#round = this.#look()
    options.duty?.onGain(() => {
      this.#round = this.#round.then(() => this.#look())
    })
  }

  /** Resolves when nothing is being looked at. */
  get idle(): Promise<void> {
    return this.#round
  }

  close(): Promise<void> {
    this.#closed = true
    this.#timer.cancel()
    return this.#round
  }

  /** A disk that is full, or cannot be read, must not end the process. */
  async #look(): Promise<void> {
    const { bodies, duty } = this.#options
    if (this.#closed || (bodies.objects !== undefined && isElsewhere(duty))) return
    try {
      if (bodies.objects === undefined) {
        await this.#lookForFiles()
        await this.#lookForMissing()
      } else await this.#lookForObjects(bodies.objects)
    } catch (error) {
      if (!this.#closed) this.#options.log.warn({ error }, 'looking for files nobody names failed')
    }
  }

  async #lookForFiles(): Promise<void> {
    const { bodies, read, write, log } = this.#options
    const day = Math.floor(now() / dayMs)
    const files = await bodies.sweep(({ names }) => write(strayNote, { names, day }))
    // Nothing to write where nothing was noted, now or before.
    if (files === 0 && (await read.one('SELECT 1 FROM stray LIMIT 1')) === undefined) return
    await write(strayForget, { day })
    if (files >= limits.body.straysTold) {
      const days = limits.body.strayDays
      const told = `stored files that the database does not know, as after an older copy of it was put in place: kept ${days} days`
      log.warn({ files }, told)
    }
    const due = await read.all<{ name: string }>('SELECT name FROM stray WHERE days >= ?', limits.body.strayDays)
    if (due.length > 0) await write(partSuspect, { names: due.map(({ name }) => name) })
  }

  /** The same in a store: who removes them is here, since nobody names them any more. */
  async #lookForObjects(objects: ObjectStore): Promise<void> {
    const { read, write, log, duty, keepDays = limits.body.strayDays } = this.#options
    const day = Math.floor(now() / dayMs)
    let found = 0
    for await (const names of oldNames(objects, now() - limits.objects.youngMs)) {
      const orphans = await unnamed(read, names)
      found += orphans.length
      if (orphans.length > 0) await write(strayNote, { names: orphans, day })
      // What this node has seen so far is noted; whoever goes on begins anew.
      if (this.#closed || isElsewhere(duty)) return
    }
    if (found === 0 && (await read.one('SELECT 1 FROM stray LIMIT 1')) === undefined) return
    await write(strayForget, { day })
    const due = await read.all<{ name: string }>('SELECT name FROM stray WHERE days >= ?', keepDays)
    for (const name of await unnamed(
      read,
      due.map(row => row.name),
    )) {
      if (this.#closed) return
      await objects.remove(name)
    }
    if (due.length > 0)
      log.info({ objects: due.length }, 'objects of bodies.url that nobody named any more were removed')
  }

  /** Rows whose file is not there: mail that cannot be read, which the operator has to hear of before its reader does. */
  async #lookForMissing(): Promise<void> {
    const { dataDir, read, log } = this.#options
    let missing = 0
    for (let num = 0; !this.#closed; ) {
      const found = await missingFiles(read, dataDir, num, pageRows)
      missing += found.missing.length
      if (found.last === undefined) break
      num = found.last
      await breathe()
    }
    if (missing > 0) log.error({ files: missing }, 'files of stored mail are missing: run `teal verify`')
  }
}

/** Of the next rows above `after` that name a file: those whose file is not there, and the last row looked at. */
async function missingFiles(
  read: Reader,
  dataDir: string,
  after: number,
  count: number,
): Promise<{ missing: string[]; last: number | undefined }> {
  const files = new BodyFiles(dataDir)
  const rows = await read.all<{ num: number; hash: Buffer; table: Buffer }>(
    'SELECT num, hash, data AS "table" FROM part WHERE file = 1 AND num > ? ORDER BY num LIMIT ?',
    after,
    count,
  )
  const names = rows.map(row => fileName(row.hash, row.table))
  const missing = names.filter(name => !existsSync(files.pathOf(name)))
  return { missing, last: rows.length < count ? undefined : rows.at(-1)?.num }
}

const dayMs = 24 * 60 * 60 * 1000
