// What a change of accounts and addresses makes more of in a domain: looked at by the writer in the same unit, which refuses
// all of it where the domain may have no more.

import { splitAddress } from '#mail/address/address.ts'
import { domainGrowth, type Growth } from '#store/domains/domain.ts'
import { domainHold } from '#store/sending/domain-hold.ts'
import type { Turn } from '../kernel/actor.ts'

type Grown = Omit<Growth, 'quota'> & { readonly quota?: boolean }

/** Must come after the writes that make it more. */
export function grow(turn: Pick<Turn<unknown>, 'write' | 'settings'>, { quota, ...growth }: Grown): void {
  const given = quota === true ? { quota: turn.settings.get('const:max:storage') } : {}
  turn.write(domainGrowth, { ...growth, ...given })
}

/** An account's main address is another one: it may belong to another domain now. */
export function moved(turn: Pick<Turn<unknown>, 'write' | 'settings'>, before: string, after: string): void {
  const { domain } = splitAddress(after)
  if (domain === splitAddress(before).domain) return
  if (domain !== '') grow(turn, { domain, users: true, quota: true })
  // What it has in the queue is held as its domain is.
  turn.write(domainHold, null)
}
