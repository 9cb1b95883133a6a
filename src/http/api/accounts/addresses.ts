// Addresses of an account over HTTP (wire-shapes, Addresses).
//
// The first address of an account is its main one and there is always one where there are any. Wildcards must be asked for
// and are never main; uniqueness is the store's. With the token of a user only a bounded number of plain addresses can be
// had, in domains the account is in already. Addresses across accounts are in directory.ts.

import { Type } from 'typebox'
import type { AuthLog } from '#actors/auth/auth-log.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { createAddress, deleteAddress, updateAddress } from '#actors/user/account.ts'
import type { Noted } from '#actors/user/noted.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { isId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { hasInvisible, isAddress, normalizeAddress, parseWildcard } from '#mail/address/address.ts'
import { type Address, findAddress, listAddresses } from '#store/accounts/address.ts'
import { endpoint } from '../../endpoint.ts'
import { isWithin, requireWithin } from '../../guard/within.ts'
import type { Read } from '../../input/validate.ts'
import { bool, field, id, metaData, moment, object, optional, text, userId } from '../../schema.ts'
import { type Behind, originOf } from '../auth/factor-fields.ts'
import { requireUser } from '../messages/mailboxes.ts'
import { tags } from './user-fields.ts'

export interface AddressDeps {
  readonly system: ActorSystem
  readonly authLog: AuthLog
}

export const addressId = id({ description: 'Id of the address' })

const shape = {
  id: addressId,
  name: Type.String(),
  address: Type.String(),
  main: Type.Boolean(),
  created: moment,
  tags: Type.Array(Type.String()),
  signature: Type.Optional(Type.Object({ text: Type.String(), html: Type.String() })),
  metaData: Type.Optional(Type.Unknown()),
  internalData: Type.Optional(Type.Unknown()),
}

export const addressFields = {
  name: optional(text({ max: 128, empty: true, description: 'Name shown with the address' })),
  tags,
  metaData: optional(metaData({ description: 'Free data' })),
  internalData: optional(metaData({ description: 'Free data the user does not see' })),
}

const written = (description: string) =>
  text({ max: limits.name.signatureLengthMax, empty: true, trim: false, default: '', description })

/** As its owner wrote it: whoever shows the HTML cleans it first. */
const signature = optional(
  object({ text: written('Below plain letters; empty for nothing'), html: written('Below others') }),
)

export const allowWildcard = bool({ default: false, description: 'Whether a `*` in the address is meant' })

const readAddress: Read = (value, path, problems) => {
  if (typeof value !== 'string') return problems.add(path, 'must be a string')
  const address = value.trim()
  if (address.includes('*') ? parseWildcard(address) !== null : isAddress(address)) return address
  return problems.add(path, 'must be a valid email')
}

/** An address, or one of the wildcard forms of api-semantics 10.8. */
export const anyAddress = field<string>({ type: 'string', format: 'idn-email' }, readAddress)

/** One of those, or the id of one that is there. */
export const addressOrId = field<string>(
  { type: 'string', description: 'The address, or its id' },
  (value, path, problems) => {
    const given = typeof value === 'string' ? value.trim().toLowerCase() : ''
    return isId(given) ? given : readAddress(value, path, problems)
  },
)

/** A new address in its parts. @throws Fault WildcardNotPermitted, InputValidationError for one with a label */
export function newAddress(text_: string, wildcards: boolean): Pick<Address, 'address' | 'key' | 'domain'> {
  if (text_.includes('*') && !wildcards) throw new Fault('WildcardNotPermitted')
  if (text_.includes('+')) throw invalid('address', 'must not contain a label')
  if (hasInvisible(text_)) throw invalid('address', 'must not contain invisible characters')
  const { address, key, domain } = normalizeAddress(text_)
  return { address, key, domain }
}

