// Contacts over HTTP: the people an account keeps, with groups, and vCard in and out.
//
// Whom mail came from and went to without being kept is the address register (accounts/address-book.ts), which learns by
// itself; a contact is written by its owner and stays. Addresses of contacts are noted there, so that completing finds them.

import { type Static, Type } from 'typebox'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { changeContact, deleteContact, putContacts } from '#actors/user/contacts.ts'
import { now } from '#lib/clock.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Mailbox as MailAddress } from '#mail/address/address.ts'
import { type Card, emptyCard, readCards, writeCard } from '#mail/contact/card.ts'
import { type Contact, contactGroups, countContacts, findContact, listContacts } from '#store/accounts/contact.ts'
import { counted } from '#store/engine/counted.ts'
import { binary } from '../../answer.ts'
import { pagedCounted } from '../../cursor.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { email, id, list, moment, object, oneOf, optional, pageReply, paging, text, userId } from '../../schema.ts'
import { requireUser } from '../messages/mailboxes.ts'

export interface ContactDeps {
  readonly system: ActorSystem
  /** For completing addresses. */
  readonly addressBook: { note(user: number, addresses: readonly MailAddress[], used: number, known?: boolean): void }
}

const { textLengthMax, noteLengthMax, valuesMax, groupsMax, groupLengthMax } = limits.contact
const contactId = id({ description: 'Id of the contact' })
const line = text({ max: textLengthMax, empty: true, trim: true })
const kind = oneOf(['', 'home', 'work', 'cell', 'fax', 'pager', 'other'], { default: '' })
const groups = list(text({ max: groupLengthMax, trim: true }), { max: groupsMax })

const fields = {
  name: optional(line),
  given: optional(line),
  family: optional(line),
  nickname: optional(line),
  emails: optional(list(object({ value: email(), kind }), { max: valuesMax })),
  phones: optional(list(object({ value: text({ max: textLengthMax, trim: true }), kind }), { max: valuesMax })),
  addresses: optional(
    list(
      object({
        street: text({ max: textLengthMax, empty: true, default: '' }),
        city: text({ max: textLengthMax, empty: true, default: '' }),
        region: text({ max: textLengthMax, empty: true, default: '' }),
        code: text({ max: textLengthMax, empty: true, default: '' }),
        country: text({ max: textLengthMax, empty: true, default: '' }),
        kind,
      }),
      { max: valuesMax },
    ),
  ),
  organization: optional(line),
  title: optional(line),
  birthday: optional(line),
  note: optional(text({ max: noteLengthMax, empty: true })),
  groups: optional(groups),
} as const

const words = Type.String()
const valueShape = Type.Object({ value: words, kind: words })
const shape = {
  id: contactId,
  uid: words,
  ...{ name: words, given: words, family: words, nickname: words },
  emails: Type.Array(valueShape),
  phones: Type.Array(valueShape),
  addresses: Type.Array(
    Type.Object({ street: words, city: words, region: words, code: words, country: words, kind: words }),
  ),
  ...{ organization: words, title: words, birthday: words, note: words },
  groups: Type.Array(words),
  created: moment,
  changed: moment,
}

export function contactEndpoints(deps: ContactDeps): Endpoint[] {
  return [...readEndpoints(deps), ...changeEndpoints(deps), ...fileEndpoints(deps)]
}

function readEndpoints({ system: { read } }: ContactDeps): Endpoint[] {
  const all = endpoint({
    method: 'GET',
    path: '/users/:user/contacts',
    tag: 'Contacts',
    summary: 'List the contacts of a user by name',
    allow: 'addresses.read',
    params: { user: userId },
    query: {
      query: optional(text({ max: 255, description: 'Part of a name, an address or a number' })),
      group: optional(text({ max: groupLengthMax, description: 'Only those in this group' })),
      ...paging,
    },
    reply: { ...pageReply, results: Type.Array(Type.Object(shape)) },
    faults: ['UserNotFound'],
    async run({ input }) {
      const { num: user } = await requireUser(read, input.user)
      const page = { user, query: input.query ?? '', group: input.group ?? null }
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['string', 'string'],
        fetch: (boundary, direction, count) =>
          counted(
            read,
            picture => countContacts(picture, page),
            picture => {
              const edge = boundary === null ? null : ([String(boundary[0]), String(boundary[1])] as const)
              return listContacts(picture, page, edge, direction, count)
            },
          ),
        boundary: contact => [contact.sort, contact.id],
      })
      return { ...cursors, results: rows.map(shown) }
    },
  })

  const groupList = endpoint({
    method: 'GET',
    path: '/users/:user/contactgroups',
    tag: 'Contacts',
    summary: 'List the groups that contacts of a user are in',
    allow: 'addresses.read',
    params: { user: userId },
    reply: { results: Type.Array(Type.Object({ name: words, contacts: Type.Integer() })) },
    faults: ['UserNotFound'],
    async run({ input }) {
      const { num } = await requireUser(read, input.user)
      return { results: await contactGroups(read, num) }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user/contacts/:contact',
    tag: 'Contacts',
    summary: 'Get one contact',
    allow: 'addresses.read',
    params: { user: userId, contact: contactId },
    reply: shape,
    faults: ['UserNotFound', 'ContactNotFound'],
    async run({ input }) {
      const { num } = await requireUser(read, input.user)
      const contact = await findContact(read, num, input.contact)
      if (contact === undefined) throw new Fault('ContactNotFound')
      return shown(contact)
    },
  })
  return [all, groupList, get]
}

