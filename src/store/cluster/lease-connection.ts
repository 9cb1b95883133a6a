// The connection that a node's leases are renewed on, and its name belongs to: one at a time, made anew when it is lost.
//
// Promises: what takes longer on it than leases last is given up, and then the connection with it, since a server that says
// nothing may be there no more, however long the connection stands: the next one is made to whoever has its address now. The name
// goes over to the next connection as soon as the server has ended the one before.

import { limits } from '#lib/limits.ts'
import { migratePostgres, requireOwnSchema } from '../engine/postgres/schema.ts'
import { type Client, connect, type PostgresSettings, postgresFault, wasAnswered } from '../engine/postgres/session.ts'
import { holdDatabase } from '../engine/postgres/writer/hold.ts'
import { leaseFunctions } from './functions.ts'
import { endHolder, keepName, waitForName } from './names.ts'

export interface LeasePlace {
  readonly settings: PostgresSettings
  /** Of the node: one at a time has it. */
  readonly name: string
  /** Address of the store that large parts may be in; '' for none. */
  readonly bodies?: string
  /** Whether tables may be made where there are none. */
  readonly mayBeNew?: boolean
}

export class LeaseConnection {
  /** There were no tables. */
  readonly made: boolean
  readonly #place: LeasePlace
  #client: Client | undefined
  /** Statements one after the other. */
  #turn: Promise<unknown> = Promise.resolve()
  /** The server's process behind the connection, or the one before. */
  #backend = 0

  private constructor(place: LeasePlace, made: boolean) {
    this.#place = place
    this.made = made
  }

  /** With the name. @throws Fault DataDirectoryInUse where another node has the name or a lone service the database, StorageUnavailable, DataMissing */
  static async open(place: LeasePlace): Promise<LeaseConnection> {
    const connection = new LeaseConnection(place, await migrated(place))
    const { client, backend } = await connectBriefly(place)
    try {
      await waitForName(client, place.name)
    } catch (error) {
      void client.end().catch(() => {})
      throw postgresFault(error) ?? error
    }
    connection.#keep(client, backend)
    return connection
  }

  /** Rows of a statement, behind those that were asked for before. @throws Fault StorageUnavailable, or what PostgreSQL says */
  ask<Row>(text: string, ...values: readonly unknown[]): Promise<Row[]> {
    const rows = this.#turn.then(() => this.#ask<Row>(text, values))
    this.#turn = rows.catch(() => {})
    return rows
  }

  async #ask<Row>(text: string, values: readonly unknown[]): Promise<Row[]> {
    const client = this.#client ?? (await this.#connect())
    try {
      const { rows } = await client.query(text, [...values])
      return rows as Row[]
    } catch (error) {
      if (!(await wasAnswered(client, error))) this.#leave(client)
      throw error
    }
  }

  async end(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    await client?.end().catch(() => {})
  }

  async #connect(): Promise<Client> {
    const { client, backend } = await connectBriefly(this.#place)
    try {
      await client.query(endHolder, [this.#place.name, this.#backend])
      // Where another process has taken it this one is about to hear that it is replaced.
      await client.query(keepName, [this.#place.name])
    } catch (error) {
      void client.end().catch(() => {})
      throw error
    }
    this.#keep(client, backend)
    return client
  }

  #keep(client: Client, backend: number): void {
    this.#client = client
    this.#backend = backend
    client.on('end', () => {
      if (this.#client === client) this.#client = undefined
    })
  }

  #leave(client: Client): void {
    if (this.#client === client) this.#client = undefined
    void client.end().catch(() => {})
  }
}

async function migrated({ settings, mayBeNew = true }: LeasePlace): Promise<boolean> {
  const client = await connect(settings)
  try {
    return await migratePostgres(client as never, mayBeNew)
  } catch (error) {
    throw postgresFault(error) ?? error
  } finally {
    void client.end().catch(() => {})
  }
}

async function connectBriefly({ settings, bodies = '' }: LeasePlace): Promise<{ client: Client; backend: number }> {
  const client = await connect({ ...settings, statementMs: limits.cluster.leaseMs })
  try {
    const backend = await holdDatabase(client, settings, { shared: true, bodies })
    await requireOwnSchema(client as never)
    await client.query(`SET lock_timeout = ${limits.cluster.lockMs}`)
    await client.query(leaseFunctions.join(';\n'))
    return { client, backend }
  } catch (error) {
    void client.end().catch(() => {})
    throw postgresFault(error) ?? error
  }
}
