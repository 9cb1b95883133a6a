// Hashing and checking passwords from the main loop: on threads, but for those that were verified a moment ago.
//
// Promises: what is recognised costs microseconds; the same question asked again while it is being answered waits for
// that answer; a caller who leaves frees the thread's queue unless another waits for the same. No password is kept.

import { limits } from '#lib/limits.ts'
import { needsRehash, standard } from '#lib/secret/form.ts'
import type { Password, PasswordTasks } from '#lib/secret/hash.ts'
import type { Mark, Recall } from '#lib/secret/recall.ts'
import type { RunOptions } from './turns.ts'

type Hash = PasswordTasks['hash']
type Verify = PasswordTasks['verify']

/** The threads that hash. */
interface Hashing {
  hash(input: Hash['input'], options?: RunOptions): Promise<Hash['value']>
  verify(input: Verify['input'], options?: RunOptions): Promise<Verify['value']>
}

export class Passwords {
  readonly #pool: Hashing
  readonly #recall: Recall
  readonly #rounds: number
  readonly #flights = new Map<Mark, Flight>()

  /** @param rounds those of hashes that are made now */
  constructor(pool: Hashing, recall: Recall, rounds: number = standard.rounds) {
    this.#pool = pool
    this.#recall = recall
    this.#rounds = rounds
  }

  /** Whether a login that matched the stored form should store a new one instead. */
  isWeak(stored: string): boolean {
    return needsRehash(stored, this.#rounds)
  }

  /** The stored form of a new password. @throws Fault Overloaded, TimedOut */
  hash(password: Password, options?: RunOptions): Promise<string> {
    return this.#pool.hash({ password, rounds: this.#rounds }, options)
  }

  /** Whether this password for this stored hash was verified a moment ago. Costs microseconds. */
  recalls(password: Password, stored: string): boolean {
    return this.#recall.enabled && isShort(password) && this.#recall.knows(this.#recall.markOf(password, stored))
  }

  /**
   * Whether the password is the stored one. Null or empty stored: no, at the cost of the standard form. The same question asked
   * again while it is being answered waits for that answer, also where nothing is stored.
   *
   * @throws Fault Overloaded, TimedOut, and HashError for a stored hash of no known form
   */
  async verify(password: Password, stored: string | null, options: RunOptions = {}): Promise<boolean> {
    const rounds = this.#rounds
    if (!isShort(password)) return this.#pool.verify({ password: '', stored: null, rounds }, options)
    if (!this.#recall.enabled) return this.#pool.verify({ password, stored, rounds }, options)
    const mark = this.#recall.markOf(password, stored ?? '')
    if (this.#recall.knows(mark)) return true
    const flight = this.#flights.get(mark) ?? this.#start(mark, password, stored, options)
    return flight.join(options.signal)
  }

  #start(mark: Mark, password: Password, stored: string | null, options: RunOptions): Flight {
    const input = { password, stored, rounds: this.#rounds }
    const flight = new Flight(signal => this.#pool.verify(input, { ...options, signal }))
    this.#flights.set(mark, flight)
    flight.result.then(
      same => {
        this.#flights.delete(mark)
        if (same) this.#recall.remember(mark)
      },
      () => this.#flights.delete(mark),
    )
    return flight
  }
}

/** One verification that several callers wait for; given up when all of them have gone. */
class Flight {
  readonly result: Promise<boolean>
  readonly #stop = new AbortController()
  #callers = 0

  constructor(run: (signal: AbortSignal) => Promise<boolean>) {
    this.result = run(this.#stop.signal)
  }

  join(signal: AbortSignal | undefined): Promise<boolean> {
    if (signal === undefined) {
      // Nobody can call this one off, so the count never comes back to nought.
      this.#callers += 1
      return this.result
    }
    if (signal.aborted) return Promise.reject(signal.reason)
    this.#callers += 1
    return new Promise((resolve, reject) => {
      const leave = () => {
        reject(signal.reason)
        this.#callers -= 1
        if (this.#callers === 0) this.#stop.abort(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.result.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
    })
  }
}

/** Longer ones cannot have been set; they are not worth being sent to a thread. */
function isShort(password: Password): boolean {
  return password.length <= limits.password.lengthMax * 4
}
