// Long reads by name: what the thread of workers/query.ts does, as functions. Nothing here runs on the main loop.
//
// A call may be refused (Overloaded) or given up (TimedOut), and accounts take turns. Encrypting is here as well: it takes
// as long as a search does and needs nothing of the writer.

import type { KeyFacts } from '#mail/encrypt.ts'
import type { SmimeOptions } from '#mail/smime.ts'
import type { Address, AddressListTask, AddressPage } from './directory.ts'
import type { ScanTask } from './scan.ts'
import type { SearchAnswer, SearchTask } from './search.ts'
import type { IndexedText } from './search-index.ts'
import type { ListedUser, UserListTask, UserPage } from './users.ts'

export interface ReadOptions {
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined
  /** Id of the account: accounts take turns. */
  readonly lane?: string
}

export interface Reads {
  /** One page of what fits. */
  search(task: SearchTask, options?: ReadOptions): Promise<SearchAnswer>
  /** Numbers of all messages that fit, rising. */
  searchEvery(task: Pick<SearchTask, 'user' | 'query'>, options?: ReadOptions): Promise<number[]>
  /** How many threads have messages in a folder. */
  countThreads(task: { mailbox: number; unseen: boolean }, options?: ReadOptions): Promise<number>
  /** What is to be indexed of bodies, in their order. */
  texts(bodies: readonly number[], options?: ReadOptions): Promise<IndexedText[]>
  /** For each message, a bit for each needle that was found. */
  scan(task: ScanTask, options?: ReadOptions): Promise<number[]>
  /** Accounts of a filtered list. */
  listUsers(task: UserListTask, options?: ReadOptions): Promise<ListedUser[]>
  countUsers(page: UserPage, options?: ReadOptions): Promise<number>
  /** Addresses of a filtered list. */
  listAddresses(task: AddressListTask, options?: ReadOptions): Promise<Address[]>
  countAddresses(page: AddressPage, options?: ReadOptions): Promise<number>
  /** Whom an OpenPGP key belongs to; null where it is no public key that can encrypt. */
  inspectKey(task: { key: string }, options?: ReadOptions): Promise<KeyFacts | null>
  /** A message encrypted; null where no key can be used. */
  encrypt(task: EncryptTask, options?: ReadOptions): Promise<Uint8Array | null>
}

export interface EncryptTask {
  readonly message: Uint8Array
  readonly keys: EncryptKeys
}

/** With what an account has its mail encrypted; S/MIME goes before OpenPGP (wire-details 9). */
export interface EncryptKeys {
  readonly pubKey?: string | undefined
  readonly smime?: SmimeOptions | undefined
}

/** @param run hands a task to the thread, by name; it may refuse with Overloaded or TimedOut */
export function makeReads(run: (name: string, input: unknown, options?: ReadOptions) => Promise<unknown>): Reads {
  return {
    search: (task, options) => run('search', task, options) as Promise<SearchAnswer>,
    searchEvery: (task, options) => run('searchEvery', task, options) as Promise<number[]>,
    countThreads: (task, options) => run('countThreads', task, options) as Promise<number>,
    texts: (bodies, options) => run('texts', bodies, options) as Promise<IndexedText[]>,
    scan: (task, options) => run('scan', task, options) as Promise<number[]>,
    listUsers: (task, options) => run('listUsers', task, options) as Promise<ListedUser[]>,
    countUsers: (page, options) => run('countUsers', page, options) as Promise<number>,
    listAddresses: (task, options) => run('listAddresses', task, options) as Promise<Address[]>,
    countAddresses: (page, options) => run('countAddresses', page, options) as Promise<number>,
    inspectKey: (task, options) => run('inspectKey', task, options) as Promise<KeyFacts | null>,
    encrypt: (task, options) => run('encrypt', task, options) as Promise<Uint8Array | null>,
  }
}
