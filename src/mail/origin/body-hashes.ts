// The hashes of one message's body that its signatures ask for: each form of it is hashed once, whoever asks.
//
// The body is read in one go for all that are asked for by then, and again only for those that are asked for later. To the
// library for signatures one of these looks like its own.

import { type BodyForm, BodyHash } from './body-hash.ts'

/** Gives the body from its first byte, each time it is called. */
export type BodyBytes = () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>

export class BodyHashes {
  readonly #body: BodyBytes
  readonly #wanted = new Map<string, WantedHash>()

  constructor(body: BodyBytes) {
    this.#body = body
  }

  /** One that is finished by the next `fill`. */
  want(form: BodyForm): WantedHash {
    const key = `${form.relaxed}:${form.algorithm}:${form.coveredBytes}`
    let found = this.#wanted.get(key)
    if (found === undefined) {
      found = new WantedHash(form)
      this.#wanted.set(key, found)
    }
    return found
  }

  /** Finishes all that were asked for. */
  async fill(): Promise<void> {
    const open = [...this.#wanted.values()].filter(({ hash }) => hash === undefined)
    if (open.length === 0) return
    const body = this.#body()
    const take = (chunk: Uint8Array) => {
      for (const hash of open) hash.update(chunk)
    }
    if (Symbol.asyncIterator in body) for await (const chunk of body) take(chunk)
    else for (const chunk of body) take(chunk)
    for (const hash of open) hash.digest()
  }
}

/** As the library asks one. */
export class WantedHash extends BodyHash {
  hash: string | undefined
  mimeStructureStart: undefined

  override digest(): string {
    this.hash ??= super.digest()
    return this.hash
  }

  getMimeStructureStart(): undefined {
    return undefined
  }
}
