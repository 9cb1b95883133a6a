// A contact as people know it, read from a vCard and written as one.
//
// What a card says that has no field here is kept as it stood, within limits, and written again, so that a card that
// comes from elsewhere goes back as it was. Must not look at who owns it.

import { limits } from '#lib/limits.ts'
import { isAddress } from '../address/address.ts'
import { folded, type Property, quote, readVcards, splitValue, unquote } from './vcard.ts'

export interface Card {
  /** Tells the card from others wherever it goes. */
  readonly uid: string
  /** As it is shown. */
  readonly name: string
  readonly given: string
  readonly family: string
  readonly nickname: string
  /** The first is the one that is written to. */
  readonly emails: readonly CardValue[]
  readonly phones: readonly CardValue[]
  readonly addresses: readonly CardAddress[]
  readonly organization: string
  readonly title: string
  /** As it stands in the card: `1985-04-12`, `--0412`. */
  readonly birthday: string
  readonly note: string
  readonly groups: readonly string[]
  /** Lines of other properties. */
  readonly others: readonly string[]
}

interface CardValue {
  readonly value: string
  /** `home`, `work`, `cell`; empty for none. */
  readonly kind: string
}

interface CardAddress {
  readonly street: string
  readonly city: string
  readonly region: string
  readonly code: string
  readonly country: string
  readonly kind: string
}

export const emptyCard: Card = {
  ...{ uid: '', name: '', given: '', family: '', nickname: '', emails: [], phones: [], addresses: [] },
  ...{ organization: '', title: '', birthday: '', note: '', groups: [], others: [] },
}

const { textLengthMax, noteLengthMax, valuesMax, groupsMax, othersMax, othersLengthMax } = limits.contact

/** The contacts of a vCard file. A card that says nothing at all is left out; `uid` is empty where it has none. */
export function* readCards(bytes: Buffer): Generator<Card> {
  for (const properties of readVcards(bytes)) {
    const card = cardOf(properties)
    if (card.name !== '' || card.phones.length > 0) yield card
  }
}

function cardOf(properties: readonly Property[]): Card {
  const all = (name: string) => properties.filter(one => one.name === name)
  const text = (name: string) => short(unquote(all(name)[0]?.value ?? ''))
  const [family = '', given = ''] = splitValue(all('N')[0]?.value ?? '', ';').map(short)
  const organization = splitValue(all('ORG')[0]?.value ?? '', ';')
  const emails = values(all('EMAIL')).filter(one => isAddress(one.value))
  const shown = text('FN') || [given, family].filter(Boolean).join(' ')
  const groups = all('CATEGORIES').flatMap(one => splitValue(one.value, ','))
  return {
    uid: text('UID'),
    name: shown || text('NICKNAME') || short(organization[0] ?? '') || (emails[0]?.value ?? ''),
    ...{ given, family },
    nickname: text('NICKNAME'),
    emails,
    phones: values(all('TEL')).map(one => ({ ...one, value: one.value.replace(/^tel:/i, '') })),
    addresses: all('ADR').slice(0, valuesMax).map(addressOf),
    organization: short(organization.filter(Boolean).join(', ')),
    title: text('TITLE'),
    birthday: text('BDAY'),
    note: cut(unquote(all('NOTE')[0]?.value ?? ''), noteLengthMax),
    groups: [...new Set(groups.map(short).filter(Boolean))].slice(0, groupsMax),
    others: othersOf(properties),
  }
}

const known = new Set(['UID', 'FN', 'N', 'NICKNAME', 'EMAIL', 'TEL', 'ADR', 'ORG', 'TITLE', 'BDAY', 'NOTE'])
const dropped = new Set(['CATEGORIES', 'REV', 'PRODID', 'XML', 'AGENT'])

function othersOf(properties: readonly Property[]): string[] {
  const lines: string[] = []
  let length = 0
  for (const { name, line, params } of properties) {
    if (known.has(name) || dropped.has(name) || lines.length >= othersMax) continue
    // What 2.1 has encoded cannot stand in later versions.
    const old = params.get('encoding')?.some(word => /quoted-printable|base64/i.test(word)) === true
    if (old || line.includes('\r') || length + line.length > othersLengthMax) continue
    length += line.length
    lines.push(line)
  }
  return lines
}

/** Those that are preferred first. */
function values(properties: readonly Property[]): CardValue[] {
  const found = properties.slice(0, valuesMax).map(({ value, params }) => {
    const types = (params.get('type') ?? []).map(type => type.toLowerCase())
    const preferred = types.includes('pref') || params.has('pref')
    return { value: short(unquote(value)), kind: kindOf(types), rank: preferred ? 0 : 1 }
  })
  found.sort((one, other) => one.rank - other.rank)
  return found.filter(({ value }) => value !== '').map(({ value, kind }) => ({ value, kind }))
}

const kinds = ['home', 'work', 'cell', 'fax', 'pager', 'other']

function kindOf(types: readonly string[]): string {
  return kinds.find(kind => types.includes(kind)) ?? ''
}

function addressOf({ value, params }: Property): CardAddress {
  const [box = '', extended = '', street = '', city = '', region = '', code = '', country = ''] = splitValue(value, ';')
  const types = (params.get('type') ?? []).map(type => type.toLowerCase())
  return {
    street: short([box, extended, street].filter(Boolean).join('\n')),
    ...{ city: short(city), region: short(region), code: short(code), country: short(country), kind: kindOf(types) },
  }
}

function short(text: string): string {
  return cut(text.trim(), textLengthMax)
}

/** Never inside a character. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\ud800-\udbff]$/, '')
}

/** A contact as a vCard. @param changed milliseconds since 1970 */
export function writeCard(card: Card, version: '3.0' | '4.0', changed: number): string {
  const lines = ['BEGIN:VCARD', `VERSION:${version}`, `UID:${quote(card.uid)}`, `FN:${quote(card.name)}`]
  lines.push(`N:${quote(card.family)};${quote(card.given)};;;`)
  const add = (name: string, text: string) => {
    if (text !== '') lines.push(`${name}:${quote(text)}`)
  }
  add('NICKNAME', card.nickname)
  const kind = (one: { kind: string }) => (one.kind === '' ? '' : `;TYPE=${one.kind}`)
  for (const one of card.emails) lines.push(`EMAIL${kind(one)}:${quote(one.value)}`)
  for (const one of card.phones) lines.push(`TEL${kind(one)}:${quote(one.value)}`)
  for (const one of card.addresses) {
    const parts = [one.street, one.city, one.region, one.code, one.country].map(quote)
    lines.push(`ADR${kind(one)}:;;${parts.join(';')}`)
  }
  add('ORG', card.organization)
  add('TITLE', card.title)
  add('BDAY', card.birthday)
  add('NOTE', card.note)
  if (card.groups.length > 0) lines.push(`CATEGORIES:${card.groups.map(quote).join(',')}`)
  lines.push(...card.others)
  lines.push(`REV:${new Date(changed).toISOString().replace(/[-:]|\.\d+/g, '')}`, 'END:VCARD')
  return lines.map(folded).join('')
}
