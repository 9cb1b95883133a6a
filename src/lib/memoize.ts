// What costs something to find out and is asked for often: found out now and then, or once for each object it is about.

import { now } from './clock.ts'

/** What `read` gives, read again after `ms` at the earliest: anybody may ask for metrics as often as they like. */
export function memoize<T>(read: () => T, ms: number): () => T {
  let value: T | undefined
  let until = 0
  return () => {
    const left = until - now()
    // More than that is left where the clock was put back.
    if (value !== undefined && left > 0 && left <= ms) return value
    until = now() + ms
    value = read()
    // What failed is tried again by the next who asks.
    if (value instanceof Promise) {
      value.catch(() => {
        until = 0
      })
    }
    return value
  }
}

/** Keeps a map of recent things from growing past `lengthMax`, oldest first. */
export function remember<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, lengthMax: number): void {
  map.set(key, value)
  if (map.size > lengthMax) {
    const oldest = map.keys().next()
    if (oldest.done !== true) map.delete(oldest.value)
  }
}

/**
 * What was worked out about an object, kept in it. For objects of a moment, such as a message on its way: what a WeakMap holds of
 * them outlives them until garbage is looked for twice, and is copied each time (bench/NOTES.md, Mail of strangers).
 */
export class Aside<Owner extends object, Value> {
  readonly #name = Symbol('aside')

  get(owner: Owner): Value | undefined {
    return (owner as { [name: symbol]: Value | undefined })[this.#name]
  }

  set(owner: Owner, value: Value): void {
    ;(owner as { [name: symbol]: Value | undefined })[this.#name] = value
  }
}
