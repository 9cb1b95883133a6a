// What was acknowledged, and what nobody knows: against this the truth is held after each round.
//
// Of each message is kept where it may be. What had an answer is certain; what had none, or was put off, may have happened as
// often as it was tried.

import { monotonic } from '#lib/clock.ts'

export interface Mail {
  readonly mid: string
  readonly kind: 'delivered' | 'appended' | 'uploaded'
  /** When it was first tried. */
  readonly began: number
  acked: number | undefined
  /** Attempts of which nobody knows whether they did it. */
  doubts: number
  /** Where it may be, for one that is there once: folders, or `gone`. */
  places: ReadonlySet<string>
  /** Flags and whether it has them; undefined where nobody knows. */
  readonly flags: Map<string, boolean | undefined>
}

export interface Folder {
  readonly path: string
  id: string | undefined
  readonly states: Set<'there' | 'gone'>
}

export class Account {
  readonly name: string
  readonly id: string
  readonly mails = new Map<string, Mail>()
  /** Made and taken away by the API. */
  readonly folders = new Map<string, Folder>()
  /** What the field may be. */
  names: readonly string[] = ['']
  /** When a delivery was last acknowledged, which began after ...: [began, acked]. */
  last: readonly [number, number] = [0, 0]
  /** Folder and its validity -> uid -> whose it is. */
  readonly #uids = new Map<string, Map<number, string>>()
  readonly #validity = new Map<string, string>()
  readonly #found: string[]

  constructor(name: string, id: string, found: string[]) {
    this.name = name
    this.id = id
    this.#found = found
  }

  mail(mid: string, kind: Mail['kind']): Mail {
    const one: Mail = {
      ...{ mid, kind, began: monotonic(), acked: undefined, doubts: 0 },
      ...{ places: new Set(['INBOX']), flags: new Map<string, boolean | undefined>() },
    }
    this.mails.set(mid, one)
    return one
  }

  acknowledged(mail: Mail, began: number): void {
    mail.acked = monotonic()
    if (began > this.last[0]) this.last = [began, mail.acked]
  }

  /** A folder says who has a number. */
  saw(folder: string, validity: string, uid: number, mid: string): void {
    const before = this.#validity.get(folder) ?? validity
    this.#validity.set(folder, before)
    if (before !== validity) this.#found.push(`${this.name} ${folder}: validity was ${before}, is ${validity}`)
    const uids = this.#uids.get(folder) ?? new Map<number, string>()
    this.#uids.set(folder, uids)
    const known = uids.get(uid) ?? mid
    uids.set(uid, known)
    if (known !== mid) this.#found.push(`${this.name} ${folder}: uid ${uid} was ${known}, is ${mid}`)
  }

  uids(folder: string): ReadonlyMap<number, string> {
    return this.#uids.get(folder) ?? new Map()
  }
}

export class Journal {
  /** Everything that is wrong. */
  readonly found: string[] = []
  readonly accounts: Account[] = []
  /** Submissions by what is known of them. */
  readonly queued = new Map<string, { acked: boolean; doubts: number; calm: boolean }>()
  /** What was put off, refused or not answered, and when. */
  readonly failures: { readonly at: number; readonly what: string; readonly said: string }[] = []
  readonly done = new Map<string, number>()

  add(name: string, id: string): Account {
    const account = new Account(name, id, this.found)
    this.accounts.push(account)
    return account
  }

  count(what: string): void {
    this.done.set(what, (this.done.get(what) ?? 0) + 1)
  }

  failed(what: string, said: string): void {
    this.count(`${what} put off`)
    this.failures.push({ at: monotonic(), what, said })
  }

  /** As text, for who looks after a failure. */
  text(): string {
    const shown = this.accounts.map(({ name, id, mails, folders, names }) => {
      const all = [...mails.values()].map(mail => ({
        ...mail,
        places: [...mail.places],
        flags: Object.fromEntries(mail.flags),
      }))
      return {
        name,
        id,
        mails: all,
        names,
        folders: [...folders.values()].map(one => ({ ...one, states: [...one.states] })),
      }
    })
    const { found, failures } = this
    return JSON.stringify({ found, failures, queued: [...this.queued], accounts: shown }, null, 1)
  }
}
