// The header of a message as an object, for lists with `includeHeaders`.
//
// Keys are names in lower case. A field that is there once is its value, one that is repeated a list as they stand from top
// to bottom; some have a form of their own: addresses are lists of mailboxes and groups, types the parsed value. Decoded,
// bounded by what Header reads, without a prototype so that no name means something else.

import { type Address, isGroup } from '#mail/address/address.ts'
import { parseAddresses } from '#mail/address/address-list.ts'
import type { Header } from '#mail/header/header.ts'
import { decodeWords } from '#mail/header/words.ts'
import { parseValued } from '#mail/mime/parameter.ts'

const addressFields = new Set(['from', 'sender', 'reply-to', 'to', 'cc', 'bcc'])
const valuedFields = new Set(['content-type', 'content-disposition'])
/** Of these a message has one; of several the first counts, as everywhere here. */
const singleFields = new Set(['in-reply-to', 'message-id', 'content-transfer-encoding'])

export function headerRecord(header: Header): Record<string, unknown> {
  const record: Record<string, unknown> = Object.create(null)
  const values = new Map<string, string[]>()
  for (const field of header.fields) {
    const known = values.get(field.key)
    if (known) known.push(header.value(field))
    else values.set(field.key, [header.value(field)])
  }
  for (const [key, raw] of values) record[key] = shown(key, raw)
  return record
}

function shown(key: string, raw: readonly string[]): unknown {
  const [first = ''] = raw
  if (addressFields.has(key)) return parseAddresses(raw.join(', ')).map(addressOf)
  if (valuedFields.has(key)) return valuedOf(first)
  const single = raw.length === 1 || singleFields.has(key)
  // Not asked of the header again, which looks through all of its fields for each name.
  return single ? decodeWords(first) : raw.map(decodeWords)
}

function addressOf(address: Address): object {
  if (!isGroup(address)) return { name: address.name, address: address.address }
  return { name: address.name, group: address.group.map(addressOf) }
}

function valuedOf(raw: string): object {
  const { value, params } = parseValued(raw)
  const [type = '', subtype = ''] = value.split('/', 2)
  return { value, type, subtype, params: { ...params }, hasParams: Object.keys(params).length > 0 }
}
