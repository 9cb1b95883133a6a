// Keys of mail, as in the well-known ones: single letters, where nobody types into a field.
//
// They act on the message that is read, else on what is selected, else on the row they are at.

import { signal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Dialog } from '../base/dialog.tsx'
import { failed } from '../base/notice.tsx'
import { moveFor, type Place, remove, runUndo, setFlag } from './actions.ts'
import { folderMade } from './folders/made.ts'
import { withLetters } from './later.ts'
import { applyToAll, moveAll, removeAll } from './list/bulk.ts'
import { rowHeight } from './list/list.tsx'
import type { MessageList } from './list/message-list.ts'
import { placesOf, select, selectAll, selectedPlaces } from './list/selection.ts'
import { folderOf, type Row } from './store.ts'
import { mailTexts } from './texts/texts.ts'

export const helpOpen = signal(false)

interface Keyed {
  readonly list: MessageList
  readonly isReading: boolean
  readonly message: { readonly mailbox: string; readonly uid: number } | null
  readonly page: RefObject<HTMLDivElement | null>
  open(row: Row | undefined): void
  /** Goes back from a conversation to the list it stands in. */
  leave(): void
}

type KeyName = keyof typeof mailTexts.value.keyNames

const keys: Readonly<Record<string, KeyName>> = {
  j: 'next',
  ArrowDown: 'next',
  k: 'previous',
  ArrowUp: 'previous',
  Enter: 'open',
  o: 'open',
  u: 'close',
  Escape: 'close',
  x: 'select',
  X: 'selectTo',
  '*': 'selectAll',
  c: 'write',
  r: 'reply',
  a: 'replyAll',
  f: 'forward',
  e: 'archive',
  y: 'archive',
  '#': 'delete',
  Delete: 'delete',
  '!': 'junk',
  s: 'flag',
  '.': 'unread',
  '/': 'search',
  z: 'undo',
  '?': 'help',
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input:not([type=checkbox]), textarea, select, [contenteditable], dialog') !== null
  )
}

/** A step that was asked for before there was a list to go along. */
let early: { readonly list: MessageList; readonly by: number } | undefined

export function useKeys(given: Keyed): void {
  const now = useRef(given)
  now.current = given
  const { list } = given
  useEffect(
    () =>
      list.total.subscribe(total => {
        if (total < 0 || early?.list !== list) return
        const { by } = early
        early = undefined
        step(now.current, by)
      }),
    [list],
  )
  useEffect(() => {
    const hear = (event: KeyboardEvent) => press(event, now.current)
    document.addEventListener('keydown', hear)
    return () => document.removeEventListener('keydown', hear)
  }, [])
}

function press(event: KeyboardEvent, keyed: Keyed): void {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return
  const name = keys[event.key]
  const isControl = event.target instanceof Element && event.target.closest('a, button, input') !== null
  if (name === undefined || (name === 'open' && isControl)) return
  event.preventDefault()
  act(name, keyed)
}

/** What keys do that have to do with no message. */
const plain: Partial<Record<KeyName, (keyed: Keyed) => void>> = {
  next: keyed => step(keyed, 1),
  previous: keyed => step(keyed, -1),
  open: ({ list, open }) => open(list.row(list.cursor.value)),
  close({ list, isReading, open, leave }) {
    if (isReading) open(undefined)
    else if (list.selected.value.size > 0 || list.isAll.value) selectAll(list, false)
    else if (list.of.thread !== '') leave()
  },
  select: ({ list }) => void select(list, list.row(list.cursor.value), list.cursor.value, false),
  selectTo: ({ list }) => void select(list, list.row(list.cursor.value), list.cursor.value, true),
  selectAll: ({ list }) => selectAll(list, !list.isAll.value),
  write: () => withLetters(({ newLetter }) => newLetter({})),
  search: () => document.getElementById('mail-search')?.focus(),
  undo: () => void runUndo(),
  help() {
    helpOpen.value = true
  },
}

function act(name: KeyName, keyed: Keyed): void {
  const { list, isReading, message, open } = keyed
  plain[name]?.(keyed)
  const row = list.row(list.cursor.value)
  if (name === 'reply' || name === 'replyAll' || name === 'forward') {
    const at = message ?? (row && { mailbox: row.mailbox, uid: row.id })
    if (at) withLetters(({ answer }) => answer(at, name))
    return
  }
  if (list.isAll.value && message === null) {
    actOnAll(name, list)
    return
  }
  const places = placesFor(keyed)
  if (places.length === 0) return
  if (name === 'flag') void setFlag(places, { flagged: row?.flagged !== true })
  if (name === 'unread') {
    if (isReading) open(undefined)
    void setFlag(places, { seen: false })
  }
  if (name !== 'archive' && name !== 'junk' && name !== 'delete') return
  const index = message === null ? -1 : list.indexOf(message.mailbox, message.uid)
  if (isReading) open(index < 0 ? undefined : (list.row(index + 1) ?? list.row(index - 1)))
  if (name === 'delete') return void remove(places)
  void moveFor(places, useFor(name, places[0]?.mailbox ?? ''))
}

function useFor(name: 'archive' | 'junk', mailbox: string) {
  if (name === 'archive') return '\\Archive'
  return folderOf(mailbox)?.specialUse === '\\Junk' ? 'INBOX' : '\\Junk'
}

function actOnAll(name: KeyName, list: MessageList): void {
  if (name === 'unread') void applyToAll(list, { seen: false })
  else if (name === 'flag') void applyToAll(list, { flagged: true })
  else if (name === 'delete') void removeAll(list)
  else if (name === 'archive' || name === 'junk') {
    const use = useFor(name, list.of.q === '' ? list.of.folder : '')
    folderMade(use).then(folder => moveAll(list, folder), failed)
  }
}

/** What keys act on: the message that is read, else what is selected, else the row they are at. */
function placesFor({ list, message }: Keyed): readonly Place[] {
  if (message !== null) return [{ mailbox: message.mailbox, uids: [message.uid] }]
  const chosen = selectedPlaces(list)
  const row = list.row(list.cursor.value)
  return chosen.length > 0 || row === undefined ? chosen : placesOf([row])
}

/** From the message that is read, however it was come to (a link, a reload, the way back), else from the row that keys are at. */
function step({ list, isReading, message, open }: Keyed, by: number): void {
  if (list.total.value < 0) {
    early = { list, by }
    return
  }
  const read = message === null ? -1 : list.indexOf(message.mailbox, message.uid)
  const from = read < 0 ? list.cursor.value : read
  const index = Math.max(0, Math.min(list.total.value - 1, from + by))
  list.cursor.value = index
  const box = document.querySelector('.mail-list')
  if (box !== null) {
    const top = index * rowHeight
    if (top < box.scrollTop) box.scrollTop = top
    else if (top + rowHeight > box.scrollTop + box.clientHeight) box.scrollTop = top + rowHeight - box.clientHeight
    // In a low window the page scrolls, too.
    box.scrollIntoView({ block: 'nearest' })
  }
  const row = list.row(index)
  if (isReading && row !== undefined) open(row)
}

export function Help() {
  const texts = mailTexts.value
  const names = Object.entries(texts.keyNames) as [KeyName, string][]
  return (
    <Dialog
      title={texts.keysTitle}
      onClose={() => {
        helpOpen.value = false
      }}
    >
      <dl class="mail-help">
        {names.map(([name, text]) => (
          <div key={name}>
            <dt>
              {Object.entries(keys)
                .filter(([, one]) => one === name)
                .map(([key]) => (
                  <kbd key={key}>{key}</kbd>
                ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
