// What stands above the list: what it is of and how much, and what can be done to what is selected.
//
// Some are named by their numbers; all that a list has is meant by one call, however many that are (bulk.ts).

import { Icon, type IconName } from '../../base/icon.tsx'
import { number } from '../../base/language.ts'
import { failed } from '../../base/notice.tsx'
import { owner } from '../../base/session.ts'
import { baseTexts } from '../../texts/texts.ts'
import { move, moveFor, type Place, remove, setFlag } from '../actions.ts'
import { folderMade } from '../folders/made.ts'
import { type Folder, folderName, folderOf } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { applyToAll, type BulkAction, moveAll, removeAll, working } from './bulk.ts'
import type { MessageList } from './message-list.ts'
import { FolderMenu } from './move-menu.tsx'
import { countSelected, selectAll, selectedPlaces } from './selection.ts'
import { byConversation, setByConversation } from './sources.ts'

/** Does something to what is selected: to some by their numbers, to all by one call. */
function acting(list: MessageList) {
  const taken = (): readonly Place[] => {
    const places = selectedPlaces(list)
    selectAll(list, false)
    return places
  }
  return {
    flag: (change: Pick<BulkAction, 'seen' | 'flagged'>) => {
      void (list.isAll.value ? applyToAll(list, change) : setFlag(taken(), change))
    },
    remove: () => void (list.isAll.value ? removeAll(list) : remove(taken())),
    move: (to: Folder | undefined) => {
      if (to !== undefined) void (list.isAll.value ? moveAll(list, to) : move(taken(), to))
    },
    moveInto: (use: '\\Archive' | '\\Junk' | 'INBOX') => {
      if (list.isAll.value) folderMade(use).then(to => moveAll(list, to), failed)
      else void moveFor(taken(), use)
    },
  }
}

export function Toolbar({ list }: { readonly list: MessageList }) {
  const texts = mailTexts.value
  const { folder, q, thread } = list.of
  const count = countSelected(list)
  const shown = folderOf(folder)
  const isJunk = shown?.specialUse === '\\Junk' && q === ''
  const act = acting(list)
  const all = (
    <input
      type="checkbox"
      aria-label={texts.selectAll}
      title={texts.selectAll}
      checked={count > 0 && list.isAll.value}
      ref={element => {
        if (element !== null) element.indeterminate = count > 0 && !(list.isAll.value && list.selected.value.size === 0)
      }}
      onClick={event => selectAll(list, event.currentTarget.checked)}
    />
  )
  if (count === 0 && !list.isAll.value) {
    return (
      <div class="mail-tools">
        {all}
        <h2>
          <bdi>{thread !== '' ? texts.conversation : q !== '' ? texts.search : nameOf(folder)}</bdi>
        </h2>
        <Count list={list} />
        {thread === '' && q === '' && (
          <button
            type="button"
            class="plain"
            aria-pressed={byConversation.value}
            title={texts.byConversation}
            aria-label={texts.byConversation}
            onClick={() => setByConversation(!byConversation.value)}
          >
            <Icon name="list" />
          </button>
        )}
      </div>
    )
  }
  const button = (icon: IconName, label: string, run: () => void) => (
    <button type="button" class="plain" title={label} aria-label={label} onClick={run}>
      <Icon name={icon} />
    </button>
  )
  return (
    <div class="mail-tools" role="toolbar" aria-label={texts.selected(number(count))}>
      {all}
      <strong>{list.isAll.value ? texts.allSelected(number(count)) : texts.selected(number(count))}</strong>
      {button('archive', texts.archive, () => act.moveInto('\\Archive'))}
      {button('alert', isJunk ? texts.notJunk : texts.junk, () => act.moveInto(isJunk ? 'INBOX' : '\\Junk'))}
      {button('trash', texts.delete, act.remove)}
      {button('check', texts.markRead, () => act.flag({ seen: true }))}
      {button('mail', texts.markUnread, () => act.flag({ seen: false }))}
      <FolderMenu go={act.move} />
      {button('close', texts.selectNone, () => selectAll(list, false))}
    </div>
  )
}

/** Only that of the Inbox is known before folders are. */
function nameOf(id: string): string {
  const folder = folderOf(id)
  if (folder !== undefined) return folderName(folder)
  return id === owner().inbox ? baseTexts.value.folderNames.INBOX : ''
}

function Count({ list }: { readonly list: MessageList }) {
  const texts = mailTexts.value
  const total = number(Math.max(0, list.total.value))
  const { q, thread } = list.of
  const isSearch = q !== '' && thread === ''
  const said = isSearch
    ? list.isPartial.value
      ? texts.foundSome(total)
      : texts.found(total)
    : thread === '' && byConversation.value
      ? texts.conversations(total)
      : texts.total(total)
  return (
    <span class="hint" role="status">
      {said}
    </span>
  )
}

/** How far a task is that changes very many. */
export function Working() {
  const now = working.value
  if (now === null) return null
  const texts = mailTexts.value
  return (
    <p class="mail-note" role="status">
      <span class="spinner" aria-hidden="true" />
      {texts.working(number(now.changed), number(now.of))}
    </p>
  )
}
