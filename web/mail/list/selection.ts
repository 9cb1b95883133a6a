// What is selected of a list: some rows, or all it has but some. A row of a conversation stands for its letters in the folder.
//
// What is selected stays so when its rows are scrolled away, since numbers are kept and not rows.

import type { Place } from '../actions.ts'
import type { Row } from '../store.ts'
import type { MessageList } from './message-list.ts'
import { lettersOf } from './rows.ts'

const keyOf = (row: Row): string => `${row.mailbox}:${row.id}`

/** Rows by the folder they lie in. */
export function placesOf(rows: readonly Row[]): Place[] {
  const byFolder = Map.groupBy(rows, row => row.mailbox)
  return [...byFolder].map(([mailbox, some]) => ({ mailbox, uids: some.flatMap(lettersOf) }))
}

export function isSelected({ selected, isAll }: MessageList, row: Row): boolean {
  return selected.value.has(keyOf(row)) !== isAll.value
}

/** Selects a row or gives it up; with shift all from the one before, be they loaded or not. */
export async function select(list: MessageList, row: Row | undefined, index: number, isRange: boolean): Promise<void> {
  // The row as it was seen: another one may have come to its place meanwhile.
  if (row === undefined) return
  const on = !list.selected.value.has(keyOf(row))
  const [from, to] = isRange ? [Math.min(list.anchor, index), Math.max(list.anchor, index)] : [index, index]
  list.anchor = index
  const rows = from === to ? [row] : await list.between(from, to)
  const selected = new Map(list.selected.value)
  for (const one of rows) {
    if (on) selected.set(keyOf(one), lettersOf(one))
    else selected.delete(keyOf(one))
  }
  list.selected.value = selected
}

export function selectAll(list: MessageList, is: boolean): void {
  list.selected.value = new Map()
  list.isAll.value = is
}

/** What is selected, by folder; where everything is, what is not. */
export function selectedPlaces(list: MessageList): Place[] {
  const byFolder = Map.groupBy(list.selected.value, ([key]) => key.slice(0, key.indexOf(':')))
  return [...byFolder].map(([mailbox, some]) => ({ mailbox, uids: some.flatMap(([, uids]) => uids) }))
}

/** Rows that are selected. */
export function countSelected({ selected, isAll, total }: MessageList): number {
  const { size } = selected.value
  return isAll.value ? Math.max(0, total.value - size) : size
}
