// The log of what happens around an account's logins, and when and how it was last entered (api-semantics 2.8).
//
// Events with the same key within some hours are one entry. Who adds one does not wait: entries gather for a moment, many
// of a kind become one row, and they are written in units nobody waits for; an orderly stop writes the rest, a crash
// loses the last moment. The key holds everything that two events must share to be told as one, so merging loses nothing; but of
// attempts that were refused from addresses without end a hundred are told with their address, the others together.

import { createHash } from 'node:crypto'
import { after, every, now, type Timer } from '#lib/clock.ts'
import { newId } from '#lib/id.ts'
import { cut, type Journal } from '#lib/journal/journal.ts'
import { RecurringLine } from '#lib/journal/recurring-line.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { remember } from '#lib/memoize.ts'
import {
  type AspUseRow,
  type AuthLogRow,
  aspUse,
  authLogAdd,
  authLogExpire,
  findLogByKey,
  hasExpiredLog,
  loginPut,
} from '#store/accounts/credentials.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import type { Settings } from '#store/folder/settings.ts'
import type { Writer } from '#store/writer/writer.ts'

/** Who made a call that changed something, as far as a log tells it: nothing of a token but its id and its label. */
export interface Actor {
  readonly role: string
  /** Account whose token it was. */
  readonly user?: string | undefined
  /** Id of the token, as lists of tokens and of sessions have it. */
  readonly token?: string | undefined
  readonly label?: string | undefined
  /** From where an operator or another service called; a user's own is `ip` of the event. */
  readonly ip?: string | undefined
}

export interface AuthEvent {
  /** `authentication`, `create asp`, ... (api-semantics 2.8). */
  readonly action: string
  readonly result?: 'success' | 'fail' | 'disabled' | 'suspended' | 'ratelimited' | undefined
  readonly protocol?: string | undefined
  readonly ip?: string | undefined
  readonly sess?: string | undefined
  readonly source?: 'master' | 'temporary' | 'asp' | undefined
  readonly requiredScope?: string | undefined
  readonly require2fa?: string | undefined
  /** Id and description of an application password. */
  readonly asp?: string | undefined
  readonly aname?: string | undefined
  readonly temporary?: boolean | undefined
  readonly target?: string | undefined
  readonly filter?: string | undefined
  readonly credential?: string | undefined
  readonly appId?: string | undefined
  readonly by?: Actor | undefined
}

/** An entry that takes further events. */
interface Open {
  readonly id: string
  readonly key: string
  readonly created: number
}

export class AuthLog {
  readonly #read: Reader
  readonly #writer: Writer
  readonly #settings: Settings
  readonly #log: Log
  readonly #unwritten: RecurringLine
  readonly #journal: Journal
  /** User and key -> the entry that takes further events of the kind. */
  readonly #known = new Map<string, Open>()
  /** Account -> entries that refused attempts made, and since when. */
  readonly #strange = new Map<number, { readonly since: number; entries: number }>()
  #entries = new Map<string, AuthLogRow>()
  #uses = new Map<string, AspUseRow>()
  #logins = new Map<number, number>()
  /** Account -> when its last login was written down. */
  readonly #entered = new Map<number, number>()
  /** Events dropped because the disk does not keep up. */
  #lost = 0
  #timer: Timer | undefined
  #writing: Promise<void> | undefined
  readonly #sweeper: Timer

  constructor(read: Reader, writer: Writer, settings: Settings, log: Log, journal: Journal) {
    this.#read = read
    this.#writer = writer
    this.#settings = settings
    this.#log = log
    this.#unwritten = new RecurringLine(log, 'warn', 'entries of the authentication log are lost')
    this.#journal = journal
    this.#sweeper = every(limits.authLog.sweepMs, () => void this.sweep())
  }

  /** Adds an event of the account with this number; gives the id of its entry, or null where none are kept. */
  async add(user: number, event: AuthEvent): Promise<string | null> {
    this.#tell(event)
    const keepMs = this.#settings.get('const:authlog:time')
    if (keepMs <= 0) return null
    const at = now()
    let told = event
    let entry = await this.#entry(user, told, at)
    if (entry === undefined) {
      told = { ...event, ip: undefined, sess: undefined, appId: undefined }
      entry = await this.#entry(user, told, at)
    }
    if (entry === undefined) return null
    this.#gather(user, entry, told, at, keepMs)
    return entry.id
  }

