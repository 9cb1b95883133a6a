// The address register of an account: whom it has written to or heard from, latest first.

import { checkParts } from './check.ts'
import type { Reader } from './reader.ts'
import { containing } from './users.ts'

export interface RegisterEntry {
  readonly id: string
  readonly user: number
  readonly address: string
  readonly name: string
  readonly used: number
  readonly disabled: number
}

const columns = 'id, user, address, name, used, disabled'

/** Entries whose address has `query` in it or whose name begins with it, the latest used first. */
export async function searchRegister(
  read: Reader,
  user: number,
  query: string,
  count: number,
): Promise<RegisterEntry[]> {
  const [inAddress, pattern] = containing('address', query)
  const [inName] = containing('name', query)
  return read.all<RegisterEntry>(
    `SELECT ${columns} FROM register WHERE user = ? AND disabled = 0
     AND (${inAddress} OR ${inName}) ORDER BY used DESC, id DESC LIMIT ?`,
    user,
    pattern,
    pattern.slice(1),
    count,
  )
}

export async function findRegisterEntry(read: Reader, user: number, id: string): Promise<RegisterEntry | undefined> {
  return read.one<RegisterEntry>(`SELECT ${columns} FROM register WHERE id = ? AND user = ?`, id, user)
}

checkParts.push({
  rules: [
    {
      says: 'every entry of an address register has its account',
      query: 'SELECT id FROM register WHERE user NOT IN (SELECT num FROM user)',
    },
  ],
})
