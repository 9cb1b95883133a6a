// Counters, marks and challenges that hold for all nodes: each has all of them, and tells the others what it does to its own.
//
// Promises: what may be spent or marked only once is spent where the account (or whatever else it is of) has its lease, so two
// nodes never both take the last of something; everything else is known elsewhere some milliseconds later, and what a node that
// died had counted the others still know. A node that begins first takes over what others have counted. Where nobody can be asked, each node counts by itself.

import { after, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Cache, CacheChange } from '#store/folder/cache.ts'
import type { Count, Counters } from '#store/folder/counters.ts'

/** A call of `Counters` that must not happen at two nodes at once. */
export type Strict = {
  [Name in 'spend' | 'draw' | 'mark']: { readonly name: Name; readonly given: Parameters<Counters[Name]> }
}['spend' | 'draw' | 'mark']

export interface SharedCounters extends Counters {
  /** What another node asks for. */
  carryOut(strict: Strict): unknown
}

export interface SharedCacheOptions {
  readonly cache: Cache
  /** Has a call carried out where it belongs; undefined where that is here, or nobody can be asked. */
  readonly strict: (id: string, strict: Strict) => Promise<{ readonly result: unknown } | undefined>
  /** How many nodes count, with this one. */
  readonly sharers: () => number
  /** Tells the other nodes. */
  readonly tell: (changes: readonly CacheChange[]) => void
}

/** @returns the counters, which every user of counters has to go by from now on */
export function shareCache({ cache, strict, sharers, tell }: SharedCacheOptions): SharedCounters {
  let waiting: CacheChange[] = []
  /** Places of sums in `waiting`, which further ones are added to. */
  const sums = new Map<string, number>()
  let timer: Timer | undefined
  const leave = () => {
    timer?.cancel()
    timer = undefined
    const changes = waiting
    waiting = []
    sums.clear()
    if (changes.length > 0) tell(changes)
  }
  cache.sharers = sharers
  cache.echo = change => {
    const [what, kind, id] = change
    const name = `${kind} ${id}`
    const place = what === 'add' ? sums.get(name) : undefined
    const sum = place === undefined ? undefined : waiting[place]
    if (place !== undefined && sum?.[0] === 'add' && change[0] === 'add') {
      waiting[place] = ['add', kind, id, sum[3] + change[3], sum[4]]
    } else {
      if (what === 'add') sums.set(name, waiting.length)
      else sums.delete(name)
      waiting.push(change)
    }
    // Somebody may come to another node with a challenge at once; sums can wait for others.
    if (what !== 'add' || waiting.length >= limits.cluster.countsMax) leave()
    else timer ??= after(limits.cluster.countsMs, leave)
  }
  const carryOut = ({ name, given }: Strict) =>
    (cache[name] as (...given: readonly unknown[]) => unknown).apply(cache, given)
  const asked = async <Reply>(call: Strict): Promise<Reply> => {
    const there = await strict(call.given[1], call)
    return (there === undefined ? carryOut(call) : there.result) as Reply
  }
  return {
    carryOut,
    counted: (kind, id) => cache.counted(kind, id),
    count: (kind, id, windowMs, amount) => cache.count(kind, id, windowMs, amount),
    spend: (...given) => asked<Count & { readonly allowed: boolean }>({ name: 'spend', given }),
    draw: (...given) => asked<number>({ name: 'draw', given }),
    mark: (...given) => asked<boolean>({ name: 'mark', given }),
    remove: (kind, id) => cache.remove(kind, id),
  }
}
