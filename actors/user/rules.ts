// Commands on filters and the autoreply of an account.
//
// Each change raises the account's `rules` number in the same unit, by which a delivery knows whether what it has compiled
// is still right. Values were checked before; what only the account can tell (limits, whether a mailbox is its own) is here.

import { Fault, invalid } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { keepSecrets, maskUrl } from '#lib/secret/url-secret.ts'
import type { FilterAction, FilterQuery } from '#mail/filter/filter.ts'
import { userUpdate } from '#store/accounts/users.ts'
import { type Autoreply, autoreplyDelete, autoreplyPut, findAutoreply } from '#store/rules/autoreply.ts'
import {
  countFilters,
  type Filter,
  filterDelete,
  filterInsert,
  filterUpdate,
  findFilter,
  listFilters,
  type Offences,
} from '#store/rules/filter.ts'
import { requireMailbox, requireUser, type UserCommand, type UserTurn } from './user.ts'

export interface NewFilter {
  readonly name: string | null
  readonly disabled: boolean
  readonly query: FilterQuery
  readonly action: FilterAction
  readonly metaData: Record<string, unknown> | undefined
}

/** Makes a filter behind those there are. @throws Fault TooMany, NoSuchMailbox */
export const createFilter: UserCommand<NewFilter, { id: string; targets: readonly string[] }> = {
  name: 'filter.create',
  async run(turn, input) {
    const user = requireUser(turn)
    const allowed = filtersAllowed(turn)
    if ((await countFilters(turn.read, user.num)) >= allowed) {
      throw new Fault('TooMany', { text: 'There are as many filters as there may be', extra: { allowed } })
    }
    if (input.action.mailbox !== undefined) requireMailbox(turn, input.action.mailbox)
    const num = turn.sequence.next('filter')
    const action = withSecrets(input.action, [])
    const filter: Filter = { ...input, action, num, id: newId(), user: user.num, offences: null, created: turn.now }
    turn.write(filterInsert, filter)
    changed(turn)
    turn.emit('filter.created', { user: user.id, filter: filter.id })
    return { id: filter.id, targets: tellTargets(turn, filter, []) }
  },
}

/** A key with an empty or null value is taken away, an absent one stays. */
export interface FilterChange {
  readonly id: string
  readonly name?: string | undefined
  readonly disabled?: boolean | undefined
  readonly query?: { readonly [Key in keyof FilterQuery]?: FilterQuery[Key] | null | '' } | undefined
  readonly action?: { readonly [Key in keyof FilterAction]?: FilterAction[Key] | null | '' } | undefined
  readonly metaData?: Record<string, unknown> | undefined
}

/** Changes what is given, and tells the targets that are new. @throws Fault FilterNotFound, NoSuchMailbox */
export const updateFilter: UserCommand<FilterChange, { targets: readonly string[] }> = {
  name: 'filter.update',
  async run(turn, input) {
    const user = requireUser(turn)
    const filter = await findFilter(turn.read, user.num, input.id)
    if (filter === undefined) throw new Fault('FilterNotFound')
    const { name, disabled, query, action, metaData } = input
    const before = filter.action.targets ?? []
    if (action?.mailbox) requireMailbox(turn, action.mailbox)
    if (name !== undefined && name !== '') filter.name = name
    if (metaData !== undefined) filter.metaData = metaData
    merge(filter.query, query)
    merge(filter.action, action && withSecrets(action, before))
    if (disabled !== undefined) filter.disabled = disabled
    // Whoever changes or enables it has seen what it did.
    if (disabled === false || query !== undefined) filter.offences = null
    turn.write(filterUpdate, filter)
    changed(turn)
    turn.emit('filter.updated', { user: user.id, filter: filter.id })
    return { targets: tellTargets(turn, filter, before) }
  },
}

/** Has filters tried in the order of these ids, which are all there are. @throws Fault InputValidationError */
export const orderFilters: UserCommand<{ ids: readonly string[] }, void> = {
  name: 'filter.order',
  async run(turn, { ids }) {
    const user = requireUser(turn)
    const before = await listFilters(turn.read, user.num)
    const known = new Map(before.map(filter => [filter.id, filter]))
    const isWhole = ids.length === known.size && new Set(ids).size === known.size && ids.every(id => known.has(id))
    if (!isWhole) throw invalid('filters', 'must name each filter of the user once')
    const ordered = ids.flatMap(id => known.get(id) ?? [])
    // They are evaluated by number: each takes the number of the one whose place it takes.
    const moved = ordered.flatMap((filter, at) => {
      const num = before[at]?.num ?? filter.num
      return num === filter.num ? [] : [{ ...filter, num }]
    })
    if (moved.length === 0) return
    for (const { num } of moved) turn.write(filterDelete, { num })
    for (const filter of moved) turn.write(filterInsert, filter)
    changed(turn)
    for (const { id } of moved) turn.emit('filter.updated', { user: user.id, filter: id })
  },
}

export const deleteFilter: UserCommand<{ id: string }, void> = {
  name: 'filter.delete',
  async run(turn, { id }) {
    const user = requireUser(turn)
    const filter = await findFilter(turn.read, user.num, id)
    if (filter === undefined) throw new Fault('FilterNotFound')
    dropFilter(turn, filter)
  },
}

