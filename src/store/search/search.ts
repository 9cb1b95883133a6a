// Full-text search: substrings of any language in the messages of one account, always complete.
//
// An index of trigrams (FTS5 without positions, half the size of the text) leaves out bodies that cannot fit; those that
// may are read and looked into, and so is what waits to be indexed. Every answer is therefore exact, the index only makes
// it fast. Heavy: this belongs on a thread for long reads. Bodies are indexed for each account that has
// one, under (user << 32) | body, so that one account's search never walks through the others'.

import { monotonic } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Slices } from '#lib/pace.ts'
import { flag } from '#mail/flags.ts'
import { byRow } from '#mail/query/facts.ts'
import { decide, judge, type Verdict } from '#mail/query/judge.ts'
import { eachLeaf, type FolderLeaf, isTextLeaf, type Leaf, type Query } from '#mail/query/query.ts'
import { among } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import type { PickedRow } from '../engine/table.ts'
import { factColumns } from '../mailboxes/listing.ts'
import { messages } from '../mailboxes/messages.ts'
import { StoredFacts } from '../mailboxes/stored-facts.ts'
import type { Found, SearchCache } from './cache.ts'
import { type Folder, foldersOf } from './folders.ts'
import { askIndex, byIndex, candidateBodies, narrowed } from './plan.ts'
import { MessageText, type SearchScope } from './texts.ts'
import { Index } from './trigrams.ts'

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
  /** Rows left out before the page where there is no boundary. */
  readonly skip: number
  readonly direction: 'forward' | 'back'
  readonly count: number
  /** What can be found in a moment will do, where the newest are asked for first, from the start. */
  readonly quick: boolean
}

export interface SearchAnswer {
  /** Messages that fit. */
  readonly total: number
  /** There may be more than that, which were not looked for. */
  readonly more: boolean
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
  const { user, query, order, collapse } = task
  const what = [order, collapse, query]
  const isFirst = order === 'desc' && !collapse && task.boundary === null && task.skip === 0
  if (task.quick && isFirst && (await cache.known(scope.read, user, what)) === undefined) {
    const { rows, more } = await (await Search.open(scope, cache, user, query, true)).first(slices, task.count)
    const { keys, nums } = sorted(rows, task)
    const hits = Array.from(nums.subarray(0, task.count), (num, at) => [keys[at] as number, num] as const)
    return { total: nums.length, more, hits }
  }
  const found = await cache.find(scope.read, user, what, async () => {
    return sorted(await (await Search.open(scope, cache, user, query)).run(slices), task)
  })
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
  } else from = task.direction === 'back' ? nums.length : task.skip
  const hits: [number, number][] = []
  const step = task.direction === 'forward' ? 1 : -1
  for (let at = step === 1 ? from : from - 1; hits.length < task.count && at >= 0 && at < nums.length; at += step) {
    hits.push([keys[at] as number, nums[at] as number])
  }
  return { total: nums.length, more: false, hits }
}

