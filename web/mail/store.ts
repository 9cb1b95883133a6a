// What mail knows of the account while its page is open: folders with their counts, and the list that is shown.
//
// One place for all views, kept when the path changes. Changes come over the event stream (updates.ts) and are put in here.

import { signal } from '@preact/signals'
import { call, type Reply } from '../base/client.ts'
import { owner } from '../base/session.ts'
import { MessageList, type Page } from './list/message-list.ts'
import { mailTexts } from './texts/texts.ts'

export type Folder = Reply<'GET /users/:user/mailboxes'>['results'][number]
export type Row = Reply<'GET /users/:user/mailboxes/:mailbox/messages'>['results'][number]
export type Message = Reply<'GET /users/:user/mailboxes/:mailbox/messages/:message'>

/** Null until they were loaded. */
export const folders = signal<readonly Folder[] | null>(null)
/** Whether the service was last found not to answer. */
export const isOffline = signal(false)

export const user = (): string => owner().id

export async function loadFolders(): Promise<void> {
  const { results } = await call('GET /users/:user/mailboxes', { params: { user: user() }, query: { counters: true } })
  folders.value = results
}

export function folderOf(id: string): Folder | undefined {
  return folders.value?.find(folder => folder.id === id)
}

export function folderFor(use: string): Folder | undefined {
  return folders.value?.find(folder => folder.specialUse === use || (use === 'INBOX' && folder.path === 'INBOX'))
}

/** As people call it. */
export function folderName({ path, specialUse, name }: Folder): string {
  const { folderNames } = mailTexts.value
  const key = path === 'INBOX' ? path : specialUse || ''
  return folderNames[key as keyof typeof folderNames] ?? name
}

export function setCounters(id: string, counters: { total: number; unseen: number }): void {
  folders.value = folders.value?.map(folder => (folder.id === id ? { ...folder, ...counters } : folder)) ?? null
}

/** It is gone, here or elsewhere: nothing of it is asked for any more. */
export function forgetFolder(id: string): void {
  folders.value = folders.value?.filter(folder => folder.id !== id) ?? null
}

const lists = new Map<string, MessageList>()
const listsMax = 8

/** The list of a folder, or of what a search finds; kept for when one comes back to it. */
export function listOf(folder: string, query: string): MessageList {
  const key = `${folder} ${query}`
  let list = lists.get(key)
  lists.delete(key)
  list ??= new MessageList(query === '' ? byRow(folder) : bySearch(folder, query), query === '')
  lists.set(key, list)
  for (const old of [...lists.keys()].slice(0, Math.max(0, lists.size - listsMax))) lists.delete(old)
  return list
}

/** Lists that may show messages of a folder, to be told what happens in it. */
export function listsOf(folder: string): MessageList[] {
  return [...lists].filter(([key]) => key.startsWith(folder) || !key.endsWith(' ')).map(([, list]) => list)
}

/** Everything anew: what happened cannot be told one by one. */
export function forgetLists(): void {
  for (const list of lists.values()) list.refresh()
}

function byRow(mailbox: string): Page {
  return async (first, limit, signal) => {
    if (folders.value !== null && folderOf(mailbox) === undefined) return { total: 0, rows: [] }
    const query = { limit, skip: first, threadCounters: true }
    const params = { user: user(), mailbox }
    const { total, results } = await call('GET /users/:user/mailboxes/:mailbox/messages', { params, query, signal })
    return { total, rows: results }
  }
}

/** A search has no rows by number: its pages are gone through one after the other. */
function bySearch(_folder: string, q: string): Page {
  const cursors = new Map<number, string>()
  return async (first, limit, signal) => {
    for (let at = 0; ; at += limit) {
      const next = cursors.get(at)
      if (at > 0 && next === undefined) return { total: at, rows: [] }
      if (at < first && cursors.has(at + limit)) continue
      const query = { q, limit, threadCounters: true, ...(next !== undefined && { next }) }
      const answer = await call('GET /users/:user/search', { params: { user: user() }, query, signal })
      if (typeof answer.nextCursor === 'string') cursors.set(at + limit, answer.nextCursor)
      if (at >= first) return { total: answer.total, rows: answer.results }
    }
  }
}
