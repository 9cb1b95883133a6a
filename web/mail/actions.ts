// What is done to messages: flags, moving, deleting. The list shows it at once; where the service refuses, it is shown as it is.
//
// Everything that moves can be undone for a while: what was moved is moved back, by the numbers it got.

import { signal } from '@preact/signals'
import { call } from '../base/client.ts'
import { number } from '../base/language.ts'
import { failed } from '../base/notice.tsx'
import {
  type Folder,
  folderFor,
  folderName,
  folderOf,
  folders,
  forgetLists,
  listsOf,
  loadFolders,
  user,
} from './store.ts'
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

export function offer(offered: Undo, ms = undoMs): void {
  clearTimeout(timer)
  undo.value = offered
  timer = setTimeout(() => {
    if (undo.value === offered) undo.value = null
  }, ms)
}

export async function runUndo(): Promise<void> {
  const offered = undo.value
  undo.value = null
  await offered?.run().catch(failed)
}

const updating = 'PUT /users/:user/mailboxes/:mailbox/messages'

export async function setFlag(places: readonly Place[], change: { seen?: boolean; flagged?: boolean }): Promise<void> {
  for (const { mailbox, uids } of places)
    for (const list of listsOf(mailbox)) list.patch(mailbox, new Set(uids), change)
  try {
    for (const { mailbox, uids } of places) {
      const params = { user: user(), mailbox }
      await call(updating, { params, body: { message: uids.join(','), ...change } })
    }
  } catch (error) {
    failed(error)
    forgetLists()
  }
}

/** Moves messages, and offers to move them back. */
export async function move(places: readonly Place[], to: Folder): Promise<void> {
  const texts = mailTexts.value
  const moved: { from: string; uids: number[] }[] = []
  try {
    for (const { mailbox, uids } of places) {
      if (mailbox === to.id) continue
      for (const list of listsOf(mailbox)) list.take(mailbox, new Set(uids))
      const params = { user: user(), mailbox }
      const { id = [] } = await call(updating, { params, body: { message: uids.join(','), moveTo: to.id } })
      moved.push({ from: mailbox, uids: id.map(pair => pair[1] ?? 0) })
    }
  } catch (error) {
    failed(error)
    forgetLists()
  }
  const count = moved.reduce((sum, one) => sum + one.uids.length, 0)
  if (count === 0) return
  offer({
    text: texts.moved(number(count), folderName(to)),
    label: texts.undo,
    async run() {
      for (const { from, uids } of moved) {
        const params = { user: user(), mailbox: to.id }
        await call(updating, { params, body: { message: uids.join(','), moveTo: from } })
      }
      forgetLists()
    },
  })
}

/** Moves to the folder of a use; where there is none says so. */
export async function moveFor(
  places: readonly Place[],
  use: '\\Archive' | '\\Junk' | '\\Trash' | 'INBOX',
): Promise<void> {
  const found = await folderMade(use)
  if (found !== undefined) await move(places, found)
}

/** The folder of a use; the archive is made where there is none. */
export async function folderMade(use: '\\Archive' | '\\Junk' | '\\Trash' | 'INBOX'): Promise<Folder | undefined> {
  return folderFor(use) ?? (use === '\\Archive' ? await makeArchive() : undefined)
}

/** Into the Trash; from there, and drafts, for good (the service keeps what is deleted for a while). */
export async function remove(places: readonly Place[]): Promise<void> {
  const trash = folderFor('\\Trash')
  const final = ({ mailbox }: Place) => mailbox === trash?.id || folderOf(mailbox)?.specialUse === '\\Drafts'
  const others = places.filter(place => !final(place))
  if (others.length > 0 && trash !== undefined) await move(others, trash)
  try {
    for (const { mailbox, uids } of places.filter(final)) {
      for (const list of listsOf(mailbox)) list.take(mailbox, new Set(uids))
      for (const message of uids) {
        const params = { user: user(), mailbox, message }
        await call('DELETE /users/:user/mailboxes/:mailbox/messages/:message', { params })
      }
    }
  } catch (error) {
    failed(error)
    forgetLists()
  }
}

async function makeArchive(): Promise<Folder | undefined> {
  const path = 'Archive'
  if (folders.value?.some(folder => folder.path === path) !== true) {
    // Another window may have made it in this moment: what counts is that it is there.
    const refused = await call('POST /users/:user/mailboxes', { params: { user: user() }, body: { path } }).catch(
      (error: unknown) => error,
    )
    await loadFolders()
    if (folders.value?.some(folder => folder.path === path) !== true) failed(refused)
  }
  return folders.value?.find(folder => folder.path === path)
}
