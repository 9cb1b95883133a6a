// A list that may have 300,000 rows, of which only those are loaded that are looked at, by their place in it.
//
// Views read `version` and ask for rows; what is missing is loaded in pages and shown when it is there. When something comes or
// goes, the pages in view are loaded anew, and whoever scrolls is told by how many rows the list moved under them.

import { signal } from '@preact/signals'
import type { Row } from '../store.ts'

export type Page = (
  first: number,
  limit: number,
  signal: AbortSignal,
) => Promise<{ total: number; rows: readonly Row[] }>

const pageRows = 50
/** Pages that are kept beside those in view. */
const pagesKept = 20
const quietMs = 150
const changesMs = 60_000

export class MessageList {
  /** Rises with every change. */
  readonly version = signal(0)
  readonly total = signal(-1)
  readonly failure = signal<unknown>(undefined)
  /** Rows by which what is in view has moved. */
  readonly moved = signal(0)
  /** What is selected, as `mailbox:uid`. */
  readonly selected = signal<ReadonlySet<string>>(new Set())
  /** The row that keys act on. */
  readonly cursor = signal(0)
  /** Where it was scrolled to, for who comes back. */
  scrollTop = 0
  readonly #page: Page
  readonly #pages = new Map<number, readonly Row[]>()
  readonly #loading = new Map<number, AbortController>()
  /** What changed a moment ago: an answer that was under way does not know of it. */
  #changes: {
    readonly at: number
    readonly mailbox: string
    readonly uids: ReadonlySet<number>
    readonly change: Partial<Row>
  }[] = []
  #view: readonly [first: number, last: number] = [0, pageRows - 1]
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Whether it is told of changes; a search is not, beside flags. */
  readonly isLive: boolean

  constructor(page: Page, isLive: boolean) {
    this.#page = page
    this.isLive = isLive
  }

  row(index: number): Row | undefined {
    return this.#pages.get(Math.floor(index / pageRows))?.[index % pageRows]
  }

  /** These rows are in view: what is missing of them is loaded. */
  want(first: number, last: number): void {
    this.#view = [first, last]
    const [from, to] = this.#viewed()
    for (const [number, control] of this.#loading) {
      if (number < from || number > to) {
        control.abort()
        this.#loading.delete(number)
      }
    }
    for (let number = from; number <= to; number++) {
      if (!this.#pages.has(number) && !this.#loading.has(number)) void this.#load(number)
    }
    for (const number of [...this.#pages.keys()].slice(0, Math.max(0, this.#pages.size - pagesKept))) {
      if (number < from || number > to) this.#pages.delete(number)
    }
  }

  /** Something came or went: what is in view is loaded anew, in a moment. */
  refresh(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#reload(), quietMs)
  }

  /** Changes rows that are loaded. */
  patch(mailbox: string, uids: ReadonlySet<number>, change: Partial<Row>): void {
    const at = performance.now()
    this.#changes = [...this.#changes.filter(one => one.at > at - changesMs), { at, mailbox, uids, change }]
    for (const [number, rows] of this.#pages) {
      if (!rows.some(row => row.mailbox === mailbox && uids.has(row.id))) continue
      const patched = rows.map(row => (row.mailbox === mailbox && uids.has(row.id) ? { ...row, ...change } : row))
      this.#pages.set(number, patched)
    }
    this.version.value += 1
  }

  /** Takes rows out at once; what follows moves up when the list was loaded anew. */
  take(mailbox: string, uids: ReadonlySet<number>): void {
    let gone = 0
    const all: [number, Row][] = []
    for (const [number, rows] of [...this.#pages].sort(([a], [b]) => a - b)) {
      for (const [at, row] of rows.entries()) {
        if (row.mailbox === mailbox && uids.has(row.id)) gone += 1
        else all.push([number * pageRows + at - gone, row])
      }
    }
    this.#pages.clear()
    const pages = new Map<number, Row[]>()
    for (const [index, row] of all) {
      const number = Math.floor(index / pageRows)
      const rows = pages.get(number) ?? []
      rows[index % pageRows] = row
      pages.set(number, rows)
    }
    for (const [number, rows] of pages) this.#pages.set(number, rows)
    this.total.value = Math.max(0, this.total.value - gone)
    this.selected.value = new Set()
    this.cursor.value = Math.min(this.cursor.value, Math.max(0, this.total.value - 1))
    this.version.value += 1
    this.refresh()
  }

  /** Where a message is among the rows that are loaded; -1 where it is not. */
  indexOf(mailbox: string, uid: number): number {
    for (const [number, rows] of this.#pages) {
      const at = rows.findIndex(row => row?.mailbox === mailbox && row.id === uid)
      if (at >= 0) return number * pageRows + at
    }
    return -1
  }

  /** A page with what has changed since it was asked for. */
  async #fetch(number: number, aborted: AbortSignal): ReturnType<Page> {
    const asked = performance.now()
    const { total, rows } = await this.#page(number * pageRows, pageRows, aborted)
    const later = this.#changes.filter(one => one.at >= asked)
    const changed = (row: Row): Row => {
      const own = later.filter(({ mailbox, uids }) => row.mailbox === mailbox && uids.has(row.id))
      return Object.assign({}, row, ...own.map(one => one.change))
    }
    return { total, rows: later.length === 0 ? rows : rows.map(changed) }
  }

  #viewed(): [number, number] {
    const [first, last] = this.#view
    return [Math.floor(Math.max(0, first) / pageRows), Math.floor(Math.max(0, last) / pageRows)]
  }

  async #load(number: number): Promise<void> {
    const control = new AbortController()
    this.#loading.set(number, control)
    try {
      const { total, rows } = await this.#fetch(number, control.signal)
      if (control.signal.aborted) return
      this.#pages.set(number, rows)
      this.total.value = total
      this.failure.value = undefined
    } catch (error) {
      if (control.signal.aborted) return
      this.failure.value = error
    } finally {
      if (this.#loading.get(number) === control) this.#loading.delete(number)
    }
    this.version.value += 1
  }

  async #reload(): Promise<void> {
    const [first] = this.#view
    const anchor = this.row(first)
    const [from, to] = this.#viewed()
    const control = new AbortController()
    const fresh = new Map<number, readonly Row[]>()
    let total = this.total.value
    try {
      for (let number = from; number <= to; number++) {
        const page = await this.#fetch(number, control.signal)
        fresh.set(number, page.rows)
        total = page.total
      }
    } catch (error) {
      this.failure.value = error
      return
    }
    this.#pages.clear()
    for (const [number, rows] of fresh) this.#pages.set(number, rows)
    this.total.value = total
    this.failure.value = undefined
    this.version.value += 1
    // Who looks at the top wants to see what is new; who scrolled keeps what they read.
    const now = anchor === undefined || first === 0 ? -1 : this.indexOf(anchor.mailbox, anchor.id)
    if (now >= 0 && now !== first) this.moved.value = now - first
  }
}