/** In the turn that deletes a folder: filters that move there go with it (api-semantics 6.2). */
export async function dropFiltersTo(turn: UserTurn, mailbox: string): Promise<void> {
  if (turn.state.user?.options.rules === undefined) return
  for (const filter of await listFilters(turn.read, turn.state.num)) {
    if (filter.action.mailbox === mailbox) dropFilter(turn, filter)
  }
}

function dropFilter(turn: UserTurn, filter: Filter): void {
  turn.write(filterDelete, { num: filter.num })
  changed(turn)
  turn.emit('filter.deleted', { user: turn.state.id, filter: filter.id })
}

/** Notes that an expression of a filter took too long; too many times, and the filter is disabled. */
export const blameFilter: UserCommand<{ id: string; pattern: string; offencesMax: number }, { disabled: boolean }> = {
  name: 'filter.blame',
  async run(turn, { id, pattern, offencesMax }) {
    const user = requireUser(turn)
    const filter = await findFilter(turn.read, user.num, id)
    if (filter === undefined || filter.disabled) return { disabled: false }
    const offences: Offences = { count: (filter.offences?.count ?? 0) + 1, last: turn.now, pattern }
    filter.offences = offences
    filter.disabled = offences.count >= offencesMax
    turn.write(filterUpdate, filter)
    if (filter.disabled) {
      changed(turn)
      turn.emit('filter.updated', { user: user.id, filter: filter.id })
    }
    return { disabled: filter.disabled }
  },
}

export interface AutoreplyChange {
  readonly status?: boolean | undefined
  readonly name?: string | undefined
  readonly subject?: string | undefined
  readonly text?: string | undefined
  readonly html?: string | undefined
  /** Null takes the bound away. */
  readonly start?: number | null | undefined
  readonly end?: number | null | undefined
}

const secondMs = 1000

/** Changes what is given, making the autoreply if there is none. */
export const updateAutoreply: UserCommand<AutoreplyChange, { id: string }> = {
  name: 'autoreply.update',
  async run(turn, input) {
    const user = requireUser(turn)
    const known = await findAutoreply(turn.read, user.num)
    const autoreply: Autoreply = known ?? {
      ...{
        user: user.num,
        id: newId(),
        status: false,
        name: '',
        subject: '',
        text: '',
        html: '',
        start: null,
        end: null,
        created: 0,
      },
    }
    for (const [key, value] of Object.entries(input))
      if (value !== undefined) Object.assign(autoreply, { [key]: value })
    autoreply.created = Math.floor(turn.now / secondMs) * secondMs
    turn.write(autoreplyPut, autoreply)
    flip(turn, autoreply.status)
    changed(turn)
    return { id: autoreply.id }
  },
}

/** Takes the autoreply away; nothing happens where there is none. */
export const deleteAutoreply: UserCommand<void, void> = {
  name: 'autoreply.delete',
  run(turn) {
    const user = requireUser(turn)
    if (user.options.rules === undefined && user.options.autoreply !== true) return
    turn.write(autoreplyDelete, { user: user.num })
    flip(turn, false)
    changed(turn)
  },
}

/** Events are for real changes only. */
function flip(turn: UserTurn, status: boolean): void {
  const user = requireUser(turn)
  if ((user.options.autoreply === true) === status) return
  user.options.autoreply = status
  turn.emit(status ? 'autoreply.user.enabled' : 'autoreply.user.disabled', { user: user.id })
}

function changed(turn: UserTurn): void {
  const user = requireUser(turn)
  user.options.rules = Math.max((user.options.rules ?? 0) + 1, turn.now)
  turn.write(userUpdate, user)
}

function merge<T extends object>(into: T, change: object | undefined): void {
  for (const [key, value] of Object.entries(change ?? {})) {
    const empty = value === null || value === '' || value === 0 || (Array.isArray(value) && value.length === 0)
    if (value === undefined) continue
    if (empty) delete into[key as keyof T]
    else Object.assign(into, { [key]: value })
  }
}

/** An action whose targets came back as they were shown, with the secrets they have. @throws Fault InputValidationError */
function withSecrets<Action extends { readonly targets?: FilterAction['targets'] | null | '' }>(
  action: Action,
  stored: readonly string[],
): Action {
  return action.targets ? { ...action, targets: keepSecrets(action.targets, stored, 'action,targets') } : action
}

/** An event for each target that is new; gives those. */
function tellTargets(turn: UserTurn, filter: Filter, before: readonly string[]): readonly string[] {
  const user = turn.state.id
  const targets = (filter.action.targets ?? []).filter(target => !before.includes(target))
  for (const target of targets) {
    turn.emit('forward.added', { user, type: 'filter', target: maskUrl(target), filter: filter.id })
  }
  return targets
}

/** Filters an account may have. */
function filtersAllowed(turn: Pick<UserTurn, 'state' | 'settings'>): number {
  return turn.state.user?.options.limits?.filters || turn.settings.get('const:max:filters')
}
