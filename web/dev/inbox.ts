// What the page knows: a window of the list as it is now, which mail is chosen, and that mail.
//
// Only lines that can be seen are asked for, so that ten thousand mails are no more than a hundred; news that come in a flood lead to one
// question after the other and never to two at once. What is shown is of the mail that is chosen, or nothing.

import { signal } from '@preact/signals'
import { failed } from '../base/notice.tsx'
import { ask, base, type Line, type Lines, type Mail } from './rest.ts'

export type Live = 'connecting' | 'on' | 'off'
export type View = 'html' | 'text' | 'source' | 'headers' | 'links' | 'attachments' | 'checks'
export const views: readonly View[] = ['html', 'text', 'source', 'headers', 'links', 'attachments', 'checks']

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
/** By how many lines what is seen has moved; the list scrolls by it and sets it back. */
export const moved = signal(0)

let seen = { first: 0, last: 20 }
let place = -1
let loading = false
let again = false

/** The line at a place of the list, where it is known. */
export function lineAt(index: number): Line | undefined {
  const now = lines.value
  return now?.lines[index - now.start]
}

/** Tells which lines are seen. */
export function want(first: number, last: number): void {
  seen = { first, last }
  const now = lines.value
  if (now === undefined) return
  const end = Math.min(last, now.found - 1)
  if (first < now.start || end >= now.start + now.lines.length) void load()
}

/** Asks for the list; what comes meanwhile leads to one more round. */
async function load(): Promise<void> {
  if (loading) {
    again = true
    return
  }
  loading = true
  try {
    do {
      again = false
      await loadOnce()
      if (again) await new Promise(resolve => setTimeout(resolve, pauseMs))
    } while (again)
  } catch {
    live.value = 'off'
  } finally {
    loading = false
  }
}

async function loadOnce(): Promise<void> {
  const asked = query.value.trim()
  const start = Math.max(0, seen.first - spare)
  const limit = seen.last - start + spare
  const found = await ask<Lines>(
    'GET',
    `/lines?${new URLSearchParams({ query: asked, start: `${start}`, limit: `${limit}` })}`,
  )
  if (asked !== query.value.trim()) {
    again = true
    return
  }
  const shift = shiftOf(found)
  lines.value = found
  if (shift !== 0 && seen.first > 0) moved.value = shift
  const at = found.lines.findIndex(({ id }) => id === chosen.value)
  if (at >= 0) place = start + at
  await follow(found)
}

/** How far down what was seen first is now. */
function shiftOf(found: Lines): number {
  const first = lineAt(seen.first)
  if (first === undefined) return 0
  const at = found.lines.findIndex(({ id }) => id === first.id)
  return at < 0 ? 0 : found.start + at - seen.first
}

/** The mail that is chosen may be gone, or have other tags. */
async function follow(found: Lines): Promise<void> {
  const id = chosen.value
  if (id === null) return
  const line = found.lines.find(one => one.id === id)
  const now = mail.value
  if (line === undefined) {
    if (found.total === 0) choose(null)
    else if (query.value.trim() === '' && place >= found.start && place < found.start + found.lines.length)
      await reread(id)
  } else if (now?.id === id && (now.read !== line.read || now.tags.join() !== line.tags.join()))
    mail.value = { ...now, read: line.read, tags: line.tags }
}

async function reread(id: string): Promise<void> {
  try {
    await ask('GET', `/mails/${id}`)
  } catch {
    if (chosen.value === id) choose(null)
  }
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

/** Goes to the next or the one before; from nowhere to the first that is seen. */
export async function step(by: number): Promise<number> {
  const now = lines.value
  if (now === undefined || now.found === 0) return -1
  const to = chosen.value === null ? 0 : Math.min(now.found - 1, Math.max(0, place + by))
  if (lineAt(to) === undefined) {
    seen = { first: to, last: to + 20 }
    await load()
  }
  const line = lineAt(to)
  if (line !== undefined) choose(line.id, to)
  return to
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

/** Deletes the mail that is looked at; the one below it comes in its place. */
export async function remove(): Promise<void> {
  const id = chosen.value
  if (id === null) return
  const next = lineAt(place + 1) ?? lineAt(place - 1)
  // Pressed twice, it is two mails: the choice goes on at once.
  const at = lineAt(place + 1) === undefined ? place - 1 : place
  choose(next?.id ?? null, Math.max(0, at))
  await act('DELETE', { ids: [id] })
}

export async function clear(): Promise<void> {
  ticked.value = new Set()
  await act('DELETE', undefined)
}

export function search(text: string): void {
  query.value = text
  seen = { first: 0, last: 20 }
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
  for (const name of ['arrived', 'gone', 'read', 'tagged']) events.addEventListener(name, () => void load())
}
