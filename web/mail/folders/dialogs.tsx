// A new folder, and what can be changed of one that is there: its name, what it lies in, whether mail programs show it, how long
// what is in it is kept.
//
// The inbox and folders of special use keep their names and places, as the service wants it.

import { call } from '../../base/client.ts'
import { Dialog } from '../../base/dialog.tsx'
import {
  CheckField,
  FieldErrors,
  Form,
  type Options,
  SelectField,
  Submit,
  TextField,
  useForm,
} from '../../base/form.tsx'
import { shownName } from '../../base/names.ts'
import { type Folder, folderName, folders, loadFolders, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { deleteFolder, empty, isDeletable, named } from './change.ts'
import { inTree } from './tree.ts'

const dayMs = 86_400_000
const daysMax = 36_500

/** Folders that one can be put into, by path; the folder itself and what lies below it are left out. */
function parents(own: string | undefined): Options {
  const isBelow = (path: string) => own !== undefined && (path === own || path.startsWith(`${own}/`))
  const others = (folders.value ?? []).filter(({ path, specialUse }) => !isBelow(path) && !isKept(path, specialUse))
  const pairs = inTree(others).map(({ path }) => [path, shownName(path)])
  return Object.fromEntries([['', mailTexts.value.folder.top], ...pairs])
}

function isKept(path: string, specialUse: Folder['specialUse']): boolean {
  return path === 'INBOX' || Boolean(specialUse)
}

const joined = (parent: string, name: string) => (parent === '' ? name.trim() : `${parent}/${name.trim()}`)

export function NewFolder({ onClose }: { onClose(): void }) {
  const texts = mailTexts.value
  const form = useForm({ name: '', parent: '' }, async ({ name, parent }) => {
    const body = { path: joined(parent, name) }
    await named(() => call('POST /users/:user/mailboxes', { params: { user: user() }, body }))
    await loadFolders()
    onClose()
  })
  return (
    <Dialog title={texts.newFolder} onClose={onClose}>
      <Form of={form}>
        <TextField name="name" label={texts.folderPath} autofocus />
        <SelectField name="parent" label={texts.folder.within} options={parents(undefined)} />
        <Submit>{texts.create}</Submit>
      </Form>
    </Dialog>
  )
}

export function FolderDialog({ folder, onClose }: { readonly folder: Folder; onClose(): void }) {
  const texts = mailTexts.value.folder
  const { path, id: mailbox, specialUse, name, subscribed, retention = 0, total = 0 } = folder
  const isNamed = !isKept(path, specialUse)
  const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : ''
  const initial = { name, parent, subscribed, days: retention === 0 ? '' : String(Math.round(retention / dayMs)) }
  const form = useForm(initial, async given => {
    const days = given.days.trim() === '' ? 0 : Number(given.days)
    if (!Number.isInteger(days) || days < 0 || days > daysMax) throw new FieldErrors({ days: texts.notDays })
    const to = joined(given.parent, given.name)
    const change = {
      ...(isNamed && to !== path && { path: to }),
      ...(given.subscribed !== subscribed && { subscribed: given.subscribed }),
      ...(given.days !== initial.days && { retention: days * dayMs }),
    }
    if (Object.keys(change).length > 0) {
      await named(() =>
        call('PUT /users/:user/mailboxes/:mailbox', { params: { user: user(), mailbox }, body: change }),
      )
      await loadFolders()
    }
    onClose()
  })
  // A parent that is of special use stays to be chosen where the folder lies in it.
  const options = { ...parents(path), ...(parent !== '' && { [parent]: shownName(parent) }) }
  return (
    <Dialog title={texts.change(folderName(folder))} onClose={onClose}>
      <Form of={form}>
        {isNamed && (
          <>
            <TextField name="name" label={mailTexts.value.folderPath} autofocus />
            <SelectField name="parent" label={texts.within} options={options} />
          </>
        )}
        <TextField name="days" label={texts.days} hint={texts.daysHint} inputMode="numeric" isCode />
        <CheckField name="subscribed" label={texts.subscribed} hint={texts.subscribedHint} />
        <Submit
          more={
            <>
              {total > 0 && (
                <button type="button" onClick={() => void empty(folder).then(onClose)}>
                  {texts.emptyIt}
                </button>
              )}
              {isDeletable(folder) && (
                <button
                  type="button"
                  class="danger"
                  onClick={() =>
                    void deleteFolder(folder).then(isGone => {
                      if (isGone) onClose()
                    })
                  }
                >
                  {texts.deleteIt}
                </button>
              )}
            </>
          }
        >
          {texts.save}
        </Submit>
      </Form>
    </Dialog>
  )
}
