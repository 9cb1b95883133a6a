// The thread for long reads (searching, decoding text for the index) and for encrypting what is stored.
//
// It has a read-only handle of its own, opened with the first task, and holds nothing that is worth keeping: past its
// deadline it is killed and replaced.

import { workerData } from 'node:worker_threads'
import { answering } from '../src/lib/task.ts'
import { encryptMessage, inspectKey as inspect } from '../src/mail/encrypt.ts'
import { encryptSmime } from '../src/mail/smime.ts'
import { BodyFiles } from '../src/store/bodies-files.ts'
import { readBody } from '../src/store/bodies-read.ts'
import { type AddressListTask, type AddressPage, countAllAddresses, listAllAddresses } from '../src/store/directory.ts'
import { countFolderThreads } from '../src/store/messages.ts'
import { databaseFile } from '../src/store/place.ts'
import { Reader } from '../src/store/reader.ts'
import type { EncryptTask } from '../src/store/reads.ts'
import { type ScanTask, scanTexts } from '../src/store/scan.ts'
import { SearchCache, type SearchTask, searchAll, searchMessages } from '../src/store/search.ts'
import { indexTexts, type SearchScope } from '../src/store/search-index.ts'
import {
  countUsers as countUsersIn,
  listUsers as listUsersIn,
  type UserListTask,
  type UserPage,
} from '../src/store/users.ts'

type ScanScope = Parameters<typeof scanTexts>[1]

const { dataDir } = workerData as { dataDir: string }
const cache = new SearchCache()
let opened: (SearchScope & ScanScope) | undefined

function scope(): SearchScope & ScanScope {
  if (opened === undefined) {
    const read = Reader.open(databaseFile(dataDir))
    const files = new BodyFiles(dataDir)
    opened = { read, open: body => readBody(read, files, body) }
  }
  return opened
}

/** Answers once the thread is up. */
export const ready = (): boolean => true

export const search = answering((task: SearchTask) => searchMessages(scope(), cache, task))

export const searchEvery = answering((task: Parameters<typeof searchAll>[1]) => searchAll(scope(), task))

export const countThreads = answering(({ mailbox, unseen }: { mailbox: number; unseen: boolean }) =>
  countFolderThreads(scope().read, mailbox, unseen),
)

export const texts = answering((bodies: readonly number[]) => indexTexts(scope(), bodies))

export const scan = answering((task: ScanTask) => scanTexts(scope().read, scope(), task))

export const listUsers = answering((task: UserListTask) => listUsersIn(scope().read, task))

export const countUsers = answering((page: UserPage) => countUsersIn(scope().read, page))

export const listAddresses = answering((task: AddressListTask) => listAllAddresses(scope().read, task))

export const countAddresses = answering((page: AddressPage) => countAllAddresses(scope().read, page))

export const inspectKey = answering(({ key }: { key: string }) => inspect(key))

export const encrypt = answering(({ message, keys: { pubKey, smime } }: EncryptTask) => {
  const plain = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  const sealed = smime === undefined ? null : encryptSmime(plain, smime)
  return sealed ?? (pubKey === undefined ? null : encryptMessage(plain, pubKey))
})
