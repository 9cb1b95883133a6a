// Reads the one flat object of parameters that an endpoint's `run` receives (api-semantics 1.4).
//
// Path, query and body share one namespace and win in that order. Every problem of every field is gathered. Made once
// for each endpoint; reading allocates the result and nothing else.

import type { Endpoint, Fields } from '../endpoint.ts'
import { origin } from '../schema.ts'
import type { Tree } from './form.ts'
import { compileFields, type Field, own, type Problems, readField } from './validate.ts'

export class Parameters {
  readonly #path: readonly Field[]
  readonly #others: readonly Field[]
  readonly #known: ReadonlySet<string>
  readonly #open: boolean
  /** Keys that access never takes away: the path's and who is behind the call. */
  readonly kept: ReadonlySet<string>

  /** `names` are the path's parameters in order. */
  constructor(endpoint: Endpoint, names: readonly string[]) {
    const others: Fields = { ...origin, ...endpoint.body, ...endpoint.query }
    const named = new Set(names)
    this.#path = names.flatMap(name => compileFields({ [name]: endpoint.params[name] ?? {} }))
    this.#others = compileFields(Object.fromEntries(Object.entries(others).filter(([key]) => !named.has(key))))
    this.#known = new Set([...names, ...Object.keys(others)])
    this.#open = endpoint.open === true
    this.kept = new Set([...names, ...Object.keys(origin)])
  }

  /** `values` are the path's, in the order of its names. */
  read(values: readonly string[], query: Tree | null, body: Tree | null, problems: Problems): Record<string, unknown> {
    const input: Record<string, unknown> = {}
    for (let index = 0; index < this.#path.length; index++) {
      const field = this.#path[index]
      if (field !== undefined) readField(field, values[index], field.key, input, problems)
    }
    for (const field of this.#others) {
      const first = query === null ? undefined : own(query, field.key)
      const value = first === undefined && body !== null ? own(body, field.key) : first
      readField(field, value, field.key, input, problems)
    }
    if (!this.#open) {
      if (query !== null) this.#refuseUnknown(query, problems)
      if (body !== null) this.#refuseUnknown(body, problems)
    }
    return input
  }

  #refuseUnknown(tree: Tree, problems: Problems): void {
    for (const key of Object.keys(tree)) if (!this.#known.has(key)) problems.add(key.slice(0, 128), 'is not allowed')
  }
}
