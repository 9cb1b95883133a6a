// What happens in the account while its page is open, by the service's event stream: counts, flags, what comes and goes.
//
// Whoever comes back after a break says what was heard last, so nothing is missed; where that is too much to be told one by one everything is
// loaded anew. A browser comes back by itself where nobody answered; where something else answered for the service, we do. Two windows hear
// the same.

import { refreshSession, session } from '../base/session.ts'
import { doOwed } from './owed/doing.ts'
import {
  conversationsBeside,
  folderOf,
  folders,
  forgetFolder,
  forgetLists,
  isOffline,
  listsOf,
  loadFolders,
  setCounters,
  user,
} from './store.ts'

interface Told {
  readonly command: string
  readonly mailbox?: string
  readonly uid?: number
  readonly flags?: readonly string[]
  readonly total?: number
  readonly unseen?: number
}

/** What is heard now, and of whom. */
let heard: { readonly source: EventSource; readonly of: string } | undefined
/** Id of what was heard last. */
let last = ''
const againMs = 5000
let leaving: ReturnType<typeof setTimeout> | undefined
/** Who follows: a page that goes may be noticed after the one that came. */
const followers = new Set<symbol>()
/** Whoever goes to another folder is back at once. */
const lingerMs = 1000

/** Whose account was followed before, so that more is shown than is being loaded now. */
let before = ''

/** Follows the account until the function it gives is called; what was missed before is loaded. @param since what is known was read after this event */
export function follow(since = ''): () => void {
  const follower = Symbol()
  followers.add(follower)
  clearTimeout(leaving)
  if (heard?.of !== user() || heard.source.readyState === EventSource.CLOSED) {
    heard?.source.close()
    const isFirst = before !== user()
    before = user()
    last = isFirst ? since : ''
    heard = { source: listen(), of: before }
    if (!isFirst && folders.value !== null) again()
  }
  return () => {
    followers.delete(follower)
    if (followers.size > 0) return
    clearTimeout(leaving)
    leaving = setTimeout(() => {
      heard?.source.close()
      heard = undefined
    }, lingerMs)
  }
}

function listen(): EventSource {
  const since = last === '' ? '' : `?${new URLSearchParams({ 'Last-Event-ID': last })}`
  const source = new EventSource(`/users/${user()}/updates${since}`)
  source.addEventListener('message', event => {
    last = event.lastEventId || last
    hear(JSON.parse(event.data) as Told)
  })
  // Named by the service; the browser's own have no data.
  source.addEventListener('error', event => {
    if (event instanceof MessageEvent) {
      last = event.lastEventId || last
      again()
    } else {
      isOffline.value = !navigator.onLine || source.readyState !== EventSource.OPEN
      if (source.readyState === EventSource.CLOSED) void comeBack(source)
    }
  })
  source.addEventListener('open', () => {
    // What happened between the loading of everything and now was told to nobody.
    if (isOffline.value || last === '') again()
    isOffline.value = false
    doOwed()
  })
  return source
}

/** The session may have ended, or a proxy have answered. */
async function comeBack(from: EventSource): Promise<void> {
  await refreshSession().catch(() => {})
  setTimeout(() => {
    if (heard?.source !== from || session.value?.user?.id !== heard.of) return
    heard = { source: listen(), of: heard.of }
  }, againMs)
}

function again(): void {
  loadFolders().catch(() => {})
  forgetLists()
}

function hear({ command, mailbox = '', uid = 0, flags = [], total = 0, unseen = 0 }: Told): void {
  if (command === 'COUNTERS') setCounters(mailbox, { total, unseen })
  else if (command === 'FETCH') {
    const has = (flag: string) => flags.includes(flag)
    const change = {
      ...{ seen: has('\\Seen'), flagged: has('\\Flagged'), answered: has('\\Answered'), draft: has('\\Draft') },
      forwarded: has('$Forwarded'),
    }
    for (const list of listsOf(mailbox)) list.patch(mailbox, new Set([uid]), change)
    for (const list of conversationsBeside(mailbox)) list.refresh()
  } else if (command === 'EXISTS' || command === 'EXPUNGE') {
    for (const list of [...listsOf(mailbox), ...conversationsBeside(mailbox)]) list.refresh()
    if (folders.value !== null && folderOf(mailbox) === undefined) loadFolders().catch(() => {})
  } else if (command === 'DELETE') forgetFolder(mailbox)
  else if (command === 'CREATE' || command === 'RENAME') loadFolders().catch(() => {})
}
