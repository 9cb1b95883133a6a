// The thread for long reads: searching, sorting and threading, decoding text for the index.
//
// Tasks of several accounts share it in slices, and each ends when nobody waits for it any more. It has a read-only handle
// of its own, opened with the first task, and holds nothing that is worth keeping: one that does not end past its deadline
// takes the thread with it.

import { workerData } from 'node:worker_threads'
import { limits } from '../src/lib/limits.ts'
import { Permits } from '../src/lib/pace.ts'
import { sharing } from '../src/lib/process/task.ts'
import {
  type AddressListTask,
  type AddressPage,
  countAllAddresses,
  listAllAddresses,
} from '../src/store/accounts/address.ts'
import {
  countUsers as countUsersIn,
  listUsers as listUsersIn,
  type UserListTask,
  type UserPage,
} from '../src/store/accounts/users.ts'
import { BodyFiles } from '../src/store/bodies/files.ts'
import { readBody } from '../src/store/bodies/read.ts'
import { Reader } from '../src/store/engine/reader.ts'
import { databaseFile } from '../src/store/folder/place.ts'
import { countFolderThreads } from '../src/store/mailboxes/messages.ts'
import { type SortTask, sortMessages, type ThreadTask, threadMessages } from '../src/store/search/arrange.ts'
import { SearchCache } from '../src/store/search/cache.ts'
import { type ScanTask, scanTexts } from '../src/store/search/scan.ts'
import { type SearchTask, searchAll, searchMessages } from '../src/store/search/search.ts'
import { indexTexts, type SearchScope } from '../src/store/search/texts.ts'

const { dataDir } = workerData as { dataDir: string }
const cache = new SearchCache()
let opened: SearchScope | undefined

function scope(): SearchScope {
  if (opened === undefined) {
    const read = Reader.open(databaseFile(dataDir))
    const files = new BodyFiles(dataDir)
    opened = { read, open: body => readBody(read, files, body) }
  }
  return opened
}

/** Those that take much memory. */
const arranging = new Permits(limits.search.arrangedMax)

/** Answers once the thread is up and has loaded what is native, which must not be cut off. */
export const ready = (): boolean => scope() !== undefined

export const search = sharing((task: SearchTask, slices) => searchMessages(scope(), cache, task, slices))

export const searchEvery = sharing((task: Parameters<typeof searchAll>[2], slices) =>
  searchAll(scope(), cache, task, slices),
)

export const countThreads = sharing(({ mailbox, unseen }: { mailbox: number; unseen: boolean }) =>
  countFolderThreads(scope().read, mailbox, unseen),
)

export const texts = sharing((bodies: readonly number[], slices) => indexTexts(scope(), bodies, slices))

export const scan = sharing((task: ScanTask, slices) => scanTexts(scope(), cache, task, slices))

export const sort = sharing((task: SortTask, slices) =>
  arranging.with(slices, () => sortMessages(scope().read, task, slices)),
)

export const thread = sharing((task: ThreadTask, slices) =>
  arranging.with(slices, () => threadMessages(scope().read, task, slices)),
)

export const listUsers = sharing((task: UserListTask) => listUsersIn(scope().read, task))

export const countUsers = sharing((page: UserPage) => countUsersIn(scope().read, page))

export const listAddresses = sharing((task: AddressListTask) => listAllAddresses(scope().read, task))

export const countAddresses = sharing((page: AddressPage) => countAllAddresses(scope().read, page))
