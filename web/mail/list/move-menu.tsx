// The menu of folders that messages are moved to.

import { Icon } from '../../base/icon.tsx'
import { move, type Place } from '../actions.ts'
import { type Folder, folderPath, folders } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'

export function MoveMenu({ act }: { act(run: (places: readonly Place[]) => Promise<void>): void }) {
  return <FolderMenu go={folder => act(places => move(places, folder))} />
}

/** The same for who says what is moved. */
export function FolderMenu({ go }: { go(folder: Folder): void }) {
  const texts = mailTexts.value
  return (
    <span class="mail-move" title={texts.move}>
      <Icon name="folder" />
      <select
        aria-label={texts.move}
        value=""
        onChange={event => {
          const folder = folders.value?.find(one => one.id === event.currentTarget.value)
          event.currentTarget.value = ''
          if (folder !== undefined) go(folder)
        }}
      >
        <option value="">{texts.move}</option>
        {(folders.value ?? []).map(folder => (
          <option key={folder.id} value={folder.id}>
            {folderPath(folder)}
          </option>
        ))}
      </select>
    </span>
  )
}
