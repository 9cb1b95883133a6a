// What a test wants to go wrong: rules that refuse, delay or cut a session at a step, in the order in which they were made.
//
// The first rule that strikes decides; one that only delays lets the next ones see the step, too. By chance means by a
// seed, so that a failure can be had again.

import { now, sleep } from '#lib/clock.ts'
import type { Intercept, Step, Verdict } from '#net/intercept.ts'
import type * as Promised from '../testing.d.ts'
import { isAddress, matches } from './arrived/matching.ts'

/** A mail was taken that a rule wants to come back. */
export interface Bounce {
  readonly text: string
  readonly recipients: readonly string[]
  readonly afterMs: number
}

const names = ['protocol', 'at', 'to', 'from', 'times', 'chance', 'seed', 'reply', 'delay', 'drop', 'greylist']
const known = new Set([...names, 'bounce', 'after'])
const steps = new Set(['connect', 'ehlo', 'helo', 'starttls', 'auth', 'mail', 'rcpt', 'data', 'end', 'rset', 'quit'])

export class Failures {
  readonly #live: Rule[] = []

  /** @throws TypeError for a rule that could never strike */
  add(failure: Promised.Failure): { hits(): number; stop(): void } {
    check(failure)
    const rule = new Rule(failure)
    this.#live.push(rule)
    return {
      hits: () => rule.hits,
      stop: () => {
        const at = this.#live.indexOf(rule)
        if (at >= 0) this.#live.splice(at, 1)
      },
    }
  }

  readonly intercept: Intercept = step => (this.#live.length === 0 ? undefined : this.#judge(step))

  /** What of a mail that was just taken comes back. */
  bounces(from: string, to: readonly string[]): Bounce[] {
    if (from === '') return []
    return this.#live.flatMap(rule => {
      const { failure } = rule
      if (!('bounce' in failure)) return []
      const recipients = to.filter(address => failure.to === undefined || isAddress(address, failure.to))
      const step = { protocol: 'smtp', at: 'end', argument: recipients.join(' '), from } as const
      if (recipients.length === 0 || !rule.meant(step) || !rule.strikes()) return []
      return [{ text: failure.bounce, recipients, afterMs: failure.after ?? 0 }]
    })
  }

  async #judge(step: Step): Promise<Verdict> {
    for (const rule of [...this.#live]) {
      const { failure } = rule
      if ('bounce' in failure || !rule.meant(step)) continue
      if ('greylist' in failure) {
        if (rule.greylists(step, failure.greylist)) return { reply: '451 4.7.1 Greylisted, try again later' }
        continue
      }
      if (!rule.strikes()) continue
      if (failure.delay !== undefined) await sleep(failure.delay)
      if ('drop' in failure) return { drop: true }
      if (failure.reply !== undefined) return { reply: failure.reply }
    }
    return undefined
  }
}

class Rule {
  readonly failure: Promised.Failure
  hits = 0
  readonly #random: () => number
  /** Sender and recipient -> when they were first seen. */
  readonly #seen = new Map<string, number>()

  constructor(failure: Promised.Failure) {
    this.failure = failure
    this.#random = randomBy(failure.seed ?? 1)
  }

  /** Whether a step is one of this rule's. */
  meant(step: Step): boolean {
    const { protocol = 'smtp', at, to, from } = this.failure
    if (protocol !== step.protocol) return false
    if (at !== '*' && at.toLowerCase() !== step.at.toLowerCase()) return false
    if (from !== undefined && !isAddress(senderOf(step), from)) return false
    if (to === undefined) return true
    if (protocol === 'http') return matches(step.argument, to)
    return recipientsOf(step).some(address => isAddress(address, to))
  }

  /** Whether it strikes this time, which is counted. */
  strikes(): boolean {
    const { times = Number.POSITIVE_INFINITY, chance = 1 } = this.failure
    if (this.hits >= times || (chance < 1 && this.#random() >= chance)) return false
    this.hits += 1
    return true
  }

  greylists(step: Step, ms: number): boolean {
    const key = `${senderOf(step)} ${step.argument}`
    const first = this.#seen.get(key)
    if (first === undefined) this.#seen.set(key, now())
    if (first !== undefined && now() - first >= ms) return false
    return this.strikes()
  }
}

function senderOf({ at, argument, from }: Step): string {
  return at === 'MAIL' ? (pathIn(argument) ?? '') : (from ?? '')
}

function recipientsOf({ at, argument }: Step): string[] {
  if (at === 'RCPT') return [pathIn(argument) ?? '']
  return at === 'end' ? argument.split(' ') : [argument]
}

function pathIn(argument: string): string | undefined {
  return /<([^>]*)>/.exec(argument)?.[1]
}

function check(failure: Promised.Failure): void {
  const unknown = Object.keys(failure).filter(name => !known.has(name))
  if (unknown.length > 0)
    throw new TypeError(`A failure knows no ${unknown.join(', ')}; it knows ${[...known].join(', ')}`)
  const { protocol = 'smtp', at, chance = 1 } = failure
  if (typeof at !== 'string') throw new TypeError('A failure needs a step: at')
  if (protocol === 'smtp' && !steps.has(at.toLowerCase()))
    throw new TypeError(`SMTP has no step '${at}'; it has ${[...steps].join(', ')}`)
  if (!(chance >= 0 && chance <= 1)) throw new TypeError('chance is a number from 0 to 1')
  const does = ['reply', 'delay', 'drop', 'greylist', 'bounce'].some(name => Object.hasOwn(failure, name))
  if (!does) throw new TypeError('A failure needs one of reply, delay, drop, greylist, bounce')
  const { reply } = failure as { reply?: string }
  if (reply !== undefined && /[\r\n]/.test(reply)) throw new TypeError('A reply is one line')
  if (reply !== undefined && protocol === 'smtp' && !/^[2-5]\d\d[ -]/.test(reply))
    throw new TypeError(`An SMTP reply begins with a code: '451 4.3.0 Later', not '${reply}'`)
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
function randomBy(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
