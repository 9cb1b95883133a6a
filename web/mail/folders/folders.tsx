// The folders of the account with their counts: those of special use first, the others as a tree of their paths.
//
// Messages are dropped on them, a new one is made below, and what is changed of one is asked for in front of the page.

import { useSignal } from '@preact/signals'
import { Icon, type IconName } from '../../base/icon.tsx'
import { number } from '../../base/language.ts'
import { IconButton } from '../../base/parts.tsx'
import { at } from '../../base/router.ts'
import { move } from '../actions.ts'
import { dragged } from '../list/list.tsx'
import { owedCounts } from '../owed/owed.ts'
import { type Folder, folderName, folders } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { empty } from './change.ts'
import { FolderDialog, NewFolder } from './dialogs.tsx'
import { inTree } from './tree.ts'

const order = ['INBOX', '\\Drafts', '\\Sent', '\\Archive', '\\Junk', '\\Trash']
const icons: Readonly<Record<string, IconName>> = {
  INBOX: 'mail',
  '\\Drafts': 'edit',
  '\\Sent': 'forward',
  '\\Archive': 'archive',
  '\\Junk': 'alert',
  '\\Trash': 'trash',
}

function useOf({ path, specialUse }: Folder): string {
  return path === 'INBOX' ? path : specialUse || ''
}

export function Folders({ current }: { readonly current: string }) {
  const texts = mailTexts.value
  const isNaming = useSignal(false)
  const all = folders.value ?? []
  const rank = (folder: Folder) => {
    const at = order.indexOf(useOf(folder))
    return at < 0 ? order.length : at
  }
  const sorted = inTree(all).toSorted((a, b) => rank(a) - rank(b))
  return (
    <nav class="mail-folders" aria-label={texts.folders}>
      <ul>
        {sorted.map(folder => (
          <FolderLine key={folder.id} folder={folder} isCurrent={folder.id === current} />
        ))}
      </ul>
      <button
        type="button"
        class="link"
        onClick={() => {
          isNaming.value = true
        }}
      >
        <Icon name="plus" />
        <span>{texts.newFolder}</span>
      </button>
      {isNaming.value && (
        <NewFolder
          onClose={() => {
            isNaming.value = false
          }}
        />
      )}
    </nav>
  )
}

function FolderLine({ folder, isCurrent }: { readonly folder: Folder; readonly isCurrent: boolean }) {
  const texts = mailTexts.value
  const isOver = useSignal(false)
  const isEdited = useSignal(false)
  const use = useOf(folder)
  const name = folderName(folder)
  const depth = use === '' ? folder.path.split('/').length - 1 : 0
  const isDrafts = use === '\\Drafts'
  const owing = owedCounts(folder.id)
  const count = Math.max(0, isDrafts ? (folder.total ?? 0) + owing.total : (folder.unseen ?? 0) + owing.unseen)
  const said = isDrafts ? texts.total(number(count)) : texts.unread(number(count))
  const drop = (event: DragEvent) => {
    event.preventDefault()
    isOver.value = false
    void move(dragged.value, folder)
  }
  return (
    <li
      class={isOver.value ? 'over' : undefined}
      style={{ '--depth': String(depth) }}
      onDragOver={event => {
        if (dragged.value.length === 0) return
        event.preventDefault()
        isOver.value = true
      }}
      onDragLeave={() => {
        isOver.value = false
      }}
      onDrop={drop}
    >
      <a
        href={at(`/mail/${folder.id}`)}
        aria-current={isCurrent ? 'page' : undefined}
        class={count > 0 && !isDrafts ? 'news' : undefined}
      >
        <Icon name={icons[use] ?? 'folder'} />
        <bdi>{name}</bdi>
        {count > 0 && (
          <span class="count">
            <span aria-hidden="true">{number(count)}</span>
            <span class="unseen">{said}</span>
          </span>
        )}
      </a>
      <span class="mail-folder-tools">
        {(use === '\\Trash' || use === '\\Junk') && (folder.total ?? 0) > 0 && (
          <IconButton icon="close" label={texts.folder.empty(name)} onClick={() => void empty(folder)} />
        )}
        <IconButton
          icon="settings"
          label={texts.folder.change(name)}
          onClick={() => {
            isEdited.value = true
          }}
        />
      </span>
      {isEdited.value && (
        <FolderDialog
          folder={folder}
          onClose={() => {
            isEdited.value = false
          }}
        />
      )}
    </li>
  )
}
