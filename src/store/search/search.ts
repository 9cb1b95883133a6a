// Full-text search: substrings of any language in the messages of one account, always complete.
//
// An index of trigrams (FTS5 without positions, half the size of the text) leaves out bodies that cannot fit; those that
// may are read and looked into, and so is what waits to be indexed. Every answer is therefore exact, the index only makes
// it fast. Synchronous and heavy: this belongs on a thread for long reads. Bodies are indexed for each account that has
// one, under (user << 32) | body, so that one account's search never walks through the others'.

import { isId, numberId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Slices } from '#lib/pace.ts'
import { eachCriterion, type Query } from '#mail/filter/query.ts'
import { flag } from '#mail/flags.ts'
import { inRanges } from '#mail/numbers.ts'
import { normalizePath } from '#mail/path.ts'
import type { Reader } from '../engine/reader.ts'
import { hasWord, Index, type SearchScope, Texts } from './trigrams.ts'

export interface SearchTask {
  /** Number of the account. */
  readonly user: number
  readonly query: Query
  /** By internal date; without it the message stored last comes first. */
  readonly order: 'asc' | 'desc' | null
  /** One message of each thread: the first of the list. */
  readonly collapse: boolean
  /** Rows after (`forward`) or before the row with this key and number; null: from the start. */
  readonly boundary: readonly [key: number, num: number] | null
  readonly direction: 'forward' | 'back'
  readonly count: number
}

export interface SearchAnswer {
  /** Messages that fit. */
  readonly total: number
  /** Key and number of some of them, in the order of the list, for `back` in reverse. */
  readonly hits: readonly (readonly [key: number, num: number])[]
}

/** One page of the messages that fit. */
export async function searchMessages(
  scope: SearchScope,
  cache: SearchCache,
  task: SearchTask,
  slices: Slices,
): Promise<SearchAnswer> {
  const found = await cache.find(scope, task, slices)
  const { keys, nums, falling } = found
  const sign = falling ? -1 : 1
  const compare = (at: number, [key, num]: readonly [number, number]) =>
    sign * ((keys[at] as number) - key || (nums[at] as number) - num)
  let from = 0
  if (task.boundary !== null) {
    // The first place after the boundary going forward, the first not before it going back.
    let high = nums.length
    while (from < high) {
      const middle = (from + high) >>> 1
      const order = compare(middle, task.boundary)
      if (task.direction === 'forward' ? order <= 0 : order < 0) from = middle + 1
      else high = middle
    }
  } else if (task.direction === 'back') from = nums.length
  const hits: [number, number][] = []
  const step = task.direction === 'forward' ? 1 : -1
  for (let at = step === 1 ? from : from - 1; hits.length < task.count && at >= 0 && at < nums.length; at += step) {
    hits.push([keys[at] as number, nums[at] as number])
  }
  return { total: nums.length, hits }
}

/** Numbers of all messages that fit, rising. */
export async function searchAll(
  scope: SearchScope,
  task: { user: number; query: Query },
  slices: Slices,
): Promise<number[]> {
  const rows = await new Search(scope, task.user, task.query).run(slices)
  return rows.map(row => row[column.num]).sort((one, other) => one - other)
}

/** Searches that were made lately, so that the second page is there at once. */
export class SearchCache {
  readonly #found = new Map<string, Found>()
  #length = 0

