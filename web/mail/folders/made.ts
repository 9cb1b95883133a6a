// Folders of a use that messages are moved to: where there is no archive yet, it is made.

import { call, Refusal } from '../../base/client.ts'
import { type Folder, folderFor, folders, loadFolders, user } from '../store.ts'

export type Use = '\\Archive' | '\\Junk' | '\\Trash' | 'INBOX'

/** The folder of a use; the archive is made where there is none. @throws Refusal */
export async function folderMade(use: Use): Promise<Folder> {
  const found = folderFor(use)
  if (found !== undefined) return found
  if (use !== '\\Archive') throw new Refusal(404, 'NoSuchMailbox', '')
  return archiveMade()
}

async function archiveMade(): Promise<Folder> {
  const path = 'Archive'
  const found = () => folders.value?.find(folder => folder.path === path)
  const known = found()
  if (known !== undefined) return known
  // Another window may have made it in this moment: what counts is that it is there.
  const refused = await call('POST /users/:user/mailboxes', { params: { user: user() }, body: { path } }).catch(
    (error: unknown) => error,
  )
  await loadFolders()
  const made = found()
  if (made === undefined) throw refused
  return made
}
