// What the page knows: a window of the list as it is now, which mail is chosen, and that mail.
//
// Only lines that can be seen are asked for, so that ten thousand mails are no more than a hundred; news that come in a flood lead to one
// question after the other and never to two at once. What is shown is of the mail that is chosen, or nothing.

import { batch, signal } from '@preact/signals'
import { failed } from '../base/notice.tsx'
import { tellNewest } from './notify.tsx'
import { ask, base, type Line, type Lines, type Mail } from './rest.ts'

export type Live = 'connecting' | 'on' | 'off'
export type View = 'html' | 'text' | 'source' | 'headers' | 'links' | 'attachments' | 'checks' | 'programs' | 'spam'
export const views: readonly View[] = [
  ...(['html', 'text', 'source', 'headers', 'links', 'attachments', 'checks', 'programs', 'spam'] as const),
]

/** Pixels of a line. */
export const rowHeight = 76
/** Lines that are asked for beyond those that are seen. */
const spare = 40
/** A flood of news is answered so often. */
const pauseMs = 150

export const live = signal<Live>('connecting')
export const lines = signal<Lines | undefined>(undefined)
export const query = signal('')
/** The mail that is looked at, and where it is in the list as far as that is known. */
export const chosen = signal<string | null>(null)
export const mail = signal<Mail | null>(null)
export const view = signal<View | null>(null)
/** Those whose boxes are ticked. */
export const ticked = signal<ReadonlySet<string>>(new Set())
/** What is seen of the list, in pixels. It goes with `lines`: both are changed together, and the list scrolls to it. */
export const frame = signal({ top: 0, height: 800 })

let box: HTMLElement | null = null
/** False while the list is still to be scrolled to `frame`, and where it is scrolled to says nothing. */
let isSettled = true
let place = -1
let loading: Promise<void> | undefined
let again = false
/** Deleted here: not shown again by an answer that was on its way. */
const leaving = new Set<string>()

/** The line at a place of the list, where it is known. */
export function lineAt(index: number): Line | undefined {
  const now = lines.value
  return now?.lines[index - now.start]
}

/** The element that scrolls. */
export function attach(element: HTMLElement | null): void {
  box = element
  measure()
}

/** Takes over where the list has been scrolled to. */
function readFrame(): void {
  if (box === null || !isSettled) return
  const { scrollTop: top, clientHeight: height } = box
  const before = frame.value
  // In a narrow window a mail hides the list.
  if (height === 0) return
  if (Math.abs(before.top - top) >= 1 || before.height !== height) frame.value = { top, height }
}

/** The same, and asks for what is seen there and not known. */
export function measure(): void {
  readFrame()
  const now = lines.value
  const { first, last } = seen()
  if (now !== undefined && !covers(now, first, Math.min(last, now.found - 1))) void load()
}

/** Scrolls the list to where it is to be, now that its rows are those of there. */
export function settle(): void {
  isSettled = true
  if (box !== null && Math.abs(box.scrollTop - frame.value.top) >= 1) box.scrollTop = frame.value.top
  measure()
}

function scrollTo(top: number): void {
  box?.scrollTo(0, top)
  measure()
}

/** Places of the first and the last line that are seen. */
export function seen(): { readonly first: number; readonly last: number } {
  const { top, height } = frame.value
  return { first: Math.max(0, Math.floor(top / rowHeight)), last: Math.ceil((top + height) / rowHeight) }
}

function covers({ start, lines: { length } }: Lines, first: number, last: number): boolean {
  return first >= start && last < start + length
}

/** Asks for the list; what comes meanwhile leads to one more round. */
function load(): Promise<void> {
  again = loading !== undefined
  loading ??= loadAll().finally(() => {
    loading = undefined
  })
  return loading
}

async function loadAll(): Promise<void> {
  try {
    do {
      again = false
      await loadOnce()
      if (again) await new Promise(resolve => setTimeout(resolve, pauseMs))
    } while (again)
  } catch {
    live.value = 'off'
  }
}

async function loadOnce(): Promise<void> {
  const asked = query.value.trim()
  readFrame()
  const { first, last } = seen()
  const start = Math.max(0, first - spare)
  const wanted = new URLSearchParams({ query: asked, start: `${start}`, limit: `${last - start + spare}` })
  const near = anchors()
  if (near.length > 0) {
    wanted.set('near', near.map(({ id }) => id).join())
    wanted.set('was', `${(lines.value?.start ?? 0) + (lines.value?.lines.indexOf(near[0] as Line) ?? 0)}`)
  }
  if (chosen.value !== null) wanted.set('place', chosen.value)
  const about = chosen.value
  const found = without(await ask<Lines>('GET', `/lines?${wanted}`), leaving)
  if (asked !== query.value.trim()) {
    again = true
    return
  }
  take(found)
  if (about !== null && about === chosen.value) follow(about, found)
}

