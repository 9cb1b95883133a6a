// The address book of an account: whom it has written to or heard from, latest first. The table, its reads and writes.
//
// Nobody waits for what is noted here: it is a help, and learned again when it is lost.

import { domainsToUnicode } from '#mail/address/address.ts'
import { boolean, integer, moment, text } from '../engine/column.ts'
import { greatest } from '../engine/dialect.ts'
import { containing } from '../engine/like.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

const entries = table(
  'register',
  {
    id: text,
    /** Number of the account. */
    user: integer,
    /** The address as it is compared. */
    key: text,
    address: text,
    name: text,
    used: moment,
    disabled: boolean,
    /** The account itself wrote to it, put it among its contacts, or took a message of it out of Junk. */
    known: boolean,
  },
  {
    key: ['id'],
    clustered: true,
    indexes: { register_key: { on: ['user', 'key'], unique: true }, register_used: { on: ['user', 'used'] } },
  },
)

export type AddressBookEntry = RowOf<typeof entries>
/** `id` is for a new entry; what is not `known` takes nothing from one that is. */
export type AddressBookNote = Omit<AddressBookEntry, 'disabled'>

export const addressBookInsert = entries.defineInsert()

const noteEntry = `INSERT INTO register (id, "user", key, address, name, used, disabled, known)
  SELECT @id, @user, @key, @address, @name, @used, 0, @known FROM "user" WHERE num = @user AND deleted IS NULL
  ON CONFLICT ("user", key) DO UPDATE SET used = ${greatest('register.used', 'excluded.used')},
    known = ${greatest('register.known', 'excluded.known')}, address = excluded.address,
    name = CASE WHEN register.name = '' THEN excluded.name ELSE register.name END`

const trimEntries = defineProcedure(
  'register_trim',
  '_user bigint, _most bigint',
  `BEGIN
  IF (SELECT count(*) FROM register WHERE "user" = _user) <= _most THEN RETURN; END IF;
  DELETE FROM register WHERE id IN
    (SELECT id FROM register WHERE "user" = _user ORDER BY known DESC, used DESC OFFSET _most);
END`,
)

/** Notes addresses that were used; an address book keeps `entriesMax`: whom the account knows, and then the latest. */
export const addressBookNote = defineWrite<{ notes: readonly AddressBookNote[]; entriesMax: number }>(
  'register.note',
  (sql, { notes, entriesMax }) => {
    for (const note of notes) {
      sql(noteEntry).run({ ...note, known: note.known ? 1 : 0 })
    }
    for (const user of new Set(notes.map(note => note.user))) {
      const { n } = sql('SELECT count(*) AS n FROM register WHERE "user" = ?').get(user) as { n: number }
      if (n <= entriesMax) continue
      sql(`DELETE FROM register WHERE id IN
        (SELECT id FROM register WHERE "user" = ? ORDER BY known DESC, used DESC LIMIT -1 OFFSET ?)`).run(
        user,
        entriesMax,
      )
    }
  },
  {
    told: (sql, { notes, entriesMax }) => {
      for (const note of notes) sql(noteEntry).run({ ...note, known: note.known ? 1 : 0 })
      for (const user of new Set(notes.map(note => note.user))) sql(trimEntries.call).run(user, entriesMax)
    },
  },
)

export const addressBookUpdate = defineWrite<{ id: string; name: string | null; disabled: number }>(
  'register.update',
  (sql, row) => {
    sql('UPDATE register SET name = coalesce(@name, name), disabled = @disabled WHERE id = @id').run(row)
  },
)

/** Entries whose address has `query` in it or whose name begins with it, the latest used first. */
export async function searchAddressBook(
  read: Reader,
  user: number,
  query: string,
  count: number,
): Promise<AddressBookEntry[]> {
  const [inAddress, part] = containing('address', domainsToUnicode(query))
  const [inName, pattern] = containing('name', query)
  return await entries.all(
    read,
    `WHERE "user" = ? AND disabled = 0
     AND (${inAddress} OR ${inName}) ORDER BY used DESC, id DESC LIMIT ?`,
    user,
    part,
    pattern.slice(1),
    count,
  )
}

export async function findAddressBookEntry(
  read: Reader,
  user: number,
  id: string,
): Promise<AddressBookEntry | undefined> {
  return await entries.one(read, 'WHERE id = ? AND "user" = ?', id, user)
}

checkParts.push({
  rules: [
    {
      says: 'every entry of an address register has its account',
      query: 'SELECT id FROM register AS o WHERE NOT EXISTS (SELECT 1 FROM "user" AS i WHERE i.num = o."user")',
    },
  ],
})

/** What an account says by taking a message for spam that proved to be of this address. */
export const addressBookForget = defineWrite<{ user: number; keys: readonly string[] }>(
  'register.forget',
  (sql, { user, keys }) => {
    for (const key of keys) sql('UPDATE register SET known = 0 WHERE "user" = ? AND key = ?').run(user, key)
  },
)

/** Whether an account knows this address, by its key, from what it did itself: being written to by it is not enough. */
export async function isKnown(read: Reader, user: number, key: string): Promise<boolean> {
  return (await read.one('SELECT 1 FROM register WHERE "user" = ? AND key = ? AND known = 1', user, key)) !== undefined
}

/** Whether an account's address book has this address, by its key. */
export async function isInAddressBook(read: Reader, user: number, key: string): Promise<boolean> {
  return (await read.one('SELECT 1 FROM register WHERE "user" = ? AND key = ?', user, key)) !== undefined
}
