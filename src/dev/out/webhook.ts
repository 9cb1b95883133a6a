// Tells a program of each mail that arrived, by a POST of its line as JSON; one after the other, in the order of arrival.
//
// For a developer's own tools: it is tried once, and what fails is told in the log. While the program is slow so many wait; more are
// left out.

import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'

export class Webhook {
  readonly #url: string
  readonly #log: Log
  readonly #closing = new AbortController()
  #sending: Promise<void> = Promise.resolve()
  #waiting = 0

  /** @throws TypeError where it is no URL of the web */
  constructor(url: string, log: Log) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new TypeError(`'${url}' is no URL of the web`)
    this.#url = url
    this.#log = log
  }

  push(line: object): void {
    if (this.#waiting >= limits.dev.webhooksWaiting) {
      this.#log.warn({}, 'a mail is not told to the webhook: it is too slow')
      return
    }
    this.#waiting += 1
    this.#sending = this.#sending.then(async () => {
      await this.#send(line)
      this.#waiting -= 1
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#sending
  }

  async #send(line: object): Promise<void> {
    if (this.#closing.signal.aborted) return
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(limits.dev.linkMs)])
    const headers = { 'content-type': 'application/json' }
    try {
      const answer = await fetch(this.#url, {
        method: 'POST',
        headers,
        body: JSON.stringify(line),
        redirect: 'manual',
        signal,
      })
      await answer.body?.cancel()
      if (!answer.ok) this.#log.warn({ status: answer.status }, 'the webhook did not take a mail')
    } catch (error) {
      this.#log.warn({ error }, 'the webhook cannot be reached')
    }
  }
}
