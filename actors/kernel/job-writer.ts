// What the loops of src/jobs write with: the rows of queues, which no actor keeps a state of.
//
// A loop claims rows, does something in the world and settles them; no account's order is involved, so it needs no turn of
// an actor. It can write to the tables below and to no other: what an account owns changes by a command of its actor alone,
// whose cached state would otherwise tell something the disk does not say.

import assert from 'node:assert'
import { leaseOf } from '#store/cluster/shards.ts'
import { LostLease, type Tenancy } from '#store/cluster/tenancy.ts'
import { type Operation, operation, type Write } from '#store/engine/write.ts'
import type { Writer } from '#store/writer/writer.ts'

/** First words of the writes that jobs may make. */
const queues: ReadonlySet<string> = new Set([
  ...['task', 'outbound', 'event', 'delivery', 'trace', 'search', 'spam', 'sts_policy', 'outbound_attempt'],
  ...['report', 'arrived_report', 'outbound_bounce', 'suppression', 'forward_trouble', 'figure'],
  // A report of what could not be sent is a message in the queue: its body's rows come with it.
  ...['body', 'outline'],
])

/** Operations that are on disk together or not at all. */
export interface JobUnit {
  readonly operations: Operation[]
  /** Bytes it carries, about. */
  readonly bytes: number
  /** Nobody waits for it: it goes after those somebody waits for. */
  readonly background?: boolean
}

/** Whose work the queues are, where nodes share them. */
const shard = leaseOf('queue')

export class JobWriter {
  readonly #writer: Writer
  readonly #tenancy: Tenancy | undefined

  constructor(writer: Writer, tenancy?: Tenancy) {
    this.#writer = writer
    this.#tenancy = tenancy
  }

  /** Batches that were answered: those who work beside deliveries see by it whether any come. */
  get commits(): number {
    return this.#writer.commits
  }

  /** Units that are not on disk yet. */
  get pending(): number {
    return this.#writer.pending
  }

  /** Queues a unit; resolves when it is on disk. @throws as the writer's, LostLease where another node does the work */
  submit(unit: JobUnit): Promise<void> {
    for (const [name] of unit.operations) assert(queues.has(tableOf(name)), `${name} is not for a job to write`)
    const made = { ...unit, partition: 0, epoch: 0 }
    if (this.#tenancy === undefined) return this.#writer.submit(made)
    const term = this.#tenancy.termOf(shard)
    return term === undefined
      ? Promise.reject(new LostLease(shard))
      : this.#writer.submit({ ...made, lease: [shard, term] })
  }

  /** One small write. @throws as the writer's */
  write<Row>(write: Write<Row>, row: Row): Promise<void> {
    return this.submit({ operations: [operation(write, row)], bytes: 64 })
  }
}

function tableOf(name: string): string {
  return name.slice(0, name.indexOf('.'))
}
