// Addresses that belong to no account and send their mail on: commands of the directory.

import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { type Address, addressDelete, addressInsert, addressUpdate, findAddress } from '#store/accounts/address.ts'
import type { DirectoryCommand } from '../admin/directory.ts'
import { checkRename } from '../user/account.ts'

export type NewForwarded = Pick<
  Address,
  'key' | 'address' | 'domain' | 'name' | 'tags' | 'metaData' | 'internalData' | 'forward'
>

/** Makes a forwarded address. @throws Fault AddressExistsError */
export const createForwarded: DirectoryCommand<NewForwarded, { id: string }> = {
  name: 'forwarded.create',
  run(turn, input) {
    const address: Address = { ...input, id: newId(), user: null, created: turn.now }
    turn.write(addressInsert, address)
    turn.emit('address.forwarded.created', { address: address.id, value: address.address })
    return { id: address.id }
  },
}

/** Changes a forwarded address. @throws Fault AddressNotFound, AddressExistsError, ChangeNotAllowed, WildcardNotPermitted */
export const updateForwarded: DirectoryCommand<{ id: string; change: (address: Address) => void }, void> = {
  name: 'forwarded.update',
  async run(turn, { id, change }) {
    const address = await requireForwarded(turn.read, id)
    const before = address.key
    change(address)
    checkRename(before, address.key)
    turn.write(addressUpdate, address)
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