/** Lines that are seen and that the place is kept by; none where the top is seen, which news come to. */
function anchors(): readonly Line[] {
  const { first, last } = seen()
  if (frame.value.top < rowHeight) return []
  return Array.from({ length: last - first }, (_, at) => lineAt(first + at)).filter(line => line !== undefined)
}

/** Shows other lines; what is seen stays where it is on the screen. */
function take(found: Lines): void {
  readFrame()
  const places = new Map(found.lines.map(({ id }, at) => [id, found.start + at]))
  const before = lines.value
  const anchor = anchors().find(({ id }) => places.has(id))
  const by =
    anchor === undefined || before === undefined
      ? 0
      : (places.get(anchor.id) ?? 0) - before.start - before.lines.indexOf(anchor)
  batch(() => {
    lines.value = found
    if (by === 0) return
    isSettled = false
    frame.value = { ...frame.value, top: Math.max(0, frame.value.top + by * rowHeight) }
  })
}

/** Without some lines, and those below them that much higher. */
function without(now: Lines, ids: ReadonlySet<string>): Lines {
  const kept = now.lines.filter(({ id }) => !ids.has(id))
  const fewer = now.lines.length - kept.length
  return fewer === 0 ? now : { ...now, lines: kept, found: now.found - fewer, total: now.total - fewer }
}

/** The mail that is chosen may have moved, be gone, or have other tags. */
function follow(id: string, found: Lines): void {
  if (found.place === null) {
    choose(null)
    return
  }
  if (found.place !== undefined && found.place >= 0) place = found.place
  const line = found.lines.find(line => line.id === id)
  const now = mail.value
  if (line !== undefined && now?.id === id && (now.read !== line.read || now.tags.join() !== line.tags.join()))
    mail.value = { ...now, read: line.read, tags: line.tags }
}

export function choose(id: string | null, at = -1): void {
  if (at >= 0) place = at
  if (id === chosen.value && mail.value !== null) return
  chosen.value = id
  mail.value = null
  if (id !== null) void open(id)
}

async function open(id: string): Promise<void> {
  try {
    const found = await ask<Mail>('GET', `/mails/${id}`)
    if (chosen.value !== id) return
    mail.value = found
    if (!found.read) await ask('PUT', '/mails', { ids: [id], read: true })
  } catch (error) {
    if (chosen.value !== id) return
    chosen.value = null
    failed(error)
    void load()
  }
}

/** Goes to the next or the one before; from nowhere to the first. What it goes to is brought into view. */
export async function step(by: number): Promise<void> {
  const now = lines.value
  if (now === undefined || now.found === 0) return
  const to = chosen.value === null ? 0 : Math.min(now.found - 1, Math.max(0, place + by))
  reveal(to)
  if (lineAt(to) === undefined) await load()
  const line = lineAt(to)
  if (line !== undefined) choose(line.id, to)
}

/** Scrolls so far that a line is seen. */
function reveal(index: number): void {
  const { top, height } = frame.value
  const at = index * rowHeight
  scrollTo(Math.max(Math.min(top, at), at + rowHeight - height))
}

/** Does something with mails and says so where it fails. */
export async function act(method: string, body: object | undefined): Promise<boolean> {
  try {
    await ask(method, '/mails', body)
    return true
  } catch (error) {
    failed(error)
    return false
  } finally {
    void load()
  }
}

/** Deletes the mail that is looked at; the one below it comes in its place, at once, so that pressed twice it is two mails. */
export async function remove(): Promise<void> {
  const id = chosen.value
  const now = lines.value
  if (id === null || now === undefined) return
  const at = now.lines.findIndex(line => line.id === id)
  leaving.add(id)
  take(without(now, leaving))
  const next = at < 0 ? -1 : now.start + Math.min(at, now.lines.length - 2)
  choose(lineAt(next)?.id ?? null, next)
  if (!(await act('DELETE', { ids: [id] }))) leaving.delete(id)
}

/** Marks the mail that is looked at as unread, or read again. */
export async function flipRead(): Promise<void> {
  const now = mail.value
  if (now !== null) await act('PUT', { ids: [now.id], read: !now.read })
}

export async function clear(): Promise<void> {
  ticked.value = new Set()
  await act('DELETE', undefined)
}

export function search(text: string): void {
  query.value = text
  scrollTo(0)
  place = -1
  ticked.value = new Set()
  void load()
}

/** Hears what happens, for as long as the page is open. */
export function listen(): void {
  const events = new EventSource(`${base}/events`)
  events.addEventListener('open', () => {
    live.value = 'on'
    void load()
  })
  events.addEventListener('error', () => {
    live.value = 'off'
  })
  events.addEventListener('arrived', () => void tellNewest().catch(() => {}))
  for (const name of ['arrived', 'gone', 'read', 'tagged']) events.addEventListener(name, () => void load())
}
