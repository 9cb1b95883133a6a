// Long reads by name: what the thread of workers/query.ts does, as functions. Nothing here runs on the main loop.
//
// A call may be refused (Overloaded, TooManyReads) or given up (TimedOut). It goes in slices, and accounts take turns with
// theirs; one that nobody waits for any more ends. Encrypting is here as well and has a thread of its own (workers/seal.ts).

import type { KeyFacts } from '#mail/crypt/encrypt.ts'
import type { EncryptTask } from '#mail/crypt/sealing.ts'
import type { Bounce } from '#mail/report/bounce.ts'
import type { Address, AddressListTask } from '../accounts/address.ts'
import type { ListedUser, UserListTask } from '../accounts/users.ts'
import type { DomainListTask, ListedDomain } from '../domains/domain-list.ts'
import type { MessageBoundary, RowAt } from '../mailboxes/messages.ts'
import type { SortTask, ThreadTask } from '../search/arrange.ts'
import type { CandidateTask } from '../search/candidates.ts'
import type { ConversationPage, ConversationTask } from '../search/conversations.ts'
import type { ScanTask } from '../search/scan.ts'
import type { SearchAnswer, SearchTask } from '../search/search.ts'
import type { IndexedText } from '../search/texts.ts'
import type { Counted } from './counted.ts'

export interface ReadOptions {
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined
  /** Id of the account: accounts take turns. */
  readonly turnKey?: string
  /** Time it may take where that is not limits.pool.readMs. */
  readonly deadlineMs?: number
}

export interface Reads {
  /** One page of what fits. */
  search(task: SearchTask, options?: ReadOptions): Promise<SearchAnswer>
  /** Numbers of all messages that fit, rising. */
  searchEvery(task: Pick<SearchTask, 'user' | 'query'>, options?: ReadOptions): Promise<number[]>
  /** One page of the conversations of a folder, with how many there are. */
  conversations(task: ConversationTask, options?: ReadOptions): Promise<ConversationPage>
  /** Where the row of this number of a folder's list is; null where the list is shorter. */
  rowAt(task: RowAt, options?: ReadOptions): Promise<MessageBoundary | null>
  /** What is to be indexed of bodies, in their order. */
  texts(bodies: readonly number[], options?: ReadOptions): Promise<IndexedText[]>
  /** Uids of a folder that a query may fit, rising; null where it may be any. */
  candidates(task: CandidateTask, options?: ReadOptions): Promise<Uint32Array | null>
  /** For each of the first messages, as many as were looked at in some time, a bit for each leaf that holds. */
  scan(task: ScanTask, options?: ReadOptions): Promise<number[]>
  /** Places in `uids`, in order; messages that went are left out. */
  sort(task: SortTask, options?: ReadOptions): Promise<Uint32Array>
  /** Threads of them, as mail/thread/threading.ts has it. */
  thread(task: ThreadTask, options?: ReadOptions): Promise<Int32Array>
  /** Accounts of a filtered list. */
  listUsers(task: UserListTask, options?: ReadOptions): Promise<Counted<ListedUser>>
  /** Addresses of a filtered list. */
  listAddresses(task: AddressListTask, options?: ReadOptions): Promise<Counted<Address>>
  /** Domains with what they hold. */
  listDomains(task: DomainListTask, options?: ReadOptions): Promise<Counted<ListedDomain>>
  /** Whom an OpenPGP key belongs to; null where it is no public key that can encrypt. */
  inspectKey(task: { key: string }, options?: ReadOptions): Promise<KeyFacts | null>
  /** A message encrypted; null where no key can be used. */
  encrypt(task: EncryptTask, options?: ReadOptions): Promise<Uint8Array | null>
  /** What mail that may have come back says, before it is encrypted; null where it is none. */
  bounce(task: { data: Uint8Array }, options?: ReadOptions): Promise<Bounce | null>
}

type Run = (name: string, input: unknown, options?: ReadOptions) => Promise<unknown>

/**
 * @param run hands a task to the thread for reads, by name; it may refuse with Overloaded or TimedOut
 * @param seal the same for the thread that encrypts
 */
export function makeReads(run: Run, seal: Run): Reads {
  return {
    search: (task, options) => run('search', task, options) as Promise<SearchAnswer>,
    searchEvery: (task, options) => run('searchEvery', task, options) as Promise<number[]>,
    conversations: (task, options) => run('conversations', task, options) as Promise<ConversationPage>,
    rowAt: (task, options) => run('rowAt', task, options) as Promise<MessageBoundary | null>,
    texts: (bodies, options) => run('texts', bodies, options) as Promise<IndexedText[]>,
    candidates: (task, options) => run('candidates', task, options) as Promise<Uint32Array | null>,
    scan: (task, options) => run('scan', task, options) as Promise<number[]>,
    sort: (task, options) => run('sort', task, options) as Promise<Uint32Array>,
    thread: (task, options) => run('thread', task, options) as Promise<Int32Array>,
    listUsers: (task, options) => run('listUsers', task, options) as Promise<Counted<ListedUser>>,
    listAddresses: (task, options) => run('listAddresses', task, options) as Promise<Counted<Address>>,
    listDomains: (task, options) => run('listDomains', task, options) as Promise<Counted<ListedDomain>>,
    inspectKey: (task, options) => seal('inspectKey', task, options) as Promise<KeyFacts | null>,
    encrypt: (task, options) => seal('encrypt', task, options) as Promise<Uint8Array | null>,
    bounce: (task, options) => seal('bounce', task, options) as Promise<Bounce | null>,
  }
}