function changeEndpoints({ system, addressBook }: ContactDeps): Endpoint[] {
  const { read } = system

  /** So that completing finds them at once. */
  async function noted(user: string, { name = '', emails = [] }: Partial<Pick<Card, 'name' | 'emails'>>) {
    const addresses = emails.map(({ value: address }) => ({ name, address }))
    addressBook.note((await requireUser(read, user)).num, addresses, now(), true)
  }

  const create = endpoint({
    method: 'POST',
    path: '/users/:user/contacts',
    tag: 'Contacts',
    summary: 'Add a contact',
    allow: 'addresses.create',
    params: { user: userId },
    body: fields,
    reply: { id: contactId },
    faults: ['UserNotFound', 'TooMany'],
    async run({ input, signal }) {
      const card = cardOf(emptyCard, input)
      const { ids } = await system.handle(input.user).run(putContacts, { cards: [card] }, signal)
      await noted(input.user, card)
      return { id: ids[0] ?? '' }
    },
  })

  const update = endpoint({
    method: 'PUT',
    path: '/users/:user/contacts/:contact',
    tag: 'Contacts',
    summary: 'Change a contact; what is not given stays',
    allow: 'addresses.update',
    params: { user: userId, contact: contactId },
    body: fields,
    faults: ['UserNotFound', 'ContactNotFound'],
    async run({ input, signal }) {
      const given = givenOf(input)
      await system.handle(input.user).run(changeContact, { id: input.contact, fields: given }, signal)
      await noted(input.user, given)
      return {}
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/users/:user/contacts/:contact',
    tag: 'Contacts',
    summary: 'Delete a contact',
    allow: 'addresses.delete',
    params: { user: userId, contact: contactId },
    faults: ['UserNotFound', 'ContactNotFound'],
    async run({ input, signal }) {
      await system.handle(input.user).run(deleteContact, { id: input.contact }, signal)
      return {}
    },
  })
  return [create, update, remove]
}

function fileEndpoints({ system, addressBook }: ContactDeps): Endpoint[] {
  const { read } = system
  const take = endpoint({
    method: 'POST',
    path: '/users/:user/contacts.vcf',
    tag: 'Contacts',
    summary: 'Bring contacts from a vCard file (4.0, 3.0 or 2.1)',
    description: 'A card whose `UID` is known takes the place of the one that is there.',
    allow: 'addresses.create',
    bodyKind: 'raw',
    bodyBytesMax: limits.contact.fileBytesMax,
    params: { user: userId },
    reply: { imported: Type.Integer(), replaced: Type.Integer() },
    faults: ['UserNotFound', 'TooMany'],
    async run({ input, request, signal }) {
      const { num, id: user } = await requireUser(read, input.user)
      const handle = system.handle(user)
      let created = 0
      let stored = 0
      const put = async (cards: Card[]) => {
        const done = await handle.run(putContacts, { cards }, signal)
        created += done.created
        stored += done.ids.length
        const people = cards.flatMap(({ name, emails }) => emails.map(({ value: address }) => ({ name, address })))
        addressBook.note(num, people, now(), true)
      }
      let batch: Card[] = []
      for (const card of readCards(await request.body())) {
        batch.push(card)
        if (batch.length < limits.contact.batchContacts) continue
        await put(batch)
        batch = []
      }
      if (batch.length > 0) await put(batch)
      return { imported: created, replaced: stored - created }
    },
  })

  const give = endpoint({
    method: 'GET',
    path: '/users/:user/contacts.vcf',
    tag: 'Contacts',
    summary: 'Get the contacts of a user, or of one group, as a vCard file',
    allow: 'addresses.read',
    params: { user: userId },
    query: {
      group: optional(text({ max: groupLengthMax })),
      version: oneOf(['4.0', '3.0'], { default: '4.0' }),
    },
    replyType: 'text/vcard',
    faults: ['UserNotFound'],
    async run({ input }) {
      const { num } = await requireUser(read, input.user)
      const page = { user: num, query: '', group: input.group ?? null }
      const version = input.version as '3.0' | '4.0'
      async function* cards(): AsyncGenerator<Buffer> {
        for (let edge: readonly [string, string] | null = null; ; ) {
          const rows: Contact[] = await listContacts(read, page, edge, 'forward', limits.contact.batchContacts)
          for (const { card, changed } of rows) yield Buffer.from(writeCard(card, version, changed))
          const last = rows.at(-1)
          if (last === undefined) return
          edge = [last.sort, last.id]
        }
      }
      const type = { 'content-type': 'text/vcard; charset=utf-8' }
      const headers = { ...type, 'content-disposition': 'attachment; filename=contacts.vcf' }
      return binary({ headers, body: cards() })
    },
  })
  return [take, give]
}

type Fields = { -readonly [Name in keyof typeof fields]?: Static<(typeof fields)[Name]> | undefined }

/** What was given of a card. */
function givenOf(input: Fields): Partial<Card> {
  const given = Object.entries(input).filter(([name, value]) => name in fields && value !== undefined)
  return Object.fromEntries(given) as Partial<Card>
}

/** A card that has a name to be shown by. @throws Fault InputValidationError */
function cardOf(base: Card, input: Fields): Card {
  const card = { ...base, ...givenOf(input) }
  const name = card.name || [card.given, card.family].filter(Boolean).join(' ') || card.organization
  const shownAs = name || card.emails[0]?.value || card.phones[0]?.value
  if (shownAs === undefined) throw invalid('name', 'is required, or something else to show the contact by')
  return { ...card, name: shownAs }
}

function shown({ id: contact, card, created, changed }: Contact) {
  const { others: _, ...rest } = structuredClone(card) as Card
  return {
    ...rest,
    id: contact,
    ...{ emails: [...rest.emails], phones: [...rest.phones], addresses: [...rest.addresses], groups: [...rest.groups] },
    created: new Date(created).toISOString(),
    changed: new Date(changed).toISOString(),
  }
}
