// A list that may have 300,000 rows, of which only those are loaded that are looked at, by their place in it.
//
// Views read `version` and ask for rows; what is missing is loaded in pages and shown when it is there. When something comes or
// goes, the pages in view are loaded anew, and whoever scrolls is told by how many rows the list moved under them. What is to be done
// and is not yet (owed.ts) shows as if it were: rows that leave are passed over, those that come stand first.

import { signal } from '@preact/signals'
import { isPassing } from '../../base/client.ts'
import { keep, kept } from '../../base/kept.ts'
import { leaving, owed } from '../owed/owed.ts'
import { isStillUser, type Row, user } from '../store.ts'
import { arriving, type Change, isShort, lettersOf, marked, patched } from './rows.ts'
import type { Found, ListOf, Source } from './sources.ts'

const pageRows = 50
/** Pages that are kept beside those in view. */
const pagesKept = 20
const quietMs = 150
/** A reload that took long for once is no reason to show nothing new for long. */
const paceMsMax = 2000
/** One that failed is tried again after a while, then after twice that, and so on. */
const againMs = 1000
const againMsMax = 15_000
const againMax = 5
const changesMs = 60_000
/** After what was found in a moment the whole search is made, unless somebody goes on typing. */
const restMs = 400
/** Rows asked for at once to be selected, and all of them. */
const betweenRows = 250
const betweenMax = 10_000

export class MessageList {
  /** Rises with every change. */
  readonly version = signal(0)
  readonly total = signal(-1)
  /** As the service has it, with rows that leave. */
  #total = -1
  /** Places of rows that leave, among those that are loaded, in order. */
  #leaving: readonly number[] = []
  /** Rows that are to come and are not there yet. */
  #arriving: readonly Row[] = []
  readonly failure = signal<unknown>(undefined)
  /** Rows by which what is in view has moved. */
  readonly moved = signal(0)
  /** What is selected, `mailbox:uid` of each row with the letters it stands for; where all is, what is not. */
  readonly selected = signal<ReadonlyMap<string, readonly number[]>>(new Map())
  readonly isAll = signal(false)
  /** The row that a range begins at. */
  anchor = 0
  /** Only what was found in a moment is here yet. */
  readonly isPartial = signal(false)
  /** The row that keys act on. */
  readonly cursor = signal(0)
  /** Where it was scrolled to, for who comes back. */
  scrollTop = 0
  readonly of: ListOf
  readonly #source: Source
  /** What its pages are kept as in this browser; '' for not at all. */
  readonly #name: string
  readonly #pages = new Map<number, readonly Row[]>()
  readonly #loading = new Map<number, AbortController>()
  /** What changed a moment ago: an answer that was under way does not know of it. */
  #changes: (Change & { readonly at: number })[] = []
  #shown: readonly [first: number, last: number] = [0, pageRows - 1]
  /** The same as the service counts them. */
  #view: readonly [first: number, last: number] = [0, pageRows - 1]
  #timer: ReturnType<typeof setTimeout> | undefined
  #isStale = false
  /** Whose it is: answers may come after that one has gone. */
  readonly #user = user()
  #rest: ReturnType<typeof setTimeout> | undefined
  /** What the last reload took: who is told of very much does not load all the time. */
  #tookMs = 0
  /** Reloads that failed, one after the other. */
  #failures = 0
  /** Whether somebody looks at it. */
  #isShown = false
  /** Reloads that were begun: what was asked for before may be older. */
  #reloads = 0

  constructor(source: Source, of: ListOf, name: string) {
    this.#source = source
    this.#name = name
    this.of = of
  }

  row(index: number): Row | undefined {
    return this.#arriving[index] ?? this.#at(this.#placeOf(index))
  }

