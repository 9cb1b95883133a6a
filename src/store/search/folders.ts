// Which folders a search means: by id, by path or by what they are for, as people and mail programs name them.
//
// A path that is there comes before a role of that name, and a role before a path in other case. Nothing is read here: folders
// are those of the account that searches.

import { isId } from '#lib/id.ts'
import { normalizePath } from '#mail/path.ts'
import type { FolderLeaf } from '#mail/query/query.ts'

export interface Folder {
  readonly num: number
  readonly id: string
  readonly path: string
  readonly specialUse: string | null
}

/** The folders that a leaf names. */
export function foldersOf(leaf: FolderLeaf, folders: readonly Folder[]): readonly Folder[] {
  if (leaf.op === 'mailbox') return folders.filter(({ id }) => id === leaf.id)
  if (leaf.op === 'searchable') {
    return folders.filter(({ specialUse }) => specialUse !== '\\Junk' && specialUse !== '\\Trash')
  }
  const { name } = leaf
  const path = normalizePath(name)
  const byPath = folders.filter(
    folder => folder.path === path || (isId(name.toLowerCase()) && folder.id === name.toLowerCase()),
  )
  if (byPath.length > 0) return byPath
  const lower = path.toLowerCase()
  const role = roles[lower]
  const byRole = role === undefined ? [] : folders.filter(folder => folder.specialUse === role)
  return byRole.length > 0 ? byRole : folders.filter(folder => folder.path.toLowerCase() === lower)
}

const roles: Readonly<Record<string, string>> = {
  sent: '\\Sent',
  trash: '\\Trash',
  drafts: '\\Drafts',
  draft: '\\Drafts',
  junk: '\\Junk',
  spam: '\\Junk',
  archive: '\\Archive',
}
