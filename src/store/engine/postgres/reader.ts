// Reading from PostgreSQL: some connections that short reads share, each with several on their way at once; what is read in
// pieces, and pictures, have connections of their own.
//
// What it sees is committed. A fault of the connection is StorageUnavailable, and the next read makes a new one.

import { after, monotonic, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { isHome } from '#lib/process/thread.ts'
import type { Reader } from '../reader.ts'
import type { Asked } from './asking.ts'
import { type Client, connect, type PostgresSettings, rowsOf, visitRows } from './session.ts'
import { prepared } from './text.ts'

/** Opens nothing yet: a connection is made by the first read that wants it. */
export function openPostgresReader(settings: PostgresSettings): Reader {
  return new PostgresReader(settings)
}

abstract class AnyReader implements Reader {
  protected abstract run<T>(task: (client: Client) => Promise<T>): Promise<T>
  protected abstract runAlone<T>(task: (client: Client) => Promise<T>): Promise<T>
  abstract snapshot<T>(task: (read: Reader) => Promise<T>): Promise<T>
  abstract close(): void

  async one<Row>(text: string, ...values: unknown[]): Promise<Row | undefined> {
    const [row] = await this.all<Row>(text, ...values)
    return row
  }

  all<Row>(text: string, ...values: unknown[]): Promise<Row[]> {
    return this.run(client => rowsOf<Row>(client, prepared(text, values)))
  }

  arrays<Row extends unknown[]>(text: string, ...values: unknown[]): Promise<Row[]> {
    return this.run(client => rowsOf<Row>(client, asArrays(text, values)))
  }

  each<Row>(visit: (row: Row) => unknown, text: string, ...values: unknown[]): Promise<void> {
    return this.runAlone(client => visitRows(client, prepared(text, values), visit))
  }

  eachArray<Row extends unknown[]>(visit: (row: Row) => unknown, text: string, ...values: unknown[]): Promise<void> {
    return this.runAlone(client => visitRows(client, asArrays(text, values), visit))
  }

  async prove(): Promise<void> {
    await this.one('SELECT 1')
  }

  async broken(): Promise<string[]> {
    return []
  }
}

function asArrays(text: string, values: readonly unknown[]): Asked {
  return { ...prepared(text, values), rowMode: 'array' }
}

/** Whether it is the connection that failed, or fell silent; a statement that the server ended leaves it as it was. */
function isLost(error: unknown): boolean {
  return error instanceof Fault && (error.cause as { code?: string } | undefined)?.code !== '57014'
}

/**
 * Whether another connection is refused while those that are there may serve on: the server has no room for one, at all or of this user or
 * database, lets nobody in with this password any more (it was changed, and the service is about to be told), or takes none at this moment.
 */
function isRefused(error: unknown): boolean {
  const code = error instanceof Fault ? (error.cause as { code?: string } | undefined)?.code : undefined
  return code !== undefined && /^(?:53300|28|55000|57P03|ECONNREFUSED|ENOTFOUND|EAI_AGAIN)/.test(code)
}

/** How many this loop may have. */
const most = isHome ? limits.postgres.home : limits.postgres.thread

/** A connection that reads share. */
interface Shared {
  readonly client: Promise<Client>
  /** On their way. */
  pending: number
}

class PostgresReader extends AnyReader {
  readonly #settings: PostgresSettings
  readonly #shared: Shared[] = []
  /** Connections for one at a time that nobody uses now, and since when; the oldest first. */
  readonly #spare: { readonly client: Client; readonly since: number }[] = []
  #sweep: Timer | undefined
  /** Who waits for one. */
  readonly #waiting: (() => void)[] = []
  #alone = 0
  /** The server refused another connection. */
  #refusedUntil = 0
  #closed = false

  constructor(settings: PostgresSettings) {
    super()
    this.#settings = settings
  }

  protected async run<T>(task: (client: Client) => Promise<T>): Promise<T> {
    for (;;) {
      const shared = this.#leastBusy()
      shared.pending += 1
      try {
        return await task(await shared.client)
      } catch (error) {
        if (isLost(error)) this.#leave(shared)
        // Of those that are there one will do, and another one is tried for later.
        if (!isRefused(error) || this.#shared.length === 0) throw error
        this.#refusedUntil = monotonic() + limits.postgres.refusedMs
      } finally {
        shared.pending -= 1
      }
    }
  }

  protected async runAlone<T>(task: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.#take()
    try {
      const value = await task(client)
      this.#give(client)
      return value
    } catch (error) {
      // In which state it is nobody knows.
      this.#give(undefined)
      void client.end().catch(() => {})
      throw error
    }
  }

  snapshot<T>(task: (read: Reader) => Promise<T>): Promise<T> {
    return this.runAlone(async client => {
      // What is asked first goes in behind it; whether there was a picture is known before anything of it is given.
      const begun = rowsOf(client, { text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', values: [] })
      begun.catch(() => {})
      const value = await task(new Picture(client))
      await begun
      // Nothing was written: whoever has the connection next stands in line behind it.
      rowsOf(client, { text: 'COMMIT', values: [] }).catch(() => {})
      return value
    })
  }

  close(): void {
    this.#closed = true
    for (const { client } of this.#shared.splice(0)) void client.then(one => one.end()).catch(() => {})
    for (const { client } of this.#spare.splice(0)) void client.end().catch(() => {})
    this.#sweep?.cancel()
    for (const wake of this.#waiting.splice(0)) wake()
  }

  /** The connection with the fewest reads on their way; a new one while all that there are have some. */
  #leastBusy(): Shared {
    this.#mustBeOpen()
    const best = this.#shared.reduce<Shared | undefined>(
      (a, b) => (a === undefined || b.pending < a.pending ? b : a),
      undefined,
    )
    const room = this.#shared.length < most.shared && monotonic() >= this.#refusedUntil
    if (best !== undefined && (best.pending === 0 || !room)) return best
    const made: Shared = {
      client: connect(this.#settings, { readOnly: true, pipelined: true, onEnd: () => this.#forget(made) }),
      pending: 0,
    }
    made.client.catch(() => this.#forget(made))
    this.#shared.push(made)
    return made
  }

  /** Nobody asks it any more; what is on its way comes to its end. */
  #leave(shared: Shared): void {
    this.#forget(shared)
    void shared.client.then(client => client.end()).catch(() => {})
  }

  #forget(shared: Shared): void {
    const at = this.#shared.indexOf(shared)
    if (at >= 0) this.#shared.splice(at, 1)
  }

  async #take(): Promise<Client> {
    for (;;) {
      while (this.#alone >= most.alone) await this.#wait()
      this.#mustBeOpen()
      this.#alone += 1
      const spare = this.#spare.pop()
      if (spare !== undefined) return spare.client
      try {
        // It may end before it is there.
        let client: Client | undefined
        const onEnd = () => this.#lose(client)
        client = await connect(this.#settings, { readOnly: true, pipelined: true, onEnd })
        return client
      } catch (error) {
        // Whoever else waits would fare no better than this one, unless there is one that serves both: it may lie here again by now.
        if (isRefused(error) && (this.#alone > 1 || this.#spare.length > 0)) {
          this.#alone -= 1
          if (this.#spare.length === 0) await this.#wait()
          continue
        }
        this.#give(undefined)
        throw error
      }
    }
  }

  /** Until one is given back. @throws Fault Overloaded where that takes long, or too many wait */
  #wait(): Promise<void> {
    this.#mustBeOpen()
    if (this.#waiting.length >= limits.postgres.waitingMax) throw new Fault('Overloaded')
    return new Promise((resolve, reject) => {
      const wake = () => {
        late.cancel()
        resolve()
      }
      const late = after(limits.postgres.waitingMs, () => {
        this.#waiting.splice(this.#waiting.indexOf(wake), 1)
        reject(new Fault('Overloaded'))
      })
      this.#waiting.push(wake)
    })
  }

  /** One that ended while nobody used it. */
  #lose(lost: Client | undefined): void {
    const at = this.#spare.findIndex(({ client }) => client === lost)
    if (at >= 0) this.#spare.splice(at, 1)
  }

  #give(client: Client | undefined): void {
    this.#alone -= 1
    if (client !== undefined) {
      if (this.#closed) void client.end().catch(() => {})
      else this.#keep(client)
    }
    this.#waiting.shift()?.()
  }

  /** A new connection costs the server as much as some fifty reads: those of a busy minute stay. */
  #keep(client: Client): void {
    this.#spare.push({ client, since: monotonic() })
    if (this.#spare.length > most.spare) this.#sweep ??= after(limits.postgres.spareMs, () => this.#endSpare())
  }

  #endSpare(): void {
    this.#sweep = undefined
    const old = monotonic() - limits.postgres.spareMs
    while (this.#spare.length > most.spare && (this.#spare[0]?.since ?? 0) <= old) {
      void this.#spare
        .shift()
        ?.client.end()
        .catch(() => {})
    }
    const [next] = this.#spare
    if (next === undefined || this.#spare.length <= most.spare) return
    this.#sweep = after(next.since - old, () => this.#endSpare())
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new Fault('Stopping')
  }
}

/** Everything as it was at one moment, on one connection. */
class Picture extends AnyReader {
  readonly #client: Client
  /** What is fetched in pieces now: nothing else may be asked for meanwhile. */
  #pieces: Promise<unknown> | undefined

  constructor(client: Client) {
    super()
    this.#client = client
  }

  protected async run<T>(task: (client: Client) => Promise<T>): Promise<T> {
    while (this.#pieces !== undefined) await this.#pieces.catch(() => {})
    return await task(this.#client)
  }

  protected async runAlone<T>(task: (client: Client) => Promise<T>): Promise<T> {
    while (this.#pieces !== undefined) await this.#pieces.catch(() => {})
    const pieces = task(this.#client)
    this.#pieces = pieces
    try {
      return await pieces
    } finally {
      this.#pieces = undefined
    }
  }

  snapshot<T>(task: (read: Reader) => Promise<T>): Promise<T> {
    return task(this)
  }

  /** It ends with the task that it was made for. */
  close(): void {}
}
