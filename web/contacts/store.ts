// The contacts that are shown: those that a search and a group leave, by name, a page at a time as somebody scrolls on.
//
// A question that was asked later wins; what is changed is asked for anew from the start.

import { signal } from '@preact/signals'
import { call, type Reply } from '../base/client.ts'
import { failed } from '../base/notice.tsx'
import { owner } from '../base/session.ts'

export type Contact = Reply<'GET /users/:user/contacts'>['results'][number]
export type Group = Reply<'GET /users/:user/contactgroups'>['results'][number]

const pageContacts = 100

export const contacts = signal<readonly Contact[] | null>(null)
export const total = signal(0)
export const groups = signal<readonly Group[]>([])
export const query = signal('')
export const group = signal('')
/** Ids of those that are selected. */
export const selected = signal<ReadonlySet<string>>(new Set())

let next: string | false = false
let asked = 0

export const user = (): string => owner().id

async function page(after: string | undefined): Promise<Reply<'GET /users/:user/contacts'>> {
  const words = { ...(query.value !== '' && { query: query.value }), ...(group.value !== '' && { group: group.value }) }
  const at = after === undefined ? {} : { next: after }
  return call('GET /users/:user/contacts', {
    params: { user: user() },
    query: { ...words, ...at, limit: pageContacts },
  })
}

/** Everything from the start. */
export async function load(): Promise<void> {
  asked += 1
  const mine = asked
  try {
    const [found, known] = await Promise.all([
      page(undefined),
      call('GET /users/:user/contactgroups', { params: { user: user() } }),
    ])
    if (mine !== asked) return
    next = found.nextCursor
    contacts.value = found.results
    total.value = found.total
    groups.value = known.results
    selected.value = new Set([...selected.value].filter(id => found.results.some(one => one.id === id)))
  } catch (error) {
    failed(error)
  }
}

let isLoading = false

/** The next page, where there is one. */
export async function more(): Promise<void> {
  if (next === false || isLoading) return
  isLoading = true
  const mine = asked
  try {
    const found = await page(next)
    if (mine !== asked) return
    next = found.nextCursor
    contacts.value = [...(contacts.value ?? []), ...found.results]
  } catch (error) {
    failed(error)
  } finally {
    isLoading = false
  }
}