export function addressEndpoints({ system, authLog }: AddressDeps) {
  const { read } = system

  async function note(call: Behind & { readonly input: { readonly user: string } }, noted: readonly Noted[]) {
    const { num } = await requireUser(read, call.input.user)
    await authLog.addAll(num, noted, originOf(call))
  }

  const list_ = endpoint({
    method: 'GET',
    path: '/users/:user/addresses',
    tag: 'Addresses',
    summary: 'List the addresses of a user',
    allow: 'addresses.read',
    domains: true,
    params: { user: userId },
    query: { metaData: bool({ default: false }), internalData: bool({ default: false }) },
    reply: { results: Type.Array(Type.Object(shape)) },
    faults: ['UserNotFound'],
    async run({ input, onlyDomains }) {
      const user = await requireUser(read, input.user)
      const addresses = (await listAddresses(read, user.id)).filter(one => isWithin(onlyDomains, one.domain))
      return { results: addresses.map(one => shown(one, user.address, input.metaData, input.internalData)) }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user/addresses/:address',
    tag: 'Addresses',
    summary: 'Get one address of a user',
    allow: 'addresses.read',
    domains: true,
    params: { user: userId, address: addressId },
    reply: shape,
    faults: ['UserNotFound', 'AddressNotFound'],
    async run({ input, onlyDomains }) {
      const user = await requireUser(read, input.user)
      const address = await findAddress(read, input.address)
      if (address?.user !== user.id || !isWithin(onlyDomains, address.domain)) throw new Fault('AddressNotFound')
      return shown(address, user.address, true, true)
    },
  })

  const create = endpoint({
    method: 'POST',
    path: '/users/:user/addresses',
    tag: 'Addresses',
    summary: 'Give a user another address',
    allow: 'addresses.create',
    domains: true,
    filterInput: true,
    params: { user: userId },
    body: { ...addressFields, signature, address: anyAddress, main: optional(bool()), allowWildcard },
    reply: { id: addressId },
    faults: ['UserNotFound', 'AddressExistsError', 'WildcardNotPermitted', 'NotPermitted', 'TooMany', 'DomainLimit'],
    async run({ input, signal, caller, request, onlyDomains }) {
      const { address, key, domain } = newAddress(input.address, input.allowWildcard)
      requireWithin(onlyDomains, domain)
      const { metaData: meta, internalData, tags: words = [], name = '', main = false } = input
      const own = caller.user !== null && onlyDomains === null
      const created = {
        address,
        key,
        domain,
        tags: words,
        name,
        main,
        metaData: meta,
        internalData,
        own,
        signature: input.signature,
      }
      const { id: made, noted } = await system.handle(input.user).run(createAddress, created, signal)
      await note({ input, caller, request }, noted)
      return { id: made }
    },
  })

  const update = endpoint({
    method: 'PUT',
    path: '/users/:user/addresses/:id',
    tag: 'Addresses',
    summary: 'Change an address of a user',
    allow: 'addresses.update',
    domains: true,
    filterInput: true,
    params: { user: userId, id: addressId },
    body: { ...addressFields, signature, address: optional(anyAddress), main: optional(bool()) },
    faults: [
      'UserNotFound',
      'AddressNotFound',
      'AddressExistsError',
      'ChangeNotAllowed',
      'WildcardNotPermitted',
      'NotPermitted',
      'DomainLimit',
    ],
    async run({ input, signal, caller, request, onlyDomains }) {
      if (input.main === false) throw invalid('main', 'must be true: make another address the main one instead')
      const renamed = input.address === undefined ? undefined : newAddress(input.address, input.address.includes('*'))
      if (renamed !== undefined) requireWithin(onlyDomains, renamed.domain)
      const { name, tags, metaData, internalData, signature: below } = input
      const fields = { ...renamed, name, tags, metaData, internalData, signature: below }
      const changed = {
        id: input.id,
        fields,
        main: input.main === true,
        own: caller.user !== null && onlyDomains === null,
      }
      const { noted } = await system.handle(input.user).run(updateAddress, changed, signal)
      await note({ input, caller, request }, noted)
      return {}
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/users/:user/addresses/:address',
    tag: 'Addresses',
    summary: 'Take an address from a user',
    allow: 'addresses.delete',
    domains: true,
    params: { user: userId, address: addressId },
    faults: ['UserNotFound', 'AddressNotFound', 'NotPermitted'],
    async run({ input, signal, caller, request }) {
      const { noted } = await system.handle(input.user).run(deleteAddress, { id: input.address }, signal)
      await note({ input, caller, request }, noted)
      return {}
    },
  })

  return [list_, get, create, update, remove]
}

function shown(address: Address, main: string, withMeta: boolean, withInternal: boolean) {
  const { signature: below } = address
  return {
    id: address.id,
    name: address.name,
    address: address.address,
    main: address.address === main,
    created: new Date(address.created).toISOString(),
    tags: address.tags,
    ...(below && (below.text !== '' || below.html !== '') && { signature: { ...below } }),
    ...(withMeta ? { metaData: address.metaData ?? {} } : {}),
    ...(withInternal ? { internalData: address.internalData ?? {} } : {}),
  }
}
