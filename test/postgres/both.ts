// Both engines side by side: the same units for each, and what then differs in their answers and in their tables.

import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import pg from 'pg'
import { settled } from '#lib/process/task.ts'
import { BodyFiles } from '#store/bodies/files.ts'
import { typeParsers } from '#store/engine/postgres/values.ts'
import { Writing, type WrittenUnit } from '#store/engine/postgres/writer/writing.ts'
import { type Handle, openForReading } from '#store/engine/sqlite/handle.ts'
import { definedTables } from '#store/engine/table.ts'
import { startWriterThread, type WriterThread } from '#store/writer/thread.ts'
import type { WriterReply } from '#store/writer/writer.ts'

/** Whatever defines a table or a write has to be there. */
export async function loadStore(): Promise<void> {
  for (const file of globSync('src/store/**/*.ts')) await import(resolve(file))
}

type Reply = Pick<WriterReply, 'failures'> & { readonly broken: boolean; readonly untold: readonly string[] }

export class Both {
  readonly folder = mkdtempSync(join(tmpdir(), 'teal-both-'))
  readonly writing: Writing
  readonly #thread: WriterThread
  readonly #url: string
  readonly #waiting = new Map<number, (reply: WriterReply) => void>()

  private constructor(thread: WriterThread, writing: Writing, url: string) {
    this.#thread = thread
    this.writing = writing
    this.#url = url
    thread.hear((id, answer) => {
      if (id > 0) this.#waiting.get(id)?.(settled(answer) as WriterReply)
    })
  }

  static async open(url: string): Promise<Both> {
    const folder = mkdtempSync(join(tmpdir(), 'teal-both-'))
    new BodyFiles(folder).prepare()
    const thread = startWriterThread(join(folder, 'teal.db'), true)
    await thread.ready
    const { writing } = await Writing.open({ url }, true, { passing: true })
    const both = new Both(thread, writing, url)
    rmSync(both.folder, { recursive: true, force: true })
    Object.assign(both, { folder })
    return both
  }

  /** What each engine answered. `fresh` gives the units anew, since memory and files of one are used up. */
  async write(fresh: () => WrittenUnit[]): Promise<{ sqlite: Reply; postgres: Reply }> {
    const sqlite = await new Promise<WriterReply>(done => {
      const id = this.#thread.thread.send('write', { units: fresh(), bytes: 0 })
      this.#waiting.set(id, done)
    })
    const postgres = await this.writing.commit(fresh())
    // The other engine tells of tables that a unit would have changed, too.
    const told = new Set(postgres.changed)
    const missing = (sqlite.changed ?? []).filter(table => !told.has(table))
    return { sqlite: said(sqlite, missing), postgres: said(postgres, []) }
  }

  /** Tables whose rows differ, with the first row that does in each engine. */
  async differences(): Promise<Record<string, unknown>> {
    const handle = openForReading(join(this.folder, 'teal.db'))
    const client = new pg.Client({ connectionString: this.#url, types: typeParsers as pg.CustomTypesConfig })
    await client.connect()
    try {
      const found: Record<string, unknown> = {}
      for (const name of definedTables().keys()) {
        const [one, other] = [sqliteRows(handle, name), await postgresRows(client, name)]
        const at = Array.from({ length: Math.max(one.length, other.length) }).findIndex(
          (_, at) => one[at] !== other[at],
        )
        if (at >= 0) found[name] = { sqlite: one[at], postgres: other[at], rows: [one.length, other.length] }
      }
      return found
    } finally {
      handle.close()
      await client.end()
    }
  }

  async close(): Promise<void> {
    await this.writing.close()
    await this.#thread.thread.close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function said({ failures, broken }: WriterReply, untold: readonly string[]): Reply {
  return { failures: failures.map(one => ({ ...one })), broken: broken !== null, untold }
}

function queryOf(name: string): string {
  const table = definedTables().get(name)
  if (table === undefined) throw new Error(`there is no table ${name}`)
  return `SELECT ${table.list} FROM ${table} ORDER BY ${table.shape.key.map(key => table.place(key)).join(', ')}`
}

function sqliteRows(handle: Handle, name: string): string[] {
  return handle
    .prepare(queryOf(name))
    .all()
    .map(row => rowText(name, row as Row))
}

async function postgresRows(client: pg.Client, name: string): Promise<string[]> {
  const { rows } = await client.query<Row>(queryOf(name).replace(/ AS (\w*[A-Z]\w*)/g, ' AS "$1"'))
  return rows.map(row => rowText(name, row))
}

type Row = Record<string, unknown>

/** A large part is a file beside SQLite and a row of PostgreSQL: its bytes are compared by who reads bodies. */
function rowText(name: string, row: Row): string {
  const large = name === 'part' && Number(row.size) > 256 * 1024
  const shown = large ? { ...row, file: null, stored: null, data: null } : row
  return JSON.stringify(shown, (_, value: unknown) => value)
}
