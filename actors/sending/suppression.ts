// Addresses that an account does not write to for a while since they do not exist (store/sending/suppression.ts): refused before
// anything is sent, with the reason and the way out of it; put in and taken away by hand.
//
// What the service found by itself holds for the account that wrote; what an operator put in, for all. Forwards are not concerned.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Reader } from '#store/engine/reader.ts'
import {
  findSuppressed,
  findSuppression,
  suppressionDelete,
  suppressionKey,
  suppressionPut,
  suppressionRow,
} from '#store/sending/suppression.ts'
import type { DirectoryCommand } from '../admin/directory.ts'

/** @throws Fault RecipientSuppressed, which names the first of them */
export async function refuseSuppressed(read: Reader, user: string, addresses: readonly string[]): Promise<void> {
  const at = now()
  for (const address of addresses) {
    const found = await findSuppressed(read, user, address, at)
    if (found === undefined) continue
    const day = (moment: number) => new Date(moment).toISOString().slice(0, 10)
    const said = found.response === '' ? '' : `: ${found.response}`
    const why =
      found.source === 'manual'
        ? `${found.address} is not written to until ${day(found.until)}${said}`
        : `${found.address} does not exist, as was found on ${day(found.created)}, and is not tried again until ${day(found.until)}${said}`
    const how =
      found.user === ''
        ? 'ask the postmaster to lift it'
        : `to lift it: DELETE /users/${user}/suppressions/${encodeURIComponent(found.address)}, or ask the postmaster`
    throw new Fault('RecipientSuppressed', { text: `${why}; ${how}`.replace(/[\x00-\x1f\x7f]+/g, ' ') })
  }
}

export interface Suppressing {
  /** Id of the account; empty for all. */
  readonly user: string
  readonly address: string
  readonly until: number
  /** For whoever is refused. */
  readonly reason: string
}

export const suppress: DirectoryCommand<Suppressing, void> = {
  name: 'suppression.add',
  run(turn, { user, address, until, reason: response }) {
    const row = suppressionRow({
      ...{ user, address: suppressionKey(address), created: turn.now, until, failures: 0 },
      ...{ status: '', response, source: 'manual' },
    })
    const { accountMax, serviceMax } = limits.suppression
    turn.write(suppressionPut, { row, user, rowsMax: user === '' ? serviceMax : accountMax })
  },
}

/** @throws Fault NotSuppressed */
export const unsuppress: DirectoryCommand<{ user: string; address: string }, void> = {
  name: 'suppression.remove',
  async run(turn, { user, address }) {
    const found = await findSuppression(turn.read, user, address)
    if (found === undefined || found.until <= turn.now) throw new Fault('NotSuppressed')
    turn.write(suppressionDelete, { user, address: found.address })
  },
}