/** Numbers of all messages that fit, rising. */
export async function searchAll(
  scope: SearchScope,
  cache: SearchCache,
  task: { user: number; query: Query },
  slices: Slices,
): Promise<number[]> {
  const rows = await (await Search.open(scope, cache, task.user, task.query)).run(slices)
  return rows.map(row => row[column.num]).sort((one, other) => one - other)
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

const searched = factColumns.with(messages.pick(['mailbox', 'attachments'], 'm'))
const column = searched.at
type Row = PickedRow<typeof searched>

/** Columns that few queries ask for, and the leaves that do: without them a row costs half. */
const narrow = searched.without(['modseq', 'keywords', 'saved', 'prefix'])
const wideOps: ReadonlySet<string> = new Set(['modseq', 'keyword', 'saved', 'email', 'header', 'content'])

class Facts extends StoredFacts<Row> {
  readonly seq = 0
  readonly recent = false

  get attachments() {
    return this.row[column.attachments] === 1
  }
}

interface SearchAbout {
  readonly user: number
  readonly query: Query
  readonly folders: readonly Folder[]
  /** It was asked for everything in the query. */
  readonly index: Index
}

/** One search: the tree with its folders resolved, and what is known of bodies. */
class Search {
  readonly #scope: SearchScope
  readonly #cache: SearchCache
  readonly #user: number
  readonly #query: Query
  readonly #columns: string
  readonly #folders: readonly Folder[]
  readonly #named = new Map<Leaf, ReadonlySet<number>>()
  readonly #index: Index
  /** So few bodies may be looked into that their texts are worth keeping. */
  #few = false

  private constructor(scope: SearchScope, cache: SearchCache, about: SearchAbout) {
    const { user, query, folders, index } = about
    this.#scope = scope
    this.#cache = cache
    this.#user = user
    this.#query = query
    this.#folders = folders
    this.#index = index
    let columns = narrow
    for (const leaf of eachLeaf<Leaf>(query)) {
      if (isFolderLeaf(leaf)) this.#named.set(leaf, new Set(foldersOf(leaf, this.#folders).map(folder => folder.num)))
      if (wideOps.has(leaf.op)) columns = searched.list
    }
    this.#columns = columns
  }

  /** @param quick with an index of its own, which takes what very many bodies may have for too short to tell */
  static async open(
    scope: SearchScope,
    cache: SearchCache,
    user: number,
    query: Query,
    quick = false,
  ): Promise<Search> {
    const { read } = scope
    const folders = await read.all<Folder>(
      'SELECT num, id, path, special_use AS specialUse FROM mailbox WHERE "user" = ?',
      user,
    )
    const index = quick ? new Index(read, user, limits.search.quickBodiesMax) : await cache.index(read, user)
    await askIndex(index, eachLeaf<Leaf>(query))
    return new Search(scope, cache, { user, query, folders, index })
  }

  async run(slices: Slices): Promise<Row[]> {
    const hits: Row[] = []
    await this.#judge(await this.#rows(), hits, slices, () => false)
    return hits
  }

  /** The newest that fit, as many as are wanted or can be found in a moment. */
  async first(slices: Slices, count: number): Promise<{ rows: Row[]; more: boolean }> {
    const started = monotonic()
    const bodies = candidateBodies(this.#index, this.#query)
    this.#few = bodies !== null
    const hits: Row[] = []
    if (bodies !== null && bodies.size <= limits.search.keptMax) {
      await this.#judge(await this.#ofBodies(bodies), hits, slices, () => false)
      return { rows: hits, more: false }
    }
    const isEnough = () => hits.length >= count || monotonic() - started > limits.search.quickMs
    return { rows: hits, more: await this.#judge(this.#newest(bodies), hits, slices, isEnough) }
  }

  /** Adds the rows that fit, until there are enough: then true. */
  async #judge(
    pieces: AsyncIterable<readonly Row[]>,
    hits: Row[],
    slices: Slices,
    isEnough: () => boolean,
  ): Promise<boolean> {
    let facts: Facts | undefined
    const verdictOf = (leaf: Leaf, about: Facts) => this.#verdict(leaf, about)
    for await (const rows of pieces) {
      for (const row of rows) {
        if (slices.spent) await slices.turn()
        if (isEnough()) return true
        if ((row[column.flags] & flag.deleted) !== 0) continue
        facts ??= new Facts(row)
        facts.row = row
        const verdict = judge(this.#query, verdictOf, facts)
        if (verdict === false) continue
        if (verdict === true || (await this.#look(facts))) hits.push(row)
      }
    }
    return false
  }

  /** Messages that may fit, some at a time. */
  async *#rows(): AsyncGenerator<readonly Row[]> {
    const { read } = this.#scope
    const bodies = candidateBodies(this.#index, this.#query)
    this.#few = bodies !== null && bodies.size <= limits.search.keptMax
    if (bodies !== null && bodies.size <= limits.search.byBodyMax) return yield* this.#ofBodies(bodies)
    for (const num of this.#searched()) {
      for await (const rows of folderRows(read, this.#columns, num)) yield withBodies(rows, bodies)
    }
  }

  async *#ofBodies(bodies: ReadonlySet<number>): AsyncGenerator<readonly Row[]> {
    const all = [...bodies]
    for (let at = 0; at < all.length; at += limits.search.sliceRows) {
      yield await this.#scope.read.arrays<Row>(
        `SELECT ${this.#columns} FROM message m WHERE m.body IN ${among()} AND m."user" = ?`,
        JSON.stringify(all.slice(at, at + limits.search.sliceRows)),
        this.#user,
      )
    }
  }

  /** Messages by internal date, the newest first, whatever folder they lie in. */
  async *#newest(bodies: ReadonlySet<number> | null): AsyncGenerator<readonly Row[]> {
    const open: { pieces: AsyncGenerator<readonly Row[], undefined>; rows: readonly Row[]; at: number }[] = []
    for (const num of this.#searched()) {
      const pieces = newestRows(this.#scope.read, this.#columns, num)
      open.push({ pieces, rows: (await pieces.next()).value ?? [], at: 0 })
    }
    for (;;) {
      const best = newestOf(open)
      if (best === undefined) return
      yield withBodies(best.rows.slice(best.at, best.at + 1), bodies)
      best.at += 1
      if (best.at < best.rows.length) continue
      best.rows = (await best.pieces.next()).value ?? []
      best.at = 0
    }
  }

  /** Folders that may have what is looked for. */
  #searched(): number[] {
    const allowed = narrowed(this.#query, leaf => this.#named.get(leaf) ?? null)
    return this.#folders.flatMap(({ num }) => (allowed === null || allowed.has(num) ? num : []))
  }

  /** What the row and the index alone decide; undefined where the message must be looked into. */
  #verdict(leaf: Leaf, facts: Facts): Verdict {
    if (isFolderLeaf(leaf)) return this.#named.get(leaf)?.has(facts.row[column.mailbox]) === true
    if (leaf.op === 'words' || isTextLeaf(leaf)) return byIndex(this.#index, leaf, facts.row[column.body])
    return leaf.op === 'sent' || leaf.op === 'substring' ? undefined : byRow(leaf, facts)
  }

  async #look(facts: Facts): Promise<boolean> {
    const { row } = facts
    const stored = { num: row[column.body], prefix: row[column.prefix] ?? '' }
    const message = new MessageText(this.#scope, this.#few ? this.#cache.texts : undefined, stored)
    return decide(
      this.#query,
      (leaf: Leaf, about) => this.#verdict(leaf, about),
      facts,
      async leaf => isLookedInto(leaf) && message.holds(leaf),
    )
  }
}

function isFolderLeaf(leaf: Leaf): leaf is FolderLeaf {
  return leaf.op === 'mailbox' || leaf.op === 'in' || leaf.op === 'searchable'
}

type LookedInto = Parameters<MessageText['holds']>[0]

function isLookedInto(leaf: Leaf): leaf is LookedInto {
  return leaf.op === 'words' || leaf.op === 'sent' || leaf.op === 'substring' || isTextLeaf(leaf)
}

/** Those whose bodies are among these; all where they may be any. */
function withBodies(rows: readonly Row[], bodies: ReadonlySet<number> | null): readonly Row[] {
  return bodies === null ? rows : rows.filter(row => bodies.has(row[column.body]))
}

/** Of several lists the one that goes on with the newest. */
function newestOf<List extends { readonly rows: readonly Row[]; readonly at: number }>(
  lists: readonly List[],
): List | undefined {
  let best: List | undefined
  let newest = Number.NEGATIVE_INFINITY
  for (const list of lists) {
    const idate = list.rows[list.at]?.[column.idate] ?? Number.NEGATIVE_INFINITY
    if (idate <= newest) continue
    newest = idate
    best = list
  }
  return best
}

async function* newestRows(read: Reader, columns: string, mailbox: number): AsyncGenerator<readonly Row[], undefined> {
  let [idate, uid] = [9e15, 9e15]
  for (;;) {
    const rows = await read.arrays<Row>(
      `SELECT ${columns} FROM message m WHERE m.mailbox = ? AND (m.idate, m.uid) < (?, ?)
       ORDER BY m.idate DESC, m.uid DESC LIMIT ?`,
      ...[mailbox, idate, uid, limits.search.newestRows],
    )
    if (rows.length > 0) yield rows
    const end = rows.at(-1)
    if (end === undefined || rows.length < limits.search.newestRows) return
    idate = end[column.idate]
    uid = end[column.uid]
  }
}

async function* folderRows(read: Reader, columns: string, mailbox: number): AsyncGenerator<readonly Row[]> {
  let last = 0
  for (;;) {
    const rows = await read.arrays<Row>(
      `SELECT ${columns} FROM message m WHERE m.mailbox = ? AND m.uid > ? ORDER BY m.uid LIMIT ?`,
      mailbox,
      last,
      limits.search.sliceRows,
    )
    if (rows.length > 0) yield rows
    const end = rows.at(-1)
    if (end === undefined || rows.length < limits.search.sliceRows) return
    last = end[column.uid]
  }
}
