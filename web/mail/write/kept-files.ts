// Files on their way to the service, as this browser keeps them meanwhile: a page that is loaded anew goes on with them.
//
// Each is of a letter (letter.ts) and goes with it, or when the service has it. What finds no room is not kept, and whoever asked is told.
// Who acts as somebody else leaves none here.

import { doing } from '../../base/kept.ts'
import { session } from '../../base/session.ts'
import { user } from '../store.ts'

/** Bytes of all files that are kept here. */
const bytesMax = 100 * 2 ** 20

interface KeptFile {
  /** Account, letter, and which of its files. */
  readonly key: string
  readonly file: File
}

let made = 0

/** A name for a file of a letter, after those that were made before. */
export function newFileId(): string {
  made += 1
  return `${Date.now()}.${String(made).padStart(6, '0')}`
}

function keyOf(letter: string, id: string): string {
  return `${user()} ${letter} ${id}`
}

/** @returns false where there is no room for it */
export async function keepFile(letter: string, id: string, file: File): Promise<boolean> {
  if (session.value?.acting !== undefined) return false
  let hasRoom = false
  const entry: KeptFile = { key: keyOf(letter, id), file }
  const done = await doing('files', 'readwrite', store => {
    const asking = store.getAll()
    asking.addEventListener('success', () => {
      const taken = (asking.result as KeptFile[]).reduce((sum, one) => sum + one.file.size, 0)
      hasRoom = taken + file.size <= bytesMax
      if (hasRoom) store.put(entry)
    })
    return asking
  })
  return done !== undefined && hasRoom
}

/** Files of a letter in the order in which they were attached. */
export async function keptFiles(letter: string): Promise<{ id: string; file: File }[]> {
  const range = below(`${user()} ${letter}`)
  const found = (await doing('files', 'readonly', store => store.getAll(range))) as KeptFile[] | undefined
  return (found ?? []).map(({ key, file }) => ({ id: key.slice(key.lastIndexOf(' ') + 1), file }))
}

export async function forgetFile(letter: string, id: string): Promise<void> {
  await doing('files', 'readwrite', store => store.delete(keyOf(letter, id)))
}

/** Those of a letter, or of all the account's. */
export async function forgetFiles(letter?: string): Promise<void> {
  const range = below(letter === undefined ? user() : `${user()} ${letter}`)
  await doing('files', 'readwrite', store => store.delete(range))
}

/** Letters of the account that files are kept of. */
export async function lettersWithFiles(): Promise<ReadonlySet<string>> {
  const range = below(user())
  const keys = (await doing('files', 'readonly', store => store.getAllKeys(range))) as string[] | undefined
  return new Set((keys ?? []).map(key => key.split(' ')[1] ?? ''))
}

function below(start: string): IDBKeyRange {
  return IDBKeyRange.bound(`${start} `, `${start}!`, false, true)
}
