// A client that stays: it hears what happens to a folder at one node, keeps its own copy of it by what it hears alone, and when its
// connection is gone comes again and asks only for what is new (QRESYNC).

import { sleep } from '#lib/clock.ts'
import { Imap, isLater } from './clients.ts'
import type { Account } from './journal.ts'
import type { Load } from './load.ts'
import type { ChaosNode } from './world.ts'

export class Stay {
  readonly account: Account
  readonly #load: Load
  readonly #node: ChaosNode
  /** uid -> flags in their order. */
  readonly #copy = new Map<number, string>()
  #exists = 0
  /** Up to this uid it asked for all; of one above it may know by a change of its flags before it knows of those below. */
  #upTo = 0
  #validity = ''
  /** Everything up to this change is in the copy. */
  #known = 0
  #heard = 0
  #imap: Imap | undefined

  constructor(load: Load, account: Account, node: ChaosNode) {
    this.#load = load
    this.account = account
    this.#node = node
  }

  get name(): string {
    return `${this.account.name} at ${this.#node.name}`
  }

  async run(): Promise<void> {
    while (!this.#load.stopped) {
      try {
        await this.#step()
      } catch (error) {
        this.#failed(error)
        await sleep(100)
      }
    }
  }

  /** What it has, when it has caught up: lines of uid and flags, and how many the server said there are. */
  async truth(): Promise<{ lines: string[]; exists: number }> {
    for (let tries = 0; ; tries++) {
      try {
        const imap = await this.#entered()
        await imap.ok('noop')
        await this.#catchUp(imap)
        const lines = [...this.#copy].sort(([one], [other]) => one - other).map(([uid, flags]) => `${uid} ${flags}`)
        return { lines, exists: this.#exists }
      } catch (error) {
        this.#failed(error)
        if (tries > 20) throw error
        await sleep(200)
      }
    }
  }

  #failed(error: unknown): void {
    this.#imap?.close()
    this.#imap = undefined
    this.#load.journal.failed('stay', `${this.name}: ${error}`)
    if (!isLater(error)) this.#load.journal.found.push(`${this.name}: ${error}`)
  }

  async #step(): Promise<void> {
    const imap = await this.#entered()
    if (this.#load.random() < 0.5) await imap.idle(200 + this.#load.random() * 800)
    else {
      await imap.ok('noop')
      await sleep(this.#load.random() * 300)
    }
    await this.#catchUp(imap)
  }

  async #entered(): Promise<Imap> {
    if (this.#imap !== undefined) return this.#imap
    const imap = await Imap.login(await this.#load.node(this.#node), this.account.name, line => this.#hear(line))
    this.#imap = imap
    await imap.ok('enable qresync')
    const resync = this.#validity === '' ? '' : ` (qresync (${this.#validity} ${this.#known}))`
    const lines = await imap.ok(`select INBOX${resync}`)
    this.#validity = /UIDVALIDITY (\d+)/.exec(lines.join(' '))?.[1] ?? ''
    await this.#catchUp(imap)
    this.#load.journal.count('stay')
    return imap
  }

  async #catchUp(imap: Imap): Promise<void> {
    if (this.#copy.size !== this.#exists) {
      await imap.ok(`uid fetch ${this.#upTo + 1}:* (flags)`)
      this.#upTo = Math.max(0, ...this.#copy.keys())
    }
    this.#known = this.#heard
  }

  #hear(line: string): void {
    const [, exists] = /^\* (\d+) EXISTS/.exec(line) ?? []
    if (exists !== undefined) this.#exists = Number(exists)
    const [, earlier, gone] = /^\* VANISHED (\(EARLIER\) )?(\S+)/.exec(line) ?? []
    if (gone !== undefined) this.#vanished(gone, earlier === undefined)
    const [, flags, uid, modseq] = fetched(line)
    if (uid === undefined) return
    this.#copy.set(
      Number(uid),
      (flags ?? '')
        .split(' ')
        .filter(flag => flag !== '\\Recent')
        .sort()
        .join(' '),
    )
    this.#heard = Math.max(this.#heard, Number(modseq ?? 0))
  }

  #vanished(set: string, counted: boolean): void {
    for (const range of set.split(',')) {
      const [from = 0, to = from] = range.split(':').map(Number)
      for (let uid = from; uid <= to; uid++) {
        this.#copy.delete(uid)
        if (counted) this.#exists -= 1
      }
    }
  }
}

/** Flags, uid and change number of a FETCH. */
export function fetched(line: string): (string | undefined)[] {
  if (!/^\* \d+ FETCH /.test(line)) return []
  return ['', /FLAGS \(([^)]*)\)/.exec(line)?.[1], /UID (\d+)/.exec(line)?.[1], /MODSEQ \((\d+)\)/.exec(line)?.[1]]
}
