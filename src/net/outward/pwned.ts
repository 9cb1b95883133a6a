// Whether a password is in the lists of breached ones, asked by k-anonymity: only the first five of the forty digits of
// its SHA-1 leave this machine, and the answer holds every known hash that begins with them.
//
// A lookup is bounded in time, in bytes and in number. What its outcome means is the mode's business (api-semantics 2.5):
// softfail tells, fail refuses, hardfail refuses also when nobody answers, none does nothing.

import { createHash } from 'node:crypto'
import type { Agent } from 'undici'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { undici } from '#lib/process/lazy.ts'

export type PwnedMode = 'softfail' | 'fail' | 'hardfail' | 'none'

export interface PwnedOptions {
  readonly enabled: boolean
  readonly type: PwnedMode
  /** Base URL; `/range/<five digits>` is put behind it. */
  readonly apiUrl: string
  /** Milliseconds for the whole lookup. */
  readonly timeout: number
}

/** `known` with how often it was seen, or that nobody could be asked. */
export type PwnedResult = { readonly known: boolean; readonly times: number } | { readonly unanswered: Error }

export class Pwned {
  readonly enabled: boolean
  readonly mode: PwnedMode
  readonly #base: string
  readonly #timeoutMs: number
  /** Made with the first lookup: most services never look anything up. */
  #agent: Agent | undefined
  #inFlight = 0

  constructor(options: PwnedOptions) {
    this.enabled = options.enabled && options.type !== 'none'
    this.mode = options.type
    this.#base = options.apiUrl.replace(/\/+$/, '')
    this.#timeoutMs = options.timeout
  }

  /** Looks a password up. Never throws: that nobody answers is an outcome. */
  async lookup(password: string): Promise<PwnedResult> {
    const digits = createHash('sha1').update(password).digest('hex').toUpperCase()
    if (this.#inFlight >= limits.pwned.inFlightMax) return { unanswered: new Fault('Overloaded') }
    this.#inFlight += 1
    try {
      const lines = await this.#range(digits.slice(0, 5))
      const times = timesOf(lines, digits.slice(5))
      return { known: times > 0, times }
    } catch (error) {
      return { unanswered: error instanceof Error ? error : new Error(String(error)) }
    } finally {
      this.#inFlight -= 1
    }
  }

  /**
   * What a login with this password has to do: let in, let in and tell (`passwordPwned`), or refuse.
   * Asks nobody where the lookup is switched off.
   */
  async judge(password: string): Promise<'fine' | 'tell' | 'refuse'> {
    if (!this.enabled) return 'fine'
    const result = await this.lookup(password)
    if ('unanswered' in result) return this.mode === 'hardfail' ? 'refuse' : 'fine'
    if (!result.known) return 'fine'
    return this.mode === 'softfail' ? 'tell' : 'refuse'
  }

  /** Refuses a password that is being set, if it is known; that nobody answers is no reason. @throws Fault InsecurePasswordError */
  async refuseKnown(password: string): Promise<void> {
    if (!this.enabled) return
    const result = await this.lookup(password)
    if ('known' in result && result.known) throw new Fault('InsecurePasswordError')
  }

  async close(): Promise<void> {
    await this.#agent?.destroy()
  }

  async #range(prefix: string): Promise<string> {
    const url = new URL(`${this.#base}/range/${prefix}`)
    this.#agent ??= new (undici().Agent)({
      connections: limits.pwned.inFlightMax,
      maxHeaderSize: limits.http.headerBytesMax,
    })
    const { statusCode, body } = await this.#agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      // Padding hides how many hashes a prefix has, and so the prefix, from who sees the length of the answer.
      headers: { 'add-padding': 'true', accept: 'text/plain', 'user-agent': 'teal' },
      signal: AbortSignal.timeout(this.#timeoutMs),
    })
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > limits.pwned.answerBytesMax) throw new Error('the answer is too long')
      chunks.push(chunk)
    }
    if (statusCode !== 200) throw new Error(`the answer has status ${statusCode}`)
    return Buffer.concat(chunks).toString('latin1')
  }
}

/** The count behind a suffix in lines of `<35 digits>:<count>`; padding lines have 0. @throws Error for anything else */
function timesOf(lines: string, suffix: string): number {
  let times = 0
  for (const line of lines.split(/\r?\n/)) {
    if (line === '') continue
    const match = /^([0-9A-F]{35}):(\d{1,12})$/i.exec(line)
    if (match === null) throw new Error('the answer is not one of the range protocol')
    if (match[1]?.toUpperCase() === suffix) times = Number(match[2])
  }
  return times
}
