// The contacts of an account: the table, its reads and writes.
//
// A contact is a card (mail/contact/card.ts) with its owner; what it is listed and found by stands beside it. There are
// some thousands of an account at most (limits.contact), so a search through them is short.

import type { Card } from '#mail/contact/card.ts'
import { fold } from '#mail/text/fold.ts'
import { integer, json, moment, text } from '../engine/column.ts'
import { listRows } from '../engine/dialect.ts'
import { containing } from '../engine/like.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

const contacts = table(
  'contact',
  {
    id: text,
    /** Number of the account. */
    user: integer,
    /** The card's own name, which it has everywhere. */
    uid: text,
    /** What it is listed by: the name, folded. */
    sort: text,
    /** What it is found by, folded. */
    words: text,
    card: json<Card>(),
    created: moment,
    changed: moment,
  },
  {
    key: ['id'],
    clustered: true,
    long: ['uid'],
    indexes: {
      contact_uid: { on: ['user', 'uid'], unique: true },
      contact_sort: { on: ['user', 'sort', 'id'] },
    },
  },
)

export type Contact = RowOf<typeof contacts>

export const contactInsert = contacts.defineInsert()

export const contactUpdate = contacts.defineUpdate('update', {
  set: ['uid', 'sort', 'words', 'card', 'changed'],
  by: ['id'],
})

export const contactDelete = defineWrite<{ user: number; ids: readonly string[] }>(
  'contact.delete',
  (sql, { user, ids }) => {
    for (const id of ids) sql('DELETE FROM contact WHERE id = ? AND "user" = ?').run(id, user)
  },
)

/** What is listed and found of a card. */
export function contactWords(card: Card): Pick<Contact, 'uid' | 'sort' | 'words'> {
  const { name, nickname, organization, emails, phones, groups } = card
  const found = [name, nickname, organization, ...emails.map(one => one.value), ...phones.map(one => one.value)]
  const words = fold([...found, ...groups].filter(Boolean).join('\n'))
  return { uid: card.uid, sort: fold(name).slice(0, 200), words }
}

interface ContactPage {
  /** Number of the account. */
  readonly user: number
  /** Part of a name, an address, a number; empty: all. */
  readonly query: string
  /** Only those in this group; null: all. */
  readonly group: string | null
}

/** A page of contacts by name. */
export async function listContacts(
  read: Reader,
  page: ContactPage,
  boundary: readonly [sort: string, id: string] | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<Contact[]> {
  const [sign, order] = direction === 'forward' ? ['>', 'ASC'] : ['<', 'DESC']
  const [sort, id] = boundary ?? (direction === 'forward' ? ['', ''] : ['\u{10ffff}', ''])
  const { where, values } = condition(page)
  const rest = `${where} AND (sort, id) ${sign} (?, ?) ORDER BY sort ${order}, id ${order} LIMIT ?`
  return await contacts.all(read, rest, ...values, sort, id, count)
}

export async function countContacts(read: Reader, page: ContactPage): Promise<number> {
  const { where, values } = condition(page)
  return await contacts.count(read, where, ...values)
}

function condition({ user, query, group }: ContactPage): { where: string; values: unknown[] } {
  const where = ['WHERE "user" = ?']
  const values: unknown[] = [user]
  if (query !== '') {
    const [found, value] = containing('words', query)
    where.push(found)
    values.push(value)
  }
  if (group !== null) {
    where.push(`EXISTS (SELECT 1 FROM ${listRows('card', 'groups')} WHERE value = ?)`)
    values.push(group)
  }
  return { where: where.join(' AND '), values }
}

export async function findContact(read: Reader, user: number, id: string): Promise<Contact | undefined> {
  return await contacts.one(read, 'WHERE id = ? AND "user" = ?', id, user)
}

export async function findContactByUid(read: Reader, user: number, uid: string): Promise<Contact | undefined> {
  return await contacts.one(read, 'WHERE uid = ? AND "user" = ?', uid, user)
}

/** The groups of an account with how many are in each, by name. */
export async function contactGroups(read: Reader, user: number): Promise<{ name: string; contacts: number }[]> {
  return await read.all(
    `SELECT value AS name, count(*) AS contacts FROM contact, ${listRows('card', 'groups')} WHERE "user" = ?
     GROUP BY value ORDER BY value`,
    user,
  )
}

checkParts.push({
  rules: [
    {
      says: 'every contact has its account',
      query: 'SELECT id FROM contact AS o WHERE NOT EXISTS (SELECT 1 FROM "user" AS i WHERE i.num = o."user")',
    },
  ],
})
