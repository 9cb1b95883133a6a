// The one connection that writes, and its batches: one call each, one at a time.
//
// A session has a number in the database, which each call carries: whoever opens a session ends those before it, also calls of
// theirs that are still on their way. So when a connection is lost during a call, a new session is opened, and the database
// then says whether the call was carried out; nobody is answered before that is known.

import { after, breathe, monotonic } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { WriterReply } from '../../../writer/writer.ts'
import { inWords } from '../../dialect.ts'
import { definedProcedures } from '../../procedure.ts'
import { changedBy, type Watched } from '../../watched.ts'
import type { Operation } from '../../write.ts'
import { migratePostgres, requireOwnSchema } from '../schema.ts'
import { type Client, connect, isSaid, type PostgresSettings, postgresFault, wasAnswered } from '../session.ts'
import type { Prepared } from '../text.ts'
import { postgresWords } from '../words.ts'
import { type EncodedBatch, type EngineFailure, encodeBatch, failureOf, type ToldUnit, type UnitLease } from './call.ts'
import { dispatch, fenced, setUp, takenOver } from './functions.ts'
import { holdDatabase } from './hold.ts'
import { stepsOf } from './steps.ts'

/** A unit as it crosses to the thread. */
export interface WrittenUnit {
  readonly partition: number
  readonly epoch: number
  readonly operations: readonly Operation[]
  /** Under which it was made, where nodes share the database. */
  readonly lease?: UnitLease | undefined
}

/** Who has the database alone. Nodes have numbers of their own. */
const alone = 0

export interface WritingOptions {
  /** Its commits may be lost with the machine: a database that is thrown away. */
  readonly passing?: boolean
  /** The number of the node that writes. */
  readonly node?: number
  /** Address of the store that large parts may be in; '' for none. */
  readonly bodies?: string
}

export class Writing {
  readonly #settings: PostgresSettings
  readonly #passing: boolean
  readonly #writer: number
  readonly #bodies: string
  /** Who took the database over from it may not lose it to it again. */
  readonly #owner = newId()
  #client: Client | undefined
  #session = 0
  /** The server's process behind the connection. */
  #backend = 0
  #call = 0
  /** Statements that have a function in this session, by name, with their numbers. */
  readonly #numbers = new Map<string, number>()
  /** Statements that the engine does not take, with what it says. */
  readonly #refused = new Map<string, string>()
  /** Partition -> the epoch whose state a failure has made worthless. */
  readonly #stale = new Map<number, number>()

  private constructor(settings: PostgresSettings, { passing = false, node = alone, bodies = '' }: WritingOptions) {
    this.#settings = settings
    this.#passing = passing
    this.#writer = node
    this.#bodies = bodies
  }