  /** The entry that takes an event, made where there is none; undefined where strangers have made as many as they may. */
  async #entry(user: number, event: AuthEvent, at: number): Promise<Open | undefined> {
    const parts = partsOf(event)
    const name = `${user}:${parts}`
    const since = at - limits.authLog.mergeMs
    let entry = this.#known.get(name)
    if (entry === undefined || entry.created <= since) {
      const key = createHash('md5').update(parts).digest('base64')
      const found = await findLogByKey(this.#read, user, key, since)
      // Another event of the kind may have come meanwhile.
      const other = this.#known.get(name)
      const fresh = other !== undefined && other.created > since
      if (!fresh && found === undefined && !this.#mayBegin(user, event, at)) return undefined
      entry = fresh ? other : { key, ...(found ?? { id: newId(), created: at }) }
    }
    this.#known.delete(name)
    remember(this.#known, name, entry, limits.authLog.rememberedMax)
    return entry
  }

  /** Addresses cost a stranger nothing, a /64 has more of them than any disk has room: so many entries are theirs. */
  #mayBegin(user: number, { result, ip = '' }: AuthEvent, at: number): boolean {
    if ((result !== 'fail' && result !== 'ratelimited') || ip === '') return true
    const { mergeMs, strangeEntriesMax, rememberedMax } = limits.authLog
    const before = this.#strange.get(user)
    const begun = before === undefined || before.since <= at - mergeMs ? { since: at, entries: 0 } : before
    if (begun.entries >= strangeEntriesMax) return false
    begun.entries += 1
    this.#strange.delete(user)
    remember(this.#strange, user, begun, rememberedMax)
    return true
  }

  /** Adds what a call changed in an account. */
  async addAll(user: number, events: readonly Pick<AuthEvent, 'action' | 'target'>[], behind: Partial<AuthEvent>) {
    for (const event of events) await this.add(user, { result: 'success', ...behind, ...event })
  }

  /** A second factor that was wrong is a failed login; of wrong passwords Authentication tells, which knows more. */
  #tell({ action, result, protocol = '', ip = '', sess }: AuthEvent): void {
    if (!action.startsWith('check ') || (result !== 'fail' && result !== 'ratelimited')) return
    const code = result === 'fail' ? 'FactorFailed' : 'RateLimitedError'
    const about = { protocol: cut(protocol), action, result: code, ...(sess && { session: cut(sess) }) }
    this.#journal.note('login-failed', ip, about, 'login failed')
  }

  /** The account was entered just now. */
  entered(user: number): void {
    const at = now()
    if (at - (this.#entered.get(user) ?? 0) < limits.authLog.loginMs) return
    this.#entered.delete(user)
    remember(this.#entered, user, at, limits.authLog.rememberedMax)
    this.#logins.set(user, at)
    this.#later()
  }

  /** An application password was used just now. */
  used(row: AspUseRow): void {
    this.#uses.set(row.asp, row)
    this.#later()
  }

  /** Resolves when everything added so far is on disk, or was refused by it. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
    if (this.#pending > 0) {
      this.#begin()
      await this.#writing
    }
  }

  /** Removes the entries whose time is over, a bounded number at a time. Runs by itself. */
  async sweep(): Promise<void> {
    const at = now()
    try {
      do {
        const operations: Operation[] = [operation(authLogExpire, { at, count: limits.authLog.sweepRowsMax })]
        await this.#writer.submit({ partition: 0, epoch: 0, operations, bytes: 100, background: true })
      } while (await hasExpiredLog(this.#read, at))
    } catch (error) {
      this.#log.warn({ error }, 'old log entries could not be removed')
    }
  }

  async close(): Promise<void> {
    this.#sweeper.cancel()
    this.#timer?.cancel()
    await this.flush()
  }

  get #pending(): number {
    return this.#entries.size + this.#uses.size + this.#logins.size
  }

  #gather(user: number, { id, key, created }: Open, event: AuthEvent, at: number, keepMs: number): void {
    const waiting = this.#entries.get(id)
    if (waiting !== undefined) {
      waiting.events += 1
      waiting.last = at
      return
    }
    if (this.#entries.size >= 2 * limits.authLog.pendingMax) {
      this.#lost += 1
      return
    }
    const { action, ip = '', ...more } = event
    const row = { id, user, key, action, ip, created, last: at, expires: created + keepMs, events: 1 }
    this.#entries.set(id, { ...row, body: JSON.stringify(more) })
    this.#later()
  }

  #later(): void {
    if (this.#writing !== undefined) return
    if (this.#pending >= limits.authLog.pendingMax) this.#begin()
    else this.#timer ??= after(limits.authLog.gatherMs, () => this.#begin())
  }

  #begin(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#writing !== undefined || this.#pending === 0) return
    const operations: Operation[] = []
    for (const row of this.#entries.values()) operations.push(operation(authLogAdd, row))
    for (const row of this.#uses.values()) operations.push(operation(aspUse, row))
    for (const [user, at] of this.#logins) operations.push(operation(loginPut, { user, at }))
    if (this.#lost > 0) this.#log.warn({ lost: this.#lost }, 'events of the authentication log are lost')
    this.#lost = 0
    this.#entries = new Map()
    this.#uses = new Map()
    this.#logins = new Map()
    const unit = { partition: 0, epoch: 0, operations, bytes: 300 * operations.length, background: true }
    this.#writing = this.#writer
      .submit(unit)
      .catch(error => this.#unwritten.met({ error }))
      .finally(() => {
        this.#writing = undefined
        if (this.#pending > 0) this.#later()
      })
  }
}

/** What two events share that are one entry. */
function partsOf(event: AuthEvent): string {
  const { protocol, ip, action, result, target, source, requiredScope, asp, credential, filter, by } = event
  const who = by && JSON.stringify(by)
  return [protocol, ip, action, result, target, source, requiredScope, asp, credential, filter, who].join('\n')
}
