// The thread for long reads: searching, sorting and threading, decoding text for the index.
//
// Tasks of several accounts share it in slices, and each ends when nobody waits for it any more. It has a read-only handle
// of its own, opened at its start, and holds nothing that is worth keeping: one that does not end past its deadline
// takes the thread with it. It runs at a lower priority than what answers and delivers: where processors are few, who sorts
// a large folder takes none of them from the others.

import { limits } from '../src/lib/limits.ts'
import { Permits } from '../src/lib/pace.ts'
import { standBack } from '../src/lib/process/polite.ts'
import { serve, sharing, threadEnd } from '../src/lib/process/serve.ts'
import { type AddressListTask, pageAddresses } from '../src/store/accounts/address.ts'
import { pageUsers, type UserListTask } from '../src/store/accounts/users.ts'
import { BodyFiles } from '../src/store/bodies/files.ts'
import { openObjects } from '../src/store/bodies/objects/parts.ts'
import { readBody } from '../src/store/bodies/read.ts'
import { type DomainListTask, pageDomains } from '../src/store/domains/domain-list.ts'
import { openDatabase } from '../src/store/engine/open.ts'
import { databaseOf, type Place } from '../src/store/folder/place.ts'
import { type RowAt, rowAt } from '../src/store/mailboxes/messages.ts'
import { type SortTask, sortMessages, type ThreadTask, threadMessages } from '../src/store/search/arrange.ts'
import { SearchCache } from '../src/store/search/cache.ts'
import { type CandidateTask, candidateUids } from '../src/store/search/candidates.ts'
import { Conversations, type ConversationTask } from '../src/store/search/conversations.ts'
import { type ScanTask, scanTexts } from '../src/store/search/scan.ts'
import { type SearchTask, searchAll, searchMessages } from '../src/store/search/search.ts'
import { indexTexts, type SearchScope } from '../src/store/search/texts.ts'

standBack()

const end = threadEnd<Place>()
let cache: SearchCache
let conversations: Conversations
let opened: SearchScope

function open(place: Place): void {
  const read = openDatabase(databaseOf(place))
  const files = new BodyFiles(place.dataDir, openObjects(place))
  opened = { read, open: body => readBody(read, files, body) }
  cache = new SearchCache()
  conversations = new Conversations()
}

/** Those that take much memory. */
const arranging = new Permits(limits.search.arrangedMax)

serve(
  {
    search: sharing((task: SearchTask, slices) => searchMessages(opened, cache, task, slices)),
    searchEvery: sharing((task: Parameters<typeof searchAll>[2], slices) => searchAll(opened, cache, task, slices)),
    conversations: sharing((task: ConversationTask) => conversations.page(opened.read, task)),
    rowAt: sharing((task: RowAt) => rowAt(opened.read, task)),
    texts: sharing((bodies: readonly number[], slices) => indexTexts(opened, bodies, slices)),
    candidates: sharing((task: CandidateTask, slices) => candidateUids(opened, task, slices)),
    scan: sharing((task: ScanTask, slices) => scanTexts(opened, cache, task, slices)),
    sort: sharing((task: SortTask, slices) => arranging.with(slices, () => sortMessages(opened.read, task, slices))),
    thread: sharing((task: ThreadTask, slices) =>
      arranging.with(slices, () => threadMessages(opened.read, task, slices)),
    ),
    listUsers: sharing((task: UserListTask) => pageUsers(opened.read, task)),
    listDomains: sharing((task: DomainListTask) => pageDomains(opened.read, task)),
    listAddresses: sharing((task: AddressListTask) => pageAddresses(opened.read, task)),
    // It may be left to another service (src/pool/spares.ts).
    enter: open,
    leave: () => opened.read.close(),
  },
  { end, open: () => open(end.given) },
)
