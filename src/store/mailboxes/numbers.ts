// Folders and messages for those who hold one name of them and need another: ids outside, numbers inside.

import type { Reader } from '../engine/reader.ts'

/** The number of the folder with this id, whosever it is. */
export async function mailboxNumber(read: Reader, id: string): Promise<number | undefined> {
  return (await read.one<{ num: number }>('SELECT num FROM mailbox WHERE id = ?', id))?.num
}

/** The number of this folder of an account, both by id. */
export async function mailboxNumberOf(read: Reader, user: string, id: string): Promise<number | undefined> {
  return (
    await read.one<{ num: number }>(
      'SELECT m.num FROM mailbox m JOIN "user" u ON u.num = m."user" WHERE m.id = ? AND u.id = ?',
      id,
      user,
    )
  )?.num
}

/** All folders of an account, by its id. */
export async function mailboxNumbers(read: Reader, user: string): Promise<number[]> {
  const text = 'SELECT m.num FROM mailbox m JOIN "user" u ON u.num = m."user" WHERE u.id = ?'
  return (await read.all<{ num: number }>(text, user)).map(({ num }) => num)
}

/** The id of an account's folder, also of one that was deleted. */
export async function mailboxIdOf(read: Reader, user: number, num: number): Promise<string | undefined> {
  const here = await read.one<{ id: string }>('SELECT id FROM mailbox WHERE num = ?', num)
  const text = 'SELECT id FROM removed_mailbox WHERE "user" = ? AND mailbox = ? ORDER BY modseq DESC LIMIT 1'
  return (here ?? (await read.one<{ id: string }>(text, user, num)))?.id
}

/** Whether a folder holds a message of this uid. */
export async function hasMessage(read: Reader, mailbox: number, uid: number): Promise<boolean> {
  return (await read.one('SELECT 1 FROM message WHERE mailbox = ? AND uid = ?', mailbox, uid)) !== undefined
}
