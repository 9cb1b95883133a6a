// What is done to everything that a list has, were it 300,000 messages: one call starts a task of the service, and one call moves it
// all back.
//
// The task goes on when the page is closed. What was left out of it is said in the search language, as far as that is short enough.

import { signal } from '@preact/signals'
import { call, isAway, Refusal } from '../../base/client.ts'
import { ask } from '../../base/dialog.tsx'
import { number } from '../../base/language.ts'
import { done, failed } from '../../base/notice.tsx'
import { offer, type Place } from '../actions.ts'
import { type Folder, folderFor, folderName, folderOf, forgetLists, loadFolders, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import type { MessageList } from './message-list.ts'
import { countSelected, selectAll, selectedPlaces } from './selection.ts'
import { criteria } from './sources.ts'

export interface BulkAction {
  readonly moveTo?: string
  readonly seen?: boolean
  readonly flagged?: boolean
  readonly delete?: boolean
}

/** What is on its way now. */
export const working = signal<{ readonly changed: number; readonly of: number } | null>(null)

/** The service takes no longer text for a search. */
const queryMax = 1000
const askedMs = 250
/** The service does not answer. */
const notBegun = 'NotBegun'

interface Came {
  readonly mailbox: string
  readonly messages: string
}

interface Result {
  readonly found?: number
  readonly changed?: number
  readonly moved?: readonly Came[]
}

/** All but these, as the search language says it; undefined where that is too long to say. */
function but(places: readonly Place[]): string | undefined {
  const text = places.map(({ mailbox, uids }) => `-(mailbox:${mailbox} id:${uids.join(',')})`).join(' ')
  return text.length > queryMax ? undefined : text
}

async function run(body: Record<string, unknown> & { action: BulkAction }, total: number): Promise<Result> {
  const begun = call('POST /users/:user/search', { params: { user: user() }, body })
  const { scheduled } = await begun.catch(error => {
    throw isAway(error) ? new Refusal(0, notBegun, mailTexts.value.allWhenThere) : error
  })
  try {
    for (;;) {
      working.value = { changed: working.value?.changed ?? 0, of: total }
      await new Promise(resolve => setTimeout(resolve, askedMs))
      const task = await call('GET /users/:user/tasks/:task', { params: { user: user(), task: scheduled } })
      const result = task.result as Result
      working.value = { changed: result.changed ?? 0, of: result.found ?? total }
      if (task.state === 'done') return result
      if (task.state === 'failed') throw new Error(String(task.result.error))
    }
  } finally {
    working.value = null
    forgetLists()
    loadFolders().catch(() => {})
  }
}

/** Does it to everything that is selected where that is all. */
export async function applyToAll(list: MessageList, action: BulkAction): Promise<void> {
  const texts = mailTexts.value
  const shown = folderOf(list.of.folder)
  const { q = '', ...asked } = { q: '', ...criteria(list.of, shown) }
  const others = but(selectedPlaces(list))
  if (others === undefined) return failed(new Refusal(0, 'TooManyLeftOut', texts.tooManyLeftOut))
  const count = countSelected(list)
  if (action.delete === true) {
    const text = texts.deleteAllText(number(count))
    if (!(await ask({ title: texts.deleteAll, text, action: texts.delete, danger: true }))) return
  }
  const selected = list.selected.value
  selectAll(list, false)
  const wanted = q !== '' && others !== '' ? `(${q}) ${others}` : q + others
  try {
    const result = await run({ ...asked, ...(wanted !== '' && { q: wanted }), action }, count)
    say(result, action)
  } catch (error) {
    failed(error)
    if (!(error instanceof Refusal) || error.code !== notBegun) return
    // What was chosen stays so, to be tried again.
    list.isAll.value = true
    list.selected.value = selected
  }
}

function say({ changed = 0, moved = [] }: Result, { moveTo }: BulkAction): void {
  const texts = mailTexts.value
  const to = moveTo === undefined ? undefined : folderOf(moveTo)
  const text = to === undefined ? texts.changed(number(changed)) : texts.moved(number(changed), folderName(to))
  if (to === undefined || moved.length === 0) {
    done(text)
    return
  }
  const back = async () => {
    for (const { mailbox, messages } of moved) {
      await run({ mailbox: [to.id], id: messages, action: { moveTo: mailbox } }, changed)
    }
  }
  offer({ text, label: texts.undo, run: back })
}

/** Into the Trash; from there, and drafts, for good. */
export async function removeAll(list: MessageList): Promise<void> {
  const trash = folderFor('\\Trash')
  const { folder, q } = list.of
  const isFinal = q === '' && (folder === trash?.id || folderOf(folder)?.specialUse === '\\Drafts')
  await applyToAll(list, isFinal || trash === undefined ? { delete: true } : { moveTo: trash.id })
}

export async function moveAll(list: MessageList, to: Folder): Promise<void> {
  await applyToAll(list, { moveTo: to.id })
}
