// Where lists get their rows from: a folder, letter by letter or by conversations; one conversation; what a search finds.
//
// Each is jumped into by the number of a row. A search that is still typed is content with what is found in a moment.

import { signal } from '@preact/signals'
import { local } from '../../base/browser.ts'
import { call } from '../../base/client.ts'
import type { Folder, Row } from '../store.ts'

export interface Found {
  readonly total: number
  readonly rows: readonly Row[]
  /** There may be more, which were not looked for yet. */
  readonly isPartial?: boolean
}

/** @param isQuick what is found in a moment will do */
export type Source = (first: number, limit: number, signal: AbortSignal, isQuick: boolean) => Promise<Found>

const kept = 'teal.mail.conversations'

/** Whether folders are listed by conversations. */
export const byConversation = signal(local.get(kept) !== 'no')

export function setByConversation(is: boolean): void {
  byConversation.value = is
  local.set(kept, is ? 'yes' : 'no')
}

/** What a list is of. */
export interface ListOf {
  readonly folder: string
  readonly q: string
  /** Id of a conversation. */
  readonly thread: string
}

export function fromFolder(user: string, mailbox: string): Source {
  return async (first, limit, signal) => {
    const query = { limit, skip: first, threadCounters: true, collapseThreads: byConversation.value }
    const params = { user, mailbox }
    const { total, results } = await call('GET /users/:user/mailboxes/:mailbox/messages', { params, query, signal })
    return { total, rows: results }
  }
}

export function fromSearch(user: string, of: ListOf, folder: Folder | undefined): Source {
  const asked = criteria(of, folder)
  return async (first, limit, signal, isQuick) => {
    const query = { ...asked, limit, order: 'desc' as const, skip: first, ...(isQuick && { quick: true }) }
    const answer = await call('GET /users/:user/search', { params: { user }, query, signal })
    return { total: answer.total, rows: answer.results, isPartial: answer.complete === false }
  }
}

/** The search that finds what such a list has. Of a conversation what lies in Junk and Trash is left out, unless that is where one is. */
export function criteria({ folder, q, thread }: ListOf, shown: Folder | undefined) {
  if (thread !== '') {
    const isAside = shown?.specialUse === '\\Junk' || shown?.specialUse === '\\Trash'
    return { q: `thread:${thread} ${isAside ? `(mailbox:${folder} OR searchable:yes)` : 'searchable:yes'}` }
  }
  return q === '' ? { mailbox: [folder] } : { q, useAndSearch: true }
}