  async find(scope: SearchScope, task: SearchTask, slices: Slices): Promise<Found> {
    const modseq = scope.read.one<{ modseq: number }>('SELECT modseq FROM usage WHERE user = ?', task.user)?.modseq
    const key = JSON.stringify([task.user, modseq ?? 0, task.order, task.collapse, task.query])
    const known = this.#found.get(key)
    if (known !== undefined) return known
    const rows = await new Search(scope, task.user, task.query).run(slices)
    const found = sorted(rows, task)
    // Somebody else may have made the same search meanwhile.
    if (!this.#found.has(key)) this.#length += found.nums.length + 1000
    this.#found.set(key, found)
    for (const [oldest, { nums }] of this.#found) {
      if (this.#length <= limits.search.cachedMax) break
      this.#found.delete(oldest)
      this.#length -= nums.length + 1000
    }
    return found
  }
}

interface Found {
  readonly falling: boolean
  readonly keys: Float64Array
  readonly nums: Float64Array
}

function sorted(rows: Row[], { order, collapse }: Pick<SearchTask, 'order' | 'collapse'>): Found {
  const falling = order !== 'asc'
  const key = order === null ? column.num : column.idate
  const sign = falling ? -1 : 1
  rows.sort((one, other) => sign * (one[key] - other[key] || one[column.num] - other[column.num]))
  const shown = collapse ? firstOfThreads(rows) : rows
  return {
    falling,
    keys: Float64Array.from(shown, row => row[key]),
    nums: Float64Array.from(shown, row => row[column.num]),
  }
}

function firstOfThreads(rows: readonly Row[]): Row[] {
  const threads = new Set<number>()
  return rows.filter(row => threads.size < threads.add(row[column.thread]).size)
}

type Row = [
  num: number,
  mailbox: number,
  uid: number,
  flags: number,
  idate: number,
  size: number,
  thread: number,
  body: number,
  attachments: number,
]

const column = { num: 0, mailbox: 1, uid: 2, flags: 3, idate: 4, size: 5, thread: 6, body: 7, attachments: 8 } as const
const columns = 'num, mailbox, uid, flags, idate, size, thread, body, attachments'

interface Folder {
  readonly num: number
  readonly id: string
  readonly path: string
  readonly specialUse: string | null
}

/** One search: the tree with its folders resolved, and what is known of bodies. */
class Search {
  readonly #scope: SearchScope
  readonly #user: number
  readonly #query: Query
  readonly #folders: readonly Folder[]
  readonly #named = new Map<Query, ReadonlySet<number>>()
  readonly #index: Index
  readonly #texts: Texts

  constructor(scope: SearchScope, user: number, query: Query) {
    this.#scope = scope
    this.#user = user
    this.#query = query
    this.#folders = scope.read.all<Folder>(
      'SELECT num, id, path, special_use AS specialUse FROM mailbox WHERE user = ?',
      user,
    )
    for (const one of eachCriterion(query)) {
      const folders = this.#foldersOf(one)
      if (folders !== null) this.#named.set(one, new Set(folders.map(folder => folder.num)))
    }
    this.#index = new Index(scope.read, user)
    this.#texts = new Texts(scope)
  }

  async run(slices: Slices): Promise<Row[]> {
    const hits: Row[] = []
    for (const row of this.#rows()) {
      if (slices.spent) await slices.turn()
      if ((row[column.flags] & flag.deleted) !== 0) continue
      const verdict = this.#cheap(this.#query, row)
      if (verdict === false) continue
      if (verdict === true || (await this.#judge(this.#query, row))) hits.push(row)
    }
    return hits
  }

  /** Messages that may fit. */
  *#rows(): Generator<Row> {
    const { read } = this.#scope
    const bodies = this.#candidates(this.#query)
    if (bodies !== null && bodies.size <= limits.search.byBodyMax) {
      const all = [...bodies]
      for (let at = 0; at < all.length; at += limits.search.sliceRows) {
        yield* read.arrays<Row>(
          `SELECT ${columns} FROM message WHERE body IN (SELECT value FROM json_each(?)) AND user = ?`,
          JSON.stringify(all.slice(at, at + limits.search.sliceRows)),
          this.#user,
        )
      }
      return
    }
    const allowed = this.#mailboxes(this.#query)
    for (const { num } of this.#folders) {
      if (allowed !== null && !allowed.has(num)) continue
      for (const row of folderRows(read, num)) if (bodies === null || bodies.has(row[column.body])) yield row
    }
  }

  /** Bodies of which one must have; null where that cannot be told. */
  #candidates(query: Query): ReadonlySet<number> | null {
    if (query.op === 'and') {
      const sets = query.of.map(part => this.#candidates(part)).filter(set => set !== null)
      const [first, ...rest] = sets.sort((one, other) => one.size - other.size)
      return first === undefined ? null : rest.reduce(common, first)
    }
    if (query.op === 'or') {
      const sets = query.of.map(part => this.#candidates(part))
      return sets.includes(null) ? null : union(sets.filter(set => set !== null))
    }
    return 'needle' in query ? this.#index.bodies(query.needle) : null
  }

  /** Folders in which all hits lie; null where they may lie anywhere. */
  #mailboxes(query: Query): ReadonlySet<number> | null {
    if (query.op === 'and') {
      const sets = query.of.map(part => this.#mailboxes(part)).filter(set => set !== null)
      return sets.length === 0 ? null : sets.reduce(common)
    }
    if (query.op === 'or') {
      const sets = query.of.map(part => this.#mailboxes(part))
      return sets.includes(null) ? null : union(sets.filter(set => set !== null))
    }
    return this.#named.get(query) ?? null
  }

  /** What the row and the index alone decide; undefined where the text must be looked into. */
  #cheap(query: Query, row: Row): boolean | undefined {
    switch (query.op) {
      case 'and': {
        let open: undefined | true = true
        for (const part of query.of) {
          const verdict = this.#cheap(part, row)
          if (verdict === false) return false
          if (verdict === undefined) open = undefined
        }
        return open
      }
      case 'or': {
        let open: undefined | false = false
        for (const part of query.of) {
          const verdict = this.#cheap(part, row)
          if (verdict === true) return true
          if (verdict === undefined) open = undefined
        }
        return open
      }
      case 'not': {
        const verdict = this.#cheap(query.of, row)
        return verdict === undefined ? undefined : !verdict
      }
      case 'thread':
        return numberId(row[column.thread]) === query.id
      case 'uid':
        return inRanges(query.ranges, row[column.uid])
      case 'date':
        return row[column.idate] >= query.from && row[column.idate] <= query.to
      case 'size':
        return row[column.size] >= query.min && row[column.size] <= query.max
      case 'attachments':
        return row[column.attachments] === 1
      case 'flagged':
        return (row[column.flags] & flag.flagged) !== 0
      case 'seen':
        return (row[column.flags] & flag.seen) !== 0
      case 'unseen':
        return (row[column.flags] & flag.seen) === 0
      case 'mailbox':
      case 'in':
      case 'searchable':
        return this.#named.get(query)?.has(row[column.mailbox]) === true
      case 'word':
        return this.#index.verdict(query.needle, row[column.body])
      default:
        return this.#index.verdict(query.needle, row[column.body]) === false ? false : undefined
    }
  }

  async #judge(query: Query, row: Row): Promise<boolean> {
    const verdict = this.#cheap(query, row)
    if (verdict !== undefined) return verdict
    if (query.op === 'not') return !(await this.#judge(query.of, row))
    if (query.op === 'and') {
      for (const part of query.of) if (!(await this.#judge(part, row))) return false
      return true
    }
    if (query.op === 'or') {
      for (const part of query.of) if (await this.#judge(part, row)) return true
      return false
    }
    return 'needle' in query && this.#contains(query, row[column.body])
  }

  async #contains(query: Extract<Query, { needle: string }>, body: number): Promise<boolean> {
    const fields = await this.#texts.of(body)
    if (fields === undefined) return false
    const { needle, op } = query
    if (op === 'to') return fields.to.includes(needle) || fields.cc.includes(needle) || fields.bcc.includes(needle)
    if (op !== 'word' && op !== 'phrase') return fields[op].includes(needle)
    if (op === 'word' ? hasWord(fields, needle) : fields.subject.includes(needle)) return true
    return (await this.#texts.text(body, fields)).includes(needle)
  }

  /** The folders a criterion names; null where it names none. */
  #foldersOf(query: Query): Folder[] | null {
    if (query.op === 'mailbox') return this.#folders.filter(({ id }) => id === query.id)
    if (query.op === 'searchable') {
      return this.#folders.filter(({ specialUse }) => specialUse !== '\\Junk' && specialUse !== '\\Trash')
    }
    if (query.op !== 'in') return null
    const { name } = query
    const path = normalizePath(name)
    const byPath = this.#folders.filter(
      folder => folder.path === path || (isId(name.toLowerCase()) && folder.id === name.toLowerCase()),
    )
    if (byPath.length > 0) return byPath
    const lower = path.toLowerCase()
    const role = roles[lower]
    const byRole = role === undefined ? [] : this.#folders.filter(folder => folder.specialUse === role)
    return byRole.length > 0 ? byRole : this.#folders.filter(folder => folder.path.toLowerCase() === lower)
  }
}

function common(one: ReadonlySet<number>, other: ReadonlySet<number>): ReadonlySet<number> {
  const set = new Set<number>()
  for (const number of one) if (other.has(number)) set.add(number)
  return set
}

function union(sets: readonly ReadonlySet<number>[]): ReadonlySet<number> {
  const all = new Set<number>()
  for (const set of sets) for (const number of set) all.add(number)
  return all
}

const roles: Readonly<Record<string, string>> = {
  sent: '\\Sent',
  trash: '\\Trash',
  drafts: '\\Drafts',
  draft: '\\Drafts',
  junk: '\\Junk',
  spam: '\\Junk',
  archive: '\\Archive',
}

function* folderRows(read: Reader, mailbox: number): Generator<Row> {
  let last = 0
  for (;;) {
    const rows = read.arrays<Row>(
      `SELECT ${columns} FROM message WHERE mailbox = ? AND uid > ? ORDER BY uid LIMIT ?`,
      mailbox,
      last,
      limits.search.sliceRows,
    )
    yield* rows
    const end = rows.at(-1)
    if (end === undefined || rows.length < limits.search.sliceRows) return
    last = end[column.uid]
  }
}
