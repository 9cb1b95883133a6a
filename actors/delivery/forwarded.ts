// Addresses that belong to no account and send their mail on: commands of the directory.
//
// They share one space of keys with the addresses of accounts. What is given of one changes, the rest of it stays; passwords
// in targets come sealed, and a masked one stays what it was.

import { Fault, invalid } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { keepSecrets } from '#lib/secret/url-secret.ts'
import { isAddress, normalizeAddress } from '#mail/address/address.ts'
import {
  type Address,
  addressDelete,
  addressInsert,
  addressUpdate,
  type ForwardReply,
  findAddress,
} from '#store/accounts/address.ts'
import type { DirectoryCommand } from '../admin/directory.ts'
import { grow } from '../domain/growth.ts'
import { type AddressFields, applyAddress, checkRename } from '../user/account.ts'

export interface NewForwarded
  extends Pick<Address, 'key' | 'address' | 'domain' | 'name' | 'tags' | 'metaData' | 'internalData' | 'forward'> {
  /** Id of an address of anybody's that goes in the same unit: this one takes its place. */
  readonly replaces?: string | undefined
}

/** Makes a forwarded address. @throws Fault AddressExistsError */
export const createForwarded: DirectoryCommand<NewForwarded, { id: string }> = {
  name: 'forwarded.create',
  run(turn, { replaces, ...input }) {
    if (replaces !== undefined) turn.write(addressDelete, { id: replaces })
    const address: Address = { ...input, id: newId(), user: null, created: turn.now, signature: undefined }
    turn.write(addressInsert, address)
    grow(turn, { domain: address.domain, forwards: true })
    turn.emit('address.forwarded.created', { address: address.id, value: address.address })
    return { id: address.id }
  },
}

/** What may change about a forwarded address; what is not given stays as it is. */
export interface ForwardedFields extends AddressFields {
  readonly targets?: string[] | undefined
  /** Messages a day. */
  readonly forwards?: number | undefined
  readonly autoreply?: ForwardReply | undefined
  /** Mail to it is refused. */
  readonly disabled?: boolean | undefined
}

/** Mail that goes on to where it came from would never end. @throws Fault InputValidationError */
export function refuseSelf(targets: readonly string[], key: string): void {
  const self = targets.findIndex(one => isAddress(one) && normalizeAddress(one).key === key)
  if (self >= 0) throw invalid(`targets,${self}`, 'must not be the forwarded address itself')
}

/** Changes a forwarded address. @throws Fault AddressNotFound, AddressExistsError, ChangeNotAllowed, WildcardNotPermitted */
export const updateForwarded: DirectoryCommand<{ id: string; fields: ForwardedFields }, void> = {
  name: 'forwarded.update',
  async run(turn, { id, fields }) {
    const address = await requireForwarded(turn.read, id)
    const { key: before, domain } = address
    const { targets, forwards, autoreply, disabled, ...named } = fields
    const { forward } = address
    applyAddress(address, named)
    if (targets !== undefined) forward.targets = keepSecrets(targets, forward.targets, 'targets')
    if (forwards !== undefined) forward.forwards = forwards
    if (autoreply !== undefined) forward.autoreply = { ...forward.autoreply, ...autoreply }
    if (disabled !== undefined) forward.disabled = disabled
    refuseSelf(forward.targets, address.key)
    checkRename(before, address.key)
    turn.write(addressUpdate, address)
    if (address.domain !== domain) grow(turn, { domain: address.domain, forwards: true })
  },
}

/** Takes a forwarded address away. @throws Fault AddressNotFound */
export const deleteForwarded: DirectoryCommand<{ id: string }, void> = {
  name: 'forwarded.delete',
  async run(turn, { id }) {
    const address = await requireForwarded(turn.read, id)
    turn.write(addressDelete, { id })
    turn.emit('address.forwarded.deleted', { address: id, value: address.address })
  },
}

/** The forwarded address with this id. @throws Fault AddressNotFound */
export async function requireForwarded(
  read: Parameters<typeof findAddress>[0],
  id: string,
): Promise<Address & { forward: NonNullable<Address['forward']> }> {
  const address = await findAddress(read, id)
  if (address === undefined || address.forward === null) throw new Fault('AddressNotFound')
  return { ...address, forward: address.forward }
}
