// Commands on the contacts of an account.
//
// A card has one uid in an account: what comes again under it takes the place of what was there. Nothing here parses
// cards; they come checked and bounded.

import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Card } from '#mail/contact/card.ts'
import {
  contactDelete,
  contactInsert,
  contactUpdate,
  contactWords,
  countContacts,
  findContact,
  findContactByUid,
} from '#store/accounts/contact.ts'
import { requireUser, type UserCommand, type UserTurn } from './user.ts'

/** Stores new cards, or in the place of those with their uid. @throws Fault TooMany before anything is stored */
export const putContacts: UserCommand<{ cards: readonly Card[] }, { ids: string[]; created: number }> = {
  name: 'contact.put',
  async run(turn, { cards }) {
    requireUser(turn)
    const { num: user } = turn.state
    // The last of those with one uid is the one that stays.
    const byUid = new Map(cards.map(card => [card.uid || newId(), card]))
    const known = new Map<string, string>()
    for (const uid of byUid.keys()) {
      const found = await findContactByUid(turn.read, user, uid)
      if (found !== undefined) known.set(uid, found.id)
    }
    const created = byUid.size - known.size
    const total = await countContacts(turn.read, { user, query: '', group: null })
    if (total + created > limits.contact.contactsMax) {
      throw new Fault('TooMany', { text: 'There are as many contacts as there may be' })
    }
    const ids: string[] = []
    for (const [uid, given] of byUid) {
      const card = { ...given, uid }
      const row = { ...contactWords(card), card, changed: turn.now }
      const id = known.get(uid) ?? newId()
      if (known.has(uid)) turn.write(contactUpdate, { ...row, id }, weight(card))
      else turn.write(contactInsert, { ...row, id, user, created: turn.now }, weight(card))
      ids.push(id)
    }
    return { ids, created }
  },
}

/** Changes fields of a contact. @throws Fault ContactNotFound */
export const changeContact: UserCommand<{ id: string; fields: Partial<Card> }, void> = {
  name: 'contact.change',
  async run(turn, { id, fields }) {
    const { card: before } = await required(turn, id)
    const card = { ...before, ...fields, uid: before.uid }
    turn.write(contactUpdate, { ...contactWords(card), card, changed: turn.now, id }, weight(card))
  },
}

/** @throws Fault ContactNotFound */
export const deleteContact: UserCommand<{ id: string }, void> = {
  name: 'contact.delete',
  async run(turn, { id }) {
    await required(turn, id)
    turn.write(contactDelete, { user: turn.state.num, ids: [id] })
  },
}

async function required(turn: UserTurn, id: string) {
  requireUser(turn)
  const contact = await findContact(turn.read, turn.state.num, id)
  if (contact === undefined) throw new Fault('ContactNotFound')
  return contact
}

/** Bytes of it, about. */
function weight({ note, others }: Card): number {
  return 1000 + note.length + others.reduce((sum, line) => sum + line.length, 0)
}
