// What is done to folders as a whole: emptied, deleted, and what the service refuses of their names said in the reader's language.
//
// Before anything goes somebody says yes, and is told what is in it: messages, and filters that file into it.

import { call, Refusal } from '../../base/client.ts'
import { ask } from '../../base/dialog.tsx'
import { FieldErrors } from '../../base/form.tsx'
import { number } from '../../base/language.ts'
import { done, failed } from '../../base/notice.tsx'
import { type Folder, folderName, folders, forgetFolder, forgetLists, loadFolders, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'

/** From so many messages on the service goes on by itself. */
const atOnceMax = 5000

/** Whether the service would delete it. */
export function isDeletable({ path, specialUse, hidden }: Folder): boolean {
  return path !== 'INBOX' && !specialUse && !hidden
}

/** Deletes everything in a folder. */
export async function empty(folder: Folder): Promise<void> {
  const texts = mailTexts.value.folder
  const { total = 0 } = await fresh(folder)
  const name = folderName(folder)
  const question = { title: texts.empty(name), text: texts.emptyText(number(total)), action: texts.emptyNow }
  if (!(await ask({ ...question, danger: true }))) return
  try {
    const params = { user: user(), mailbox: folder.id }
    const query = total > atOnceMax ? { async: true } : {}
    await call('DELETE /users/:user/mailboxes/:mailbox/messages', { params, query })
    done(texts.emptied(name))
    await loadFolders()
    forgetLists()
  } catch (error) {
    failed(error)
  }
}

/** Deletes a folder with what is in it. Answers whether it did. */
export async function deleteFolder(folder: Folder): Promise<boolean> {
  const texts = mailTexts.value.folder
  try {
    const [{ total = 0, unseen = 0 }, { results }] = await Promise.all([
      fresh(folder),
      call('GET /users/:user/filters', { params: { user: user() } }),
    ])
    const filters = results.filter(one => one.originalAction.mailbox === folder.id).length
    const below = (folders.value ?? []).filter(one => one.path.startsWith(`${folder.path}/`)).length
    const text = [
      total === 0 ? texts.holdsNothing : texts.holds(number(total), number(unseen)),
      ...(filters > 0 ? [texts.filtersGo(number(filters))] : []),
      ...(below > 0 ? [texts.belowStays(number(below))] : []),
    ].join(' ')
    if (!(await ask({ title: texts.delete(folderName(folder)), text, action: texts.deleteNow, danger: true })))
      return false
    await call('DELETE /users/:user/mailboxes/:mailbox', { params: { user: user(), mailbox: folder.id } })
    forgetFolder(folder.id)
    done(texts.deleted(folderName(folder)))
    return true
  } catch (error) {
    failed(error)
    return false
  }
}

function fresh({ id: mailbox }: Folder) {
  return call('GET /users/:user/mailboxes/:mailbox', { params: { user: user(), mailbox } })
}

/** What is wrong with the name of a folder stands below that name. */
export async function named(run: () => Promise<unknown>): Promise<void> {
  const texts = mailTexts.value.folder
  try {
    await run()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.code === 'MailboxExistsError') throw new FieldErrors({ name: texts.exists })
    if (error.details.path !== undefined || error.code === 'DisallowedMailboxMethod')
      throw new FieldErrors({ name: texts.notAName })
    throw error
  }
}
