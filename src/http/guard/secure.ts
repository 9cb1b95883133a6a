// The certificates of HTTPS as they change: gathered here and handed to the listener together, since each time costs it a
// new start. Until the listener is there they only gather.
//
// Connections that are open keep the certificate they began with.
//
// A listener that could not be started again is tried until it can.

import { after, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { HttpServer } from '../server.ts'
import type { HttpTls, PemPair } from './pem-files.ts'

export class HttpCertificates {
  readonly #onError: (error: unknown) => void
  readonly #named = new Map<string, PemPair>()
  #initial: PemPair
  #server: HttpServer | undefined
  #timer: Timer | undefined

  /** @param onError hears that the listener could not be started again; it is tried until it can */
  constructor(initial: PemPair, onError: (error: unknown) => void) {
    this.#initial = initial
    this.#onError = onError
  }

  /** What is known now. */
  get tls(): HttpTls {
    return { initial: this.#initial, named: new Map(this.#named) }
  }

  /** `names` with '' for the default. */
  update(names: readonly string[], key: string, cert: string): void {
    for (const name of names) {
      if (name === '') this.#initial = { key, cert }
      else this.#named.set(name, { key, cert })
    }
    this.#later()
  }

  remove(name: string): void {
    this.#named.delete(name)
    this.#later()
  }

  /** Hands every change from now on to a listener that has `tls` already. */
  attach(server: HttpServer): void {
    this.#server = server
  }

  close(): void {
    this.#timer?.cancel()
    this.#server = undefined
  }

  #later(): void {
    if (this.#server === undefined || this.#timer !== undefined) return
    this.#timer = after(limits.http.renewMs, () => {
      this.#timer = undefined
      this.#server?.renew(this.tls).catch(error => {
        this.#onError(error)
        this.#later()
      })
    })
  }
}
