// What mail knows of the account while its page is open: folders with their counts, and the list that is shown.
//
// One place for all views, kept when the path changes. Changes come over the event stream (updates.ts) and are put in here.

import { effect, signal, untracked } from '@preact/signals'
import { call, type Reply } from '../base/client.ts'
import { keep, kept } from '../base/kept.ts'
import { shownName } from '../base/names.ts'
import { owner, session } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { MessageList } from './list/message-list.ts'
import { byConversation, fromFolder, fromSearch, type Source } from './list/sources.ts'
import { owed } from './owed/owed.ts'

export type Folder = Reply<'GET /users/:user/mailboxes'>['results'][number]
export type Row = Reply<'GET /users/:user/mailboxes/:mailbox/messages'>['results'][number]
export type Message = Reply<'GET /users/:user/mailboxes/:mailbox/messages/:message'>

/** Null until they were loaded. */
export const folders = signal<readonly Folder[] | null>(null)
/** Whether they are as the service has them, and not as they were kept. */
export const areFresh = signal(false)
/** Whether the service was last found not to answer. */
export const isOffline = signal(false)

export const user = (): string => owner().id
/** Whether it is still this account that is signed in, for who waited meanwhile. */
export const isStillUser = (id: string): boolean => session.value?.user?.id === id

interface Counters {
  readonly total: number
  readonly unseen: number
}

/** What was told of folders while they are being loaded, for each load: the answer may be older. */
const toldMeanwhile = new Set<Map<string, Counters>>()

export async function loadFolders(): Promise<void> {
  const told = new Map<string, Counters>()
  const of = user()
  toldMeanwhile.add(told)
  const { results } = await call('GET /users/:user/mailboxes', {
    params: { user: of },
    query: { counters: true },
  }).finally(() => toldMeanwhile.delete(told))
  if (!isStillUser(of)) return
  folders.value = results.map(folder => ({ ...folder, ...told.get(folder.id) }))
  areFresh.value = true
  keep(of, 'folders', results)
}

let opening: Promise<void> | undefined

/** Has folders to show: as they were kept, until the service has told them. @throws Refusal where there are neither */
export function openFolders(): Promise<void> {
  opening ??= open().finally(() => {
    opening = undefined
  })
  return opening
}

async function open(): Promise<void> {
  const asked = loadFolders()
  asked.catch(() => {})
  const known = folders.value === null ? await kept<Folder[]>(user(), 'folders') : undefined
  folders.value ??= known ?? null
  if (folders.value === null) await asked
}

export function folderOf(id: string): Folder | undefined {
  return folders.value?.find(folder => folder.id === id)
}

export function folderFor(use: string): Folder | undefined {
  return folders.value?.find(folder => folder.specialUse === use || (use === 'INBOX' && folder.path === 'INBOX'))
}

/** As people call it. */
export function folderName({ path, specialUse, name }: Folder): string {
  const { folderNames } = baseTexts.value
  const key = path === 'INBOX' ? path : specialUse || ''
  return folderNames[key as keyof typeof folderNames] ?? (shownName(name) || '…')
}

/** The same with the folders it lies in, where many stand beside each other. */
export function folderPath(folder: Folder): string {
  return folder.specialUse || folder.path === 'INBOX' ? folderName(folder) : shownName(folder.path) || '…'
}

export function setCounters(id: string, counters: Counters): void {
  for (const told of toldMeanwhile) told.set(id, counters)
  folders.value = folders.value?.map(folder => (folder.id === id ? { ...folder, ...counters } : folder)) ?? null
}

/** It is gone, here or elsewhere: nothing of it is asked for any more. */
export function forgetFolder(id: string): void {
  folders.value = folders.value?.filter(folder => folder.id !== id) ?? null
}

const lists = new Map<string, MessageList>()
const listsMax = 8

effect(() => {
  void owed.value
  untracked(() => {
    for (const list of lists.values()) list.show()
  })
})

/** The list of a folder, of a conversation, or of what a search finds; kept for when one comes back to it. */
export function listOf(folder: string, q: string, thread = ''): MessageList {
  const isFolder = q === '' && thread === ''
  const key = JSON.stringify([folder, q, thread, isFolder && byConversation.value])
  let list = lists.get(key)
  lists.delete(key)
  const of = { folder, q: thread === '' ? q : '', thread }
  const source = () => (isFolder ? fromShown(folder) : fromSearch(user(), of, folderOf(folder)))
  list ??= new MessageList(source(), of, q === '' ? `list ${key}` : '')
  lists.set(key, list)
  for (const old of [...lists.keys()].slice(0, Math.max(0, lists.size - listsMax))) lists.delete(old)
  return list
}

/** Lists that may show messages of a folder, to be told what happens in it. */
export function listsOf(folder: string): MessageList[] {
  return [...lists.values()].filter(({ of }) => of.folder === folder || of.q !== '' || of.thread !== '')
}

/** Lists of other folders by conversations, which may have letters in this one. */
export function conversationsBeside(folder: string): MessageList[] {
  if (!byConversation.value) return []
  return [...lists.values()].filter(({ of }) => of.folder !== folder && of.q === '' && of.thread === '')
}

/** Everything anew: what happened cannot be told one by one. */
export function forgetLists(): void {
  for (const list of lists.values()) list.refresh()
}

/** A folder as it was told of; nothing of one that is gone. */
function fromShown(mailbox: string): Source {
  const source = fromFolder(user(), mailbox)
  return async (...asked) => {
    if (areFresh.value && folderOf(mailbox) === undefined) return { total: 0, rows: [] }
    return source(...asked)
  }
}
