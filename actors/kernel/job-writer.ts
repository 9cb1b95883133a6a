// What the loops of src/jobs write with: the rows of queues, which no actor keeps a state of.
//
// A loop claims rows, does something in the world and settles them; no account's order is involved, so it needs no turn of
// an actor. It can write to the tables below and to no other: what an account owns changes by a command of its actor alone,
// whose cached state would otherwise tell something the disk does not say.

import assert from 'node:assert'
import { after, monotonic } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Duty } from '#store/cluster/duty.ts'
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
  // What folders left behind that are gone.
  'expunged',
])

/** Operations that are on disk together or not at all. */
export interface JobUnit {
  readonly operations: Operation[]
  /** Bytes it carries, about. */
  readonly bytes: number
  /** Nobody waits for it: it goes after those somebody waits for. */
  readonly background?: boolean
  /** Made from rows as they were while the queues were here under this term (Duty): refused once they are not. */
  readonly under?: number | undefined
}

/** Whose work the queues are, where nodes share them. */
const shard = leaseOf('queue')

/** Where nodes share the queues. */
export interface SharedQueues {
  readonly tenancy: Tenancy
  readonly duty: Duty
}

export class JobWriter {
  readonly #writer: Writer
  readonly #shared: SharedQueues | undefined
  /** Has the node write that has the queues. @throws LostLease where that is this one, or nobody */
  elsewhere: ((unit: JobUnit) => Promise<void>) | undefined

  constructor(writer: Writer, shared?: SharedQueues) {
    this.#writer = writer
    this.#shared = shared
  }

  /** Whether the work of queues is done here; absent where it always is. */
  get duty(): Duty | undefined {
    return this.#shared?.duty
  }

  /** Batches that were answered: those who work beside deliveries see by it whether any come. */
  get commits(): number {
    return this.#writer.commits
  }

  /** Units that are not on disk yet. */
  get pending(): number {
    return this.#writer.pending
  }

  /** Queues a unit; resolves when it is on disk. @throws as the writer's, LostLease where it is `under` a term that is over */
  submit(unit: JobUnit): Promise<void> {
    for (const [name] of unit.operations) assert(queues.has(tableOf(name)), `${name} is not for a job to write`)
    if (this.#shared === undefined) return this.#writer.submit({ ...unit, partition: 0, epoch: 0 })
    return unit.under === undefined ? this.#wherever(unit, this.#shared.tenancy) : this.submitHere(unit)
  }

  /** For another node, which takes the queues to be here. @throws LostLease where they are not */
  submitHere(unit: JobUnit): Promise<void> {
    const term = this.#shared?.tenancy.heldTermOf(shard)
    const { under = term, ...told } = unit
    if (term === undefined || term !== under) return Promise.reject(new LostLease(shard))
    return this.#writer.submit({ ...told, partition: 0, epoch: 0, lease: [shard, term] })
  }

  async #wherever(unit: JobUnit, tenancy: Tenancy): Promise<void> {
    const until = monotonic() + limits.cluster.homelessMs
    for (;;) {
      try {
        const isHere = tenancy.heldTermOf(shard) !== undefined || this.elsewhere === undefined
        return await (isHere ? this.submitHere(unit) : this.elsewhere?.(unit))
      } catch (error) {
        if (!(error instanceof LostLease) || monotonic() > until) throw error
        await new Promise(resolve => after(limits.cluster.homelessAgainMs, () => resolve(undefined)))
      }
    }
  }

  /** One small write. @throws as `submit` */
  write<Row>(write: Write<Row>, row: Row, under?: number): Promise<void> {
    return this.submit({ operations: [operation(write, row)], bytes: 64, under })
  }
}

function tableOf(name: string): string {
  return name.slice(0, name.indexOf('.'))
}
