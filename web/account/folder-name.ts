// What a folder is called on the pages of an account: those that everybody has by their names in the language, others by their path.

import { baseTexts } from '../texts/texts.ts'

export function folderName({
  path,
  specialUse,
}: {
  readonly path: string
  readonly specialUse?: string | false | null
}): string {
  const { folderNames } = baseTexts.value
  const key = path === 'INBOX' ? path : specialUse || ''
  return folderNames[key as keyof typeof folderNames] ?? path
}
