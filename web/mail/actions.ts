// What is done to messages: flags, moving, deleting. Lists show it at once, and it is done when the service answers (owed/doing.ts); where it
// refuses, lists show how it is.
//
// Everything that moves can be undone for a while: what was moved is moved back, by the numbers it got.

import { signal } from '@preact/signals'
import { number } from '../base/language.ts'
import { failed } from '../base/notice.tsx'
import { baseTexts } from '../texts/texts.ts'
import type { Use } from './folders/made.ts'
import { takeBack, want } from './owed/doing.ts'
import { byWhere, type Deed, type Deeded, type Marks } from './owed/owed.ts'
import { type Folder, folderFor, folderName, folderOf } from './store.ts'
import { mailTexts } from './texts/texts.ts'

export interface Place {
  readonly mailbox: string
  readonly uids: readonly number[]
}

export interface Undo {
  readonly text: string
  /** What the button says. */
  readonly label: string
  run(): Promise<void>
}

/** What can be undone now. */
export const undo = signal<Undo | null>(null)
const undoMs = 10_000
let timer: ReturnType<typeof setTimeout> | undefined
/** By what somebody is at it. */
const holders = new Set<'pointer' | 'focus'>()
/** What is offered now can be undone at any time. */
let isLasting = false

/** @param ms how long it can be undone; unset, as long as somebody is at it, and some seconds */
export function offer(offered: Undo, ms?: number): void {
  undo.value = offered
  isLasting = ms === undefined
  endIn(ms ?? undoMs)
}

function endIn(ms: number): void {
  clearTimeout(timer)
  if (holders.size > 0 && isLasting) return
  timer = setTimeout(() => {
    undo.value = null
    holders.clear()
  }, ms)
}

/** Somebody points at what is offered now, or is in it with the keyboard; or does so no more. */
export function hold(by: 'pointer' | 'focus', held: boolean): void {
  if (held && undo.value !== null) holders.add(by)
  else holders.delete(by)
  if (isLasting && undo.value !== null) endIn(undoMs)
}

export async function runUndo(): Promise<void> {
  const offered = undo.value
  undo.value = null
  holders.clear()
  await offered?.run().catch(failed)
}

export async function setFlag(places: readonly Place[], marks: Marks): Promise<void> {
  await Promise.all(places.flatMap(byWhere).map(place => want({ ...place, kind: 'mark', marks }).outcome))
}

/** Moves messages, and offers to move them back. */
export async function move(places: readonly Place[], to: Folder): Promise<void> {
  await moveTo(places, to.id, folderName(to))
}

async function moveTo(places: readonly Place[], to: string, name: string): Promise<void> {
  const deeds = places
    .flatMap(byWhere)
    .filter(({ mailbox, at = mailbox }) => at !== to)
    .map(place => ({ ...place, kind: 'move', to }) as const)
  await follow(deeds, to, count => mailTexts.value.moved(count, name))
}

/** Moves to the folder of a use; where there is none says so. */
export async function moveFor(places: readonly Place[], use: Use): Promise<void> {
  const found = folderFor(use)
  if (found !== undefined) await move(places, found)
  else if (use === '\\Archive') await moveTo(places, use, baseTexts.value.folderNames[use])
}

/** Says what was done, or that it waits, and offers to take it back. */
async function follow(deeds: readonly Deed[], to: string, said: (count: string) => string): Promise<void> {
  const wanted = deeds.map(deed => ({ deed, ...want(deed) }))
  const outcomes = await Promise.all(wanted.map(one => one.outcome))
  const isLate = outcomes.some(one => one.state === 'waits')
  const done = wanted.filter((_, at) => outcomes[at]?.state === 'waits' || (outcomes[at]?.moved.length ?? 0) > 0)
  const count = outcomes.reduce((sum, { state, moved }, at) => {
    return sum + (state === 'waits' ? (deeds[at]?.uids.length ?? 0) : moved.length)
  }, 0)
  if (count === 0) return
  const texts = mailTexts.value
  offer({
    text: isLate ? texts.owed.later(number(count)) : said(number(count)),
    label: texts.undo,
    async run() {
      for (const { id, deed } of done) await takeBack(id, deed, to)
    },
  })
}

/** Into the Trash; from there, and drafts, for good (the service keeps what is deleted for a while). */
export async function remove(places: readonly Place[]): Promise<void> {
  const trash = folderFor('\\Trash')
  const final = ({ mailbox, at = mailbox }: Deeded) => at === trash?.id || folderOf(at)?.specialUse === '\\Drafts'
  const all = places.flatMap(byWhere)
  const others = all.filter(place => !final(place))
  const deeds = all.filter(final).map(place => ({ ...place, kind: 'delete' }) as const)
  await Promise.all([
    others.length > 0 && trash !== undefined ? move(others, trash) : undefined,
    follow(deeds, '', count => count),
  ])
}
