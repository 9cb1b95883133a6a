// An actor's part in the leases of its node: under which term it works.

import { LostLease, type Tenancy } from '#store/cluster/tenancy.ts'

export class Tenure {
  readonly #tenancy: Tenancy | undefined
  readonly #shard: number
  #term: number | undefined

  /** @param tenancy absent where the service is alone, and everything is here */
  constructor(tenancy: Tenancy | undefined, shard: number) {
    this.#tenancy = tenancy
    this.#shard = shard
  }

  /**
   * Before a turn.
   *
   * @returns whether what was read before is worth nothing: another node may have written meanwhile
   * @throws LostLease
   */
  enter(): boolean {
    if (this.#tenancy === undefined) return false
    const term = this.#tenancy.termOf(this.#shard)
    if (term === undefined) throw new LostLease(this.#shard)
    const another = term !== this.#term
    this.#term = term
    return another
  }

  /** Before an answer that nothing was written for. @throws LostLease */
  check(): void {
    const mine = this.#tenancy === undefined || this.#tenancy.holds(this.#shard, this.#term ?? 0)
    if (!mine) throw new LostLease(this.#shard)
  }

  /** What a unit is made under. */
  get lease(): { lease?: readonly [shard: number, term: number] } {
    return this.#tenancy === undefined ? {} : { lease: [this.#shard, this.#term ?? 0] }
  }
}
