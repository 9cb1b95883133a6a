// The address register of an account over HTTP: for completing addresses while they are typed.
//
// Entries come from mail (actors/delivery/address-book.ts), never from here; here they are found, renamed and hidden. A hidden entry
// stays hidden when its address is used again.

import { Type } from 'typebox'
import { updateAddressBook } from '#actors/delivery/address-book.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { limits } from '#lib/limits.ts'
import { searchAddressBook } from '#store/accounts/address-book.ts'
import { toldInAnswer } from '../../answer.ts'
import { endpoint } from '../../endpoint.ts'
import { amount, bool, id, optional, text, userId } from '../../schema.ts'
import { requireUser } from '../messages/mailboxes.ts'

export interface AddressBookDeps {
  readonly system: ActorSystem
  /** What was learned a moment ago is shown, too. */
  readonly addressBook: { flush(): Promise<void> }
}

const entryId = id({ description: 'Id of the entry' })

export function addressBookEndpoints({ system, addressBook }: AddressBookDeps) {
  const { read } = system

  const search = endpoint({
    method: 'GET',
    path: '/users/:user/addressregister',
    tag: 'Addresses',
    summary: 'Find addresses a user has written to or heard from, the latest first',
    allow: 'addresses.read',
    params: { user: userId },
    query: {
      query: text({ max: 255, description: 'Part of an address, or the beginning of a name' }),
      limit: amount({ min: 1, max: limits.http.pageSizeMax, default: limits.http.pageSize }),
    },
    reply: {
      results: Type.Array(Type.Object({ id: entryId, name: Type.Optional(Type.String()), address: Type.String() })),
    },
    faults: ['UserNotFound'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      await addressBook.flush()
      const found = await searchAddressBook(read, user.num, input.query, input.limit)
      return { results: found.map(one => ({ id: one.id, name: one.name || undefined, address: one.address })) }
    },
  })

  const update = endpoint({
    method: 'PUT',
    path: '/users/:user/addressregister/:id',
    tag: 'Addresses',
    summary: 'Rename an entry, or hide it',
    allow: 'addresses.create',
    params: { user: userId, id: entryId },
    body: { disabled: bool({ description: 'Whether it is hidden' }), name: optional(text({ max: 256, empty: true })) },
    reply: {
      success: Type.Boolean({ description: 'Whether there is such an entry' }),
      error: Type.Optional(Type.String()),
      code: Type.Optional(Type.Literal('AddressNotFound')),
    },
    faults: ['UserNotFound'],
    run({ input, signal }) {
      const change = { id: input.id, name: input.name ?? null, disabled: input.disabled }
      return toldInAnswer('AddressNotFound', async () => {
        await system.handle(input.user).run(updateAddressBook, change, signal)
        return {}
      })
    },
  })

  return [search, update]
}
