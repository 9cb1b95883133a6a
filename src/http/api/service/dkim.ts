// DKIM keys of domains over HTTP (wire-shapes, DKIM; wire-details 8).
//
// A private key goes in and never comes out. What was put in signs the next message. Domains are in unicode, the record
// for DNS is in ASCII.
//
// Each answer tells the TXT record to be published. Whether a key is one that can sign is found out by the handle, off
// the main loop.

import { Type } from 'typebox'
import type { DkimHandle } from '#actors/admin/dkim.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { domainToUnicode } from '#mail/address/address.ts'
import { dnsTxt } from '#mail/crypt/dkim.ts'
import type { DkimRow } from '#store/domains/dkim.ts'
import { countDkim, findDkim, findDkimFor, listDkim } from '#store/domains/dkim.ts'
import { counted } from '#store/engine/counted.ts'
import type { Reader } from '#store/engine/reader.ts'
import { pagedCounted } from '../../cursor.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { isWithin, requireWithin } from '../../guard/within.ts'
import { id, moment, optional, pageReply, paging, text } from '../../schema.ts'
import { domainName } from '../accounts/domains.ts'

export interface DkimDeps {
  readonly handle: DkimHandle
  readonly read: Reader
}

const dkimId = id({ description: 'Id of the key' })
const { keyLengthMax, descriptionLengthMax } = limits.certificate

const listedShape = {
  id: dkimId,
  domain: Type.String(),
  selector: Type.String(),
  description: Type.Optional(Type.String()),
  fingerprint: Type.String({ description: 'SHA-256 of the private key' }),
  created: moment,
}

const selector = text({
  max: 253,
  trim: true,
  lower: true,
  pattern: /^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?)*$/,
  description: 'Tells the keys of a domain apart in DNS (RFC 6376 3.1)',
})
const description = optional(text({ max: descriptionLengthMax, trim: true }))

const { created: _created, ...named } = listedShape

const shape = {
  ...named,
  publicKey: Type.String({ description: 'In PEM' }),
  dnsTxt: Type.Object({ name: Type.String(), value: Type.String() }, { description: 'TXT record to be published' }),
}

export function dkimEndpoints({ handle, read }: DkimDeps): Endpoint[] {
  const listing = endpoint({
    method: 'GET',
    path: '/dkim',
    tag: 'DKIM',
    summary: 'List DKIM keys',
    allow: 'dkim.read',
    domains: true,
    open: true,
    query: { query: optional(text({ max: 255, trim: true, description: 'Part of the domain' })), ...paging },
    reply: { query: Type.Optional(Type.String()), ...pageReply, results: Type.Array(Type.Object(listedShape)) },
    async run({ input, onlyDomains }) {
      const query = domainToUnicode(input.query ?? '')
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['string'],
        fetch: (boundary, direction, count) =>
          counted(
            read,
            picture => countDkim(picture, query, onlyDomains),
            picture =>
              listDkim(picture, query, boundary === null ? null : String(boundary[0]), direction, count, onlyDomains),
          ),
        boundary: one => [one.domain],
      })
      return { ...(input.query !== undefined && { query: input.query }), ...cursors, results: rows.map(listed) }
    },
  })

  const create = endpoint({
    method: 'POST',
    path: '/dkim',
    tag: 'DKIM',
    summary: 'Add or replace the key that signs the mail of a domain',
    description:
      'Without a key, an RSA key of 2048 bits is made. It signs the next message whose From address is of the domain; ' +
      'publish `dnsTxt` first.',
    allow: 'dkim.create',
    domains: true,
    body: {
      domain: domainName,
      selector,
      privateKey: optional(
        text({
          max: keyLengthMax,
          trim: true,
          description: 'RSA or Ed25519 in PEM, not encrypted, or an Ed25519 seed of 32 bytes in base64',
        }),
      ),
      description,
    },
    reply: shape,
    faults: ['TooManyDkimKeys'],
    async run({ input, signal, onlyDomains }) {
      requireWithin(onlyDomains, input.domain)
      const { domain, privateKey } = input
      const form = { domain, selector: input.selector, privateKey, description: input.description }
      return shown(await handle.put(form, signal))
    },
  })

  const update = endpoint({
    method: 'PUT',
    path: '/dkim/:dkim',
    tag: 'DKIM',
    summary: 'Give a key another selector or description',
    description:
      'The key stays the same; the next message is signed under the new selector, so publish the record under its name first.',
    allow: 'dkim.create',
    domains: true,
    params: { dkim: dkimId },
    body: { selector: optional(selector), description },
    reply: shape,
    faults: ['DkimNotFound'],
    async run({ input, signal, onlyDomains }) {
      const found = await findDkim(read, input.dkim)
      if (found === undefined || !isWithin(onlyDomains, found.domain)) throw new Fault('DkimNotFound')
      return shown(await handle.rename(found.id, input.selector, input.description, signal))
    },
  })

  const resolve = endpoint({
    method: 'GET',
    path: '/dkim/resolve/:domain',
    tag: 'DKIM',
    summary: 'Find the id of the key of a domain',
    allow: 'dkim.read',
    domains: true,
    params: { domain: domainName },
    reply: { id: dkimId },
    faults: ['DkimNotFound'],
    async run({ input, onlyDomains }) {
      const found = await findDkimFor(read, input.domain)
      if (found === undefined || !isWithin(onlyDomains, found.domain)) throw new Fault('DkimNotFound')
      return { id: found.id }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/dkim/:dkim',
    tag: 'DKIM',
    summary: 'Get the public half of a key',
    allow: 'dkim.read',
    domains: true,
    params: { dkim: dkimId },
    reply: { ...shape, created: moment },
    faults: ['DkimNotFound'],
    async run({ input, onlyDomains }) {
      const found = await findDkim(read, input.dkim)
      if (found === undefined || !isWithin(onlyDomains, found.domain)) throw new Fault('DkimNotFound')
      return { ...shown(found), created: iso(found.created) }
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/dkim/:dkim',
    tag: 'DKIM',
    summary: 'Delete a key: mail of its domain is signed no longer',
    allow: 'dkim.delete',
    domains: true,
    params: { dkim: dkimId },
    faults: ['DkimNotFound'],
    async run({ input, signal, onlyDomains }) {
      const found = await findDkim(read, input.dkim)
      if (found !== undefined && !isWithin(onlyDomains, found.domain)) throw new Fault('DkimNotFound')
      return handle.delete(input.dkim, signal)
    },
  })

  return [listing, create, update, resolve, get, remove]
}

function shown(row: DkimRow) {
  const { created: _omitted, ...head } = listed(row)
  return { ...head, publicKey: row.public, dnsTxt: dnsTxt(row.domain, row.selector, row.public) }
}

function listed({ id: key, domain, selector, description, fingerprint, created }: DkimRow) {
  const told = description === null ? {} : { description }
  return { id: key, domain, selector, ...told, fingerprint, created: iso(created) }
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