  /** The row at a place as the service counts them. */
  #at(place: number): Row | undefined {
    return this.#pages.get(Math.floor(place / pageRows))?.[place % pageRows]
  }

  /** The place of a row that is shown. */
  #placeOf(index: number): number {
    let place = Math.max(0, index - this.#arriving.length)
    for (const left of this.#leaving) {
      if (left > place) break
      place += 1
    }
    return place
  }

  /** Shows what is loaded, and as if all that is owed were done. */
  show(): void {
    const places: number[] = []
    this.#arriving = []
    if (owed.value.length > 0) {
      if (this.of.q === '' && this.of.thread === '')
        this.#arriving = arriving(this.of.folder).filter(row => !this.#has(row))
      const gone = new Map<string, ReadonlySet<number>>()
      for (const [number, rows] of this.#pages) {
        for (const [at, row] of rows.entries()) {
          if (row === undefined) continue
          const uids = gone.get(row.mailbox) ?? leaving(row.mailbox)
          gone.set(row.mailbox, uids)
          if (uids.size > 0 && lettersOf(row).every(uid => uids.has(uid))) places.push(number * pageRows + at)
        }
      }
    }
    this.#leaving = places.sort((a, b) => a - b)
    const more = this.#arriving.length
    this.total.value = this.#total < 0 && more === 0 ? -1 : Math.max(0, this.#total - places.length) + more
    this.cursor.value = Math.min(this.cursor.value, Math.max(0, this.total.value - 1))
    this.version.value += 1
  }

  /** Whether it is to come here and is not yet. */
  isOwed(row: Row): boolean {
    return this.#arriving.includes(row)
  }

  /** Whether it came already, and only the answer is not here yet. */
  #has({ messageId }: Row): boolean {
    return messageId !== '' && [...this.#pages.values()].some(rows => rows.some(row => row?.messageId === messageId))
  }

  /** Rows of some letters, as far as they are loaded. */
  rowsAmong(mailbox: string, uids: ReadonlySet<number>): Row[] {
    const rows = [...this.#pages.values()].flat()
    return rows.filter(row => row?.mailbox === mailbox && uids.has(row.id))
  }

  /** These rows are in view: what is missing of them is loaded. */
  want(first: number, last: number): void {
    this.#isShown = true
    this.#shown = [first, last]
    this.#view = [this.#placeOf(first), this.#placeOf(last)]
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
    this.#isStale = true
    const wait = this.#failures === 0 ? Math.min(3 * this.#tookMs, paceMsMax) : againMs * 2 ** (this.#failures - 1)
    this.#timer ??= setTimeout(() => void this.#renew(), Math.max(quietMs, Math.min(wait, againMsMax)))
  }

  async #renew(): Promise<void> {
    // What is told from now on, the answer may not know.
    this.#isStale = false
    const began = performance.now()
    // Whoever signed out, and maybe in as another, has no list here any more.
    const isDone = !isStillUser(this.#user) || (await this.#reload())
    this.#tookMs = performance.now() - began
    this.#timer = undefined
    if (!isDone) this.#tryAgain()
    else {
      this.#failures = 0
      if (this.#isStale) this.refresh()
    }
  }

  /** In a while: for as long as it is shown where the service is only away, else some times. */
  #tryAgain(): void {
    this.#failures += 1
    const isAway = this.#isShown && isPassing(this.failure.value)
    if (this.#isStale || isAway || this.#failures <= againMax) this.refresh()
  }

  /** It is not shown any more: what was still looked for is not wanted. */
  leave(): void {
    this.#isShown = false
    clearTimeout(this.#rest)
    for (const control of this.#loading.values()) control.abort()
    this.#loading.clear()
  }

  /** Rows of a range, loaded where they are not. */
  async between(from: number, to: number): Promise<Row[]> {
    const rows = this.#arriving.slice(from, to + 1)
    const last = Math.min(to, from + betweenMax - 1)
    const { signal } = new AbortController()
    for (let at = Math.max(from, this.#arriving.length); at <= last; at += betweenRows) {
      const count = Math.min(betweenRows, last - at + 1)
      const loaded = Array.from({ length: count }, (_, step) => this.row(at + step)).filter(row => row !== undefined)
      const place = this.#placeOf(at)
      const isLeaving = (row: Row) => lettersOf(row).every(uid => leaving(row.mailbox).has(uid))
      const asked = loaded.length === count ? loaded : (await this.#source(place, count, signal, false)).rows
      rows.push(...asked.filter(row => !isLeaving(row)))
    }
    return rows
  }

  /** Changes rows that are loaded. */
  patch(mailbox: string, uids: ReadonlySet<number>, change: Partial<Row>): void {
    const at = performance.now()
    this.#changes = [...this.#changes.filter(one => one.at > at - changesMs), { at, mailbox, uids, change }]
    for (const [number, rows] of this.#pages) {
      if (!rows.some(row => row.mailbox === mailbox && uids.has(row.id))) continue
      this.#pages.set(
        number,
        rows.map(row => patched(row, [{ mailbox, uids, change }])),
      )
    }
    this.show()
    if (this.#isTold(mailbox, uids)) this.refresh()
  }

  /** Whether some of a conversation's letters are meant, so that only the service knows what it comes to. */
  #isTold(mailbox: string, uids: ReadonlySet<number>): boolean {
    return [...this.#pages.values()].some(rows =>
      rows.some(row => {
        const letters = row.mailbox === mailbox && row.conversation !== undefined ? row.conversation.messages : []
        return (row.conversation?.total ?? 1) > 1 && letters.some(uid => uids.has(uid))
      }),
    )
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
    this.#total = Math.max(0, this.#total - gone)
    this.unselect(mailbox, uids)
    this.refresh()
  }

  /** What somebody selected beside these stays so. */
  unselect(mailbox: string, uids: ReadonlySet<number>): void {
    const isTaken = (key: string) => key.startsWith(`${mailbox}:`) && uids.has(Number(key.slice(mailbox.length + 1)))
    const left = [...this.selected.value].filter(([key]) => !isTaken(key))
    this.selected.value = new Map(this.isAll.value ? [] : left)
    this.isAll.value = false
    this.show()
    // What moves up may not be loaded yet.
    this.want(...this.#shown)
  }

  /** Where a message is among the rows that are loaded; -1 where it is not. */
  indexOf(mailbox: string, uid: number): number {
    const coming = this.#arriving.findIndex(row => row.mailbox === mailbox && row.id === uid)
    if (coming >= 0) return coming
    const place = this.#find(mailbox, uid)
    return place < 0 ? place : place - this.#leaving.filter(left => left < place).length + this.#arriving.length
  }

  #find(mailbox: string, uid: number): number {
    for (const [number, rows] of this.#pages) {
      const at = rows.findIndex(row => row?.mailbox === mailbox && row.id === uid)
      if (at >= 0) return number * pageRows + at
    }
    return -1
  }

  /** A page with what has changed since it was asked for. */
  async #fetch(number: number, aborted: AbortSignal, isQuick: boolean): Promise<Found> {
    const asked = performance.now()
    const found = await this.#source(number * pageRows, pageRows, aborted, isQuick)
    const later = [...this.#changes.filter(one => one.at >= asked), ...marked()]
    if (later.length === 0) return found
    return { ...found, rows: found.rows.map(row => patched(row, later)) }
  }

  #viewed(): [number, number] {
    const [first, last] = this.#view
    return [Math.floor(Math.max(0, first) / pageRows), Math.floor(Math.max(0, last) / pageRows)]
  }

  async #load(number: number): Promise<void> {
    const control = new AbortController()
    this.#loading.set(number, control)
    const reloads = this.#reloads
    let isAnswered = false
    const early = this.#showKept(number, () => isAnswered || control.signal.aborted)
    try {
      const isFirst = number === 0 && this.of.q !== ''
      const { total, rows, isPartial = false } = await this.#fetch(number, control.signal, isFirst)
      if (control.signal.aborted) return
      isAnswered = true
      // A reload that was begun later may have been answered earlier.
      const isOld = this.#reloads !== reloads
      if (isOld) this.refresh()
      if (isOld && this.#pages.has(number)) return
      this.#keep(number, { total, rows })
      this.#pages.set(number, rows)
      this.#total = total
      this.isPartial.value = isPartial
      if (isPartial && !isShort(this.of.q)) this.#rest = setTimeout(() => void this.#reload(), restMs)
      this.failure.value = undefined
    } catch (error) {
      await early
      if (control.signal.aborted) return
      this.failure.value = error
      if (this.#timer === undefined) this.#tryAgain()
    } finally {
      if (this.#loading.get(number) === control) this.#loading.delete(number)
    }
    this.show()
  }

  /** What was seen last, until there is an answer. */
  async #showKept(number: number, isLate: () => boolean): Promise<void> {
    if (this.#name === '') return
    const known = await kept<Found>(this.#user, `${this.#name} ${number}`)
    if (known === undefined || isLate()) return
    const rows = known.rows.map(row => patched(row, marked()))
    this.#pages.set(number, rows)
    if (this.#total < 0) this.#total = known.total
    this.show()
  }

  #keep(number: number, found: Found): void {
    if (this.#name !== '') keep(this.#user, `${this.#name} ${number}`, found)
  }

  /** Tells whether there was an answer. */
  async #reload(): Promise<boolean> {
    this.#reloads += 1
    const [first] = this.#view
    const anchor = this.#at(first)
    const [from, to] = this.#viewed()
    const control = new AbortController()
    const fresh = new Map<number, readonly Row[]>()
    let total = this.#total
    try {
      for (let number = from; number <= to; number++) {
        const page = await this.#fetch(number, control.signal, false)
        fresh.set(number, page.rows)
        total = page.total
      }
    } catch (error) {
      this.failure.value = error
      return false
    }
    this.#pages.clear()
    for (const [number, rows] of fresh) {
      this.#pages.set(number, rows)
      this.#keep(number, { total, rows })
    }
    this.#total = total
    this.isPartial.value = false
    this.failure.value = undefined
    this.show()
    // Who looks at the top wants to see what is new; who scrolled keeps what they read.
    const now = anchor === undefined || first === 0 ? -1 : this.#find(anchor.mailbox, anchor.id)
    if (now >= 0 && now !== first) this.moved.value = now - first
    return true
  }
}
