// Waiting for mail, and looking at what there is: of one address, or of all.
//
// `wait` gives each mail out once, so that two tests of one flow need not count. It is woken by arrivals and never looks by
// itself. When the time is over it says what did arrive and why that was not it.

import { after, hold } from '#lib/clock.ts'
import type * as Promised from '../../testing.d.ts'
import type { Entry, Source } from './journal.ts'
import { checkFilter, mismatch, showFilter } from './matching.ts'

const timeoutMs = 5000
const withinMs = 200

/** Mails that an error lists. */
const listedMax = 20

type WaitOptions = Promised.WaitOptions & { readonly count?: number; readonly signal?: AbortSignal }

/** A mail and why it is not the one. */
export interface Judged {
  readonly mail: Promised.Mail
  readonly reasons: readonly string[]
}

/** What `wait` and `none` fail with: what arrived, and of `wait` why it was not that. */
export class MailboxError extends Error {
  readonly arrived: readonly Judged[]

  constructor(text: string, arrived: readonly Judged[]) {
    super(text)
    this.arrived = arrived
  }
}

export class SourceMailbox implements Promised.Mailbox {
  readonly #source: Source
  readonly #address: string | undefined
  readonly #given = new Set<string>()
  /** Mails up to here are forgotten. */
  #from = 0
  /** Up to here none is left to give: a test that waits for its thousandth mail does not read the others again. */
  #done = 0
  /** Waits of one mailbox look one after the other, so that none gets another's mail. */
  #turn: Promise<unknown> = Promise.resolve()

  /** @param address the one recipient it is of; of everybody without */
  constructor(source: Source, address?: string) {
    this.#source = source
    this.#address = address?.toLowerCase()
  }

  wait(
    filter: Promised.MailFilter | undefined,
    options: WaitOptions & { readonly count: number },
  ): Promise<Promised.Mail[]>
  wait(filter?: Promised.MailFilter, options?: Promised.WaitOptions): Promise<Promised.Mail>
  async wait(filter?: Promised.MailFilter, options: WaitOptions = {}): Promise<Promised.Mail | Promised.Mail[]> {
    checkFilter(filter)
    const { timeout = timeoutMs, count, signal } = options
    const found = await this.#until(timeout, () => this.#take(filter, count ?? 1), signal)
    if (found === undefined) throw await this.#missed(filter, timeout, count)
    return count === undefined ? (found[0] as Promised.Mail) : found
  }

  async none(filter?: Promised.MailFilter, { within = withinMs }: { readonly within?: number } = {}): Promise<void> {
    checkFilter(filter)
    const found = await this.#until(within, async () => {
      const fresh = await this.#fresh(filter)
      return fresh.length === 0 ? undefined : fresh
    })
    if (found === undefined) return
    const lines = found.slice(0, listedMax).map(line)
    const text = `There should be none, but ${showFilter(filter)} is there:\n${lines.join('\n')}`
    throw new MailboxError(
      text,
      found.map(mail => ({ mail, reasons: [] })),
    )
  }

  async list(filter?: Promised.MailFilter): Promise<Promised.Mail[]> {
    checkFilter(filter)
    const all = await this.#all()
    return all.filter(mail => mismatch(mail, filter).length === 0)
  }

  async clear(): Promise<void> {
    this.#from = await this.#source.last()
    this.#given.clear()
  }

  /** What `look` gives as soon as it gives something; undefined when the time is over. */
  async #until<Found>(
    ms: number,
    look: () => Promise<Found | undefined>,
    signal?: AbortSignal,
  ): Promise<Found | undefined> {
    const release = hold()
    let over = false
    let wake = () => {}
    let changed = true
    const unwatch = this.#source.watch(() => {
      changed = true
      wake()
    })
    const end = () => {
      over = true
      wake()
    }
    const timer = after(ms, end)
    signal?.addEventListener('abort', end, { once: true })
    try {
      for (;;) {
        if (signal?.aborted === true) return undefined
        if (changed) {
          changed = false
          const found = await look()
          if (found !== undefined) return found
          if (changed) continue
        }
        if (over) return undefined
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
    } finally {
      timer.cancel()
      signal?.removeEventListener('abort', end)
      unwatch()
      release()
    }
  }

  #take(filter: Promised.MailFilter | undefined, count: number): Promise<Promised.Mail[] | undefined> {
    const mine = this.#turn.then(async () => {
      const fresh = await this.#fresh(filter)
      if (fresh.length < count) return undefined
      const taken = fresh.slice(0, count)
      for (const { id } of taken) this.#given.add(id)
      return taken
    })
    this.#turn = mine.catch(() => {})
    return mine
  }

  async #fresh(filter: Promised.MailFilter | undefined): Promise<Promised.Mail[]> {
    const entries = await this.#source.after(Math.max(this.#from, this.#done))
    const open = entries.filter(entry => this.#mine(entry) && !this.#given.has(entry.facts.id))
    const [first] = open
    const done = first === undefined ? (entries.at(-1)?.facts.seq ?? 0) : first.facts.seq - 1
    this.#done = Math.max(this.#done, done)
    const mails = await Promise.all(open.map(entry => entry.mail()))
    return mails.filter(mail => mismatch(mail, filter).length === 0)
  }

  async #all(): Promise<Promised.Mail[]> {
    const entries = await this.#source.after(this.#from)
    return Promise.all(entries.filter(entry => this.#mine(entry)).map(entry => entry.mail()))
  }

  #mine({ facts }: Entry): boolean {
    const address = this.#address
    return address === undefined || facts.envelope.to.some(to => to.toLowerCase() === address)
  }

  async #missed(filter: Promised.MailFilter | undefined, ms: number, count = 1): Promise<MailboxError> {
    const all = await this.#all()
    const where = this.#address === undefined ? '' : ` for ${this.#address}`
    const many = count === 1 ? '' : `, ${count} of them,`
    const head = `Waited ${ms} ms for ${showFilter(filter)}${many}${where}.`
    if (all.length === 0) {
      const others = this.#address === undefined ? [] : await this.#source.after(this.#from)
      const to = [...new Set(others.flatMap(({ facts }) => facts.envelope.to))].slice(-listedMax)
      const text = `${head} Nothing arrived${to.length === 0 ? '.' : ` there; mail came to ${to.join(', ')}.`}`
      return new MailboxError(text, [])
    }
    const judged = all.slice(-listedMax).map(mail => {
      const reasons = mismatch(mail, filter)
      const given = this.#given.has(mail.id) ? ['an earlier wait got it'] : ['it is one of those wanted']
      return { mail, reasons: reasons.length > 0 ? reasons : given }
    })
    const lines = judged.map(({ mail, reasons }) => `${line(mail)}: ${reasons.join('; ')}`)
    const left = all.length - lines.length
    const before = left > 0 ? `\n  and ${left} before them` : ''
    return new MailboxError(`${head} ${all.length} arrived:\n${lines.join('\n')}${before}`, judged)
  }
}

function line(mail: Promised.Mail): string {
  return `  '${mail.subject}' from ${mail.envelope.from || '<>'} to ${mail.envelope.to.join(', ')}`
}
