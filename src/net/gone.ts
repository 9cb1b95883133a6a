// Word that a connection ended, for work on its behalf whose result nobody would hear. Costs nothing where nobody asks.

import { Disconnected } from './disconnected.ts'

export class Gone {
  #controller: AbortController | undefined
  #over: boolean

  /** @param over it has ended already */
  constructor(over: boolean) {
    this.#over = over
  }

  /** Aborted, with `Disconnected`, when the connection ends. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#over) this.#controller.abort(new Disconnected())
    return this.#controller.signal
  }

  /** The connection ended. */
  tell(): void {
    this.#over = true
    this.#controller?.abort(new Disconnected())
  }
}
