// How filters are shown over HTTP: the shapes of the documentation and the values that fit them.
//
// A filter is shown twice, as pairs of texts for people and as it was given for programs (wire-shapes, Filters). Nothing
// here reads what a caller sends: that is filter-form.ts's.

import { Type } from 'typebox'
import { maskUrl } from '#lib/secret/url-secret.ts'
import type { FilterAction } from '#mail/filter/filter.ts'
import type { Reader } from '#store/engine/reader.ts'
import { listMailboxes } from '#store/mailboxes/mailboxes.ts'
import type { Filter } from '#store/rules/filter.ts'
import { id, moment } from '../../schema.ts'
import { shownAction, shownQuery } from './filter-form.ts'

export const filterId = id({ description: 'Id of the filter' })

/** For the documentation. */
export const free = Type.Object({}, { additionalProperties: true, description: 'Free data' })

export const queryShape = Type.Object({
  from: Type.Optional(Type.String()),
  to: Type.Optional(Type.String()),
  subject: Type.Optional(Type.String()),
  listId: Type.Optional(Type.String()),
  text: Type.Optional(Type.String()),
  ha: Type.Optional(Type.Boolean()),
  size: Type.Optional(Type.Number()),
})
export const actionShape = Type.Object({
  seen: Type.Optional(Type.Boolean()),
  flag: Type.Optional(Type.Boolean()),
  delete: Type.Optional(Type.Boolean()),
  spam: Type.Optional(Type.Boolean()),
  mailbox: Type.Optional(Type.String()),
  targets: Type.Optional(Type.Array(Type.String())),
})
export const offenceShape = Type.Optional(
  Type.Object(
    { count: Type.Integer(), last: moment, pattern: Type.String() },
    { description: 'Expressions of the filter took too long so many times, the last time then' },
  ),
)
/** One filter of a list. */
export const listed = {
  id: filterId,
  name: Type.Optional(Type.String()),
  query: Type.Array(Type.Array(Type.Union([Type.String(), Type.Number()]))),
  action: Type.Array(Type.Array(Type.String())),
  originalQuery: queryShape,
  originalAction: actionShape,
  disabled: Type.Boolean(),
  created: moment,
  metaData: Type.Optional(free),
  offences: offenceShape,
}

/** Without the keys that say "none". */
export function cleaned(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(fields).filter(([, value]) => {
    return value !== null && value !== '' && value !== 0 && !(Array.isArray(value) && value.length === 0)
  })
  return Object.fromEntries(entries)
}

/** Paths of an account's folders by id. */
export async function pathsOf(read: Reader, user: number): Promise<ReadonlyMap<string, string>> {
  return new Map((await listMailboxes(read, user)).map(one => [one.id, one.path]))
}

export function listedFilter(filter: Filter, paths: ReadonlyMap<string, string>, withMeta: boolean) {
  return {
    id: filter.id,
    ...(filter.name !== null && { name: filter.name }),
    query: shownQuery(filter.query),
    action: shownAction(filter.action, paths),
    originalQuery: filter.query,
    originalAction: maskedAction(filter.action),
    disabled: filter.disabled,
    created: iso(filter.created),
    ...(withMeta && { metaData: filter.metaData ?? {} }),
    ...offencesOf(filter),
  }
}

/** An action as it may be shown: without the passwords of its targets. */
export function maskedAction(action: FilterAction): FilterAction {
  return action.targets === undefined ? action : { ...action, targets: action.targets.map(maskUrl) }
}

export function offencesOf({ offences }: Filter) {
  return offences === null ? {} : { offences: { ...offences, last: iso(offences.last) } }
}

export function iso(at: number): string {
  return new Date(at).toISOString()
}