  /** @throws Fault StorageUnavailable, DatabaseTooNew, DataMissing, DataDirectoryInUse where another service has the database */
  static async open(
    settings: PostgresSettings,
    mayBeNew: boolean,
    options: WritingOptions = {},
  ): Promise<{ writing: Writing; made: boolean }> {
    const writing = new Writing(settings, options)
    let made = false
    await writing.#begin(async client => {
      made = await migratePostgres(client as never, mayBeNew)
    })
    return { writing, made }
  }

  /** One batch. Resolves when it is on disk, or certain that nothing of it is. */
  async commit(units: readonly WrittenUnit[]): Promise<WriterReply> {
    const failures: WriterReply['failures'] = []
    const told: { unit: number; told: ToldUnit }[] = []
    const changed = new Set<Watched>()
    const changing: number[] = []
    const began = monotonic()
    try {
      for (const [unit, written] of units.entries()) {
        const steps = this.#isStale(written) ? 'stale' : this.#stepsOf(written)
        if (typeof steps === 'string') failures.push(this.#refusal(unit, written, steps))
        else told.push({ unit, told: { ...written, steps } })
      }
      await this.#define(told.flatMap(one => one.told.steps))
      const left = told.filter(({ unit, told: { steps } }) => {
        const wrong = steps.find(({ name }) => this.#refused.has(name))
        if (wrong !== undefined) failures.push(this.#refusal(unit, units[unit], this.#refused.get(wrong.name) ?? ''))
        return wrong === undefined
      })
      for (const { unit, told: one } of left) {
        if (one.steps.filter(({ text }) => noteChange(text, changed)).length > 0) changing.push(unit)
      }
      const found = await this.#carryOut(left.map(one => one.told))
      for (const failure of found) {
        const { unit = 0 } = left[failure.unit] ?? {}
        if (failure.state !== 'stale' && failure.state !== fenced) this.#spoil(units[unit])
        failures.push(failureOf({ ...failure, unit }))
      }
    } catch (error) {
      for (const unit of units) this.#spoil(unit)
      return { failures: [], broken: String(error), commitMs: monotonic() - began }
    }
    const commitMs = monotonic() - began
    const reply = { failures: failures.sort((one, other) => one.unit - other.unit), broken: null, commitMs }
    return changed.size === 0 ? reply : { ...reply, changed: [...changed], changing }
  }

  async close(): Promise<void> {
    await this.#client?.end()
    this.#client = undefined
  }

  #isStale({ partition, epoch }: WrittenUnit): boolean {
    return partition !== 0 && (this.#stale.get(partition) ?? -1) >= epoch
  }

  #spoil(unit: WrittenUnit | undefined): void {
    if (unit === undefined || unit.partition === 0) return
    this.#stale.set(unit.partition, Math.max(unit.epoch, this.#stale.get(unit.partition) ?? -1))
  }

  /** What a unit comes to; a sentence where it cannot be told. */
  #stepsOf({ operations }: WrittenUnit): Prepared[] | string {
    try {
      return operations.flatMap(stepsOf)
    } catch (error) {
      return String((error as Error).message)
    }
  }

  #refusal(unit: number, written: WrittenUnit | undefined, why: string): WriterReply['failures'][number] {
    if (why === 'stale') return { unit, kind: 'stale', text: '' }
    this.#spoil(written)
    return { unit, kind: 'error', text: why }
  }

  /** The failures of a call, in the numbers of its units. @throws where nothing of it is on disk */
  async #carryOut(units: readonly ToldUnit[]): Promise<readonly EngineFailure[]> {
    if (units.length === 0) return []
    const batch = encodeBatch(units, name => this.#numbers.get(name) ?? -1)
    for (let deadlocks = 0; ; deadlocks++) {
      try {
        return await this.#askAll(batch)
      } catch (error) {
        // It and another node waited for each other, and it was the one that was undone.
        const again = (error as { code?: string }).code === '40P01' && deadlocks < limits.postgres.deadlocksMax
        if (!again) throw error
      }
    }
  }

  async #askAll(batch: EncodedBatch): Promise<readonly EngineFailure[]> {
    try {
      return await this.#ask(batch, false)
    } catch (error) {
      if (!isRule(error)) throw error
      // Something in it breaks a rule: once more, each unit by itself, which costs more.
      return this.#ask(batch, true)
    }
  }

  async #ask({ units, leases, steps, bytes }: EncodedBatch, careful: boolean): Promise<readonly EngineFailure[]> {
    // Lost since its functions were made: nothing was sent.
    const client = this.#client
    if (client === undefined) throw new Fault('StorageUnavailable')
    this.#call += 1
    const values = [
      this.#writer,
      this.#session,
      this.#call,
      careful ? null : leases,
      careful ? units : null,
      steps,
      bytes,
    ]
    const text = 'SELECT pg_temp.teal_call($1, $2, $3, $4, $5, $6, $7) AS failures'
    try {
      const { rows } = await client.query<{ failures: string | null }>({ name: 'call', text, values })
      return failuresIn(rows[0]?.failures)
    } catch (error) {
      if (await wasAnswered(client, error)) throw error
      return this.#fate(this.#call, error)
    }
  }

  /** What came of a call whose answer was lost. @throws `lost` where nothing did, Fault DatabaseTooNew where nobody can say any more */
  async #fate(call: number, lost: unknown): Promise<readonly EngineFailure[]> {
    this.#drop()
    for (;;) {
      try {
        await this.#begin()
        break
      } catch (error) {
        const fault = postgresFault(error)
        if (fault === undefined || fault.code === 'DatabaseTooNew') throw error
        await new Promise(resolve => after(limits.postgres.againMs, () => resolve(undefined)))
      }
    }
    if (this.#last.call !== call) throw lost
    return failuresIn(this.#last.failures)
  }

  /** The last call of the session before. */
  #last: { call: number; failures: string | null } = { call: 0, failures: null }

  /** Opens a session and ends all before it. */
  async #begin(first: (client: Client) => Promise<void> = async () => {}): Promise<Client> {
    let client: Client | undefined
    client = await connect(this.#settings, { onEnd: () => this.#drop(client) })
    try {
      this.#backend = await holdDatabase(client, this.#settings, {
        before: this.#backend,
        shared: this.#writer !== alone,
        bodies: this.#bodies,
      })
      await first(client)
      await requireOwnSchema(client as never)
      await client.query(setUp(definedProcedures(), inText).join(';\n'))
      if (!this.#passing) await client.query('SET synchronous_commit = on')
      const mine = this.#session > 0 ? `WHERE writer_call.owner = excluded.owner` : ''
      const { rows } = await client.query<{ session: number; call: number; failures: string | null }>(
        `INSERT INTO writer_call (writer, owner, session, call) VALUES ($1, $2, 1, 0) ON CONFLICT (writer)
         DO UPDATE SET owner = excluded.owner, session = writer_call.session + 1 ${mine} RETURNING session, call, failures`,
        [this.#writer, this.#owner],
      )
      const [last] = rows
      if (last === undefined) throw new Error('another service writes to this database')
      this.#session = last.session
      this.#last = last
      this.#call = Math.max(this.#call, last.call)
    } catch (error) {
      void client.end().catch(() => {})
      throw error
    }
    this.#numbers.clear()
    this.#refused.clear()
    this.#client = client
    return client
  }

  #drop(client = this.#client): void {
    if (client === undefined || client !== this.#client) return
    this.#client = undefined
    // One that is half gone: whatever it still carries, its session is over with the next.
    client.end().catch(() => {})
  }

  /** Makes functions for statements that have none in this session, which ends where that is broken off. */
  async #define(steps: readonly Prepared[]): Promise<void> {
    const client = this.#client ?? (await this.#begin())
    try {
      await this.#make(client, steps)
    } catch (error) {
      // Nobody knows which of them the session has now, and a number may be that of another statement.
      this.#drop(client)
      throw error
    }
  }

  async #make(client: Client, steps: readonly Prepared[]): Promise<void> {
    const missing = new Map<string, string>()
    for (const { name, text } of steps) {
      if (!this.#numbers.has(name) && !this.#refused.has(name)) missing.set(name, text)
    }
    if (missing.size === 0) return
    for (const [name, text] of missing) {
      try {
        await client.query('SELECT pg_temp.teal_define($1, $2)', [name, text])
        this.#numbers.set(name, this.#numbers.size)
      } catch (error) {
        // A full disk, or an end that came meanwhile, says nothing of the statement.
        if (!isRule(error)) throw error
        this.#refused.set(name, `${String((error as Error).message)}: ${text}`)
      }
    }
    await client.query(dispatch([...this.#numbers.keys()]))
    await breathe()
  }
}

function inText(text: string): string {
  return inWords(text, postgresWords)
}

function failuresIn(failures: unknown): readonly EngineFailure[] {
  if (failures == null) return []
  return (typeof failures === 'string' ? JSON.parse(failures) : failures) as EngineFailure[]
}

/** Whether what was asked for breaks a rule, as far as a unit by itself may be to blame. */
function isRule(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  return isSaid(error) && code !== takenOver && !/^(?:08|25|40|53|55|57|58|F0|XX)/.test(code)
}

/** Whether the statement changes a watched table. */
function noteChange(text: string, changed: Set<Watched>): boolean {
  let tables = known.get(text)
  if (tables === undefined) {
    const called = definedProcedures().find(({ name }) => text.includes(`pg_temp.${name}(`))
    // What a procedure changes, as far as it is watched, it says itself.
    const texts = called?.body.split(';') ?? [text]
    tables = texts.flatMap(one => changedBy(one) ?? [])
    known.set(text, tables)
  }
  for (const table of tables) changed.add(table)
  return tables.length > 0
}

const known = new Map<string, readonly Watched[]>()
