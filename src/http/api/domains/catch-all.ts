// Who gets mail for addresses that nobody has: the address `*@domain`, shown and changed with its domain.
//
// There is no second place for it: whoever makes, changes or deletes that address as an address changes the same thing.

import { createForwarded, deleteForwarded } from '#actors/delivery/forwarded.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { createAddress, deleteAddress } from '#actors/user/account.ts'
import { invalid } from '#lib/fault.ts'
import { keepSecrets, maskUrl } from '#lib/secret/url-secret.ts'
import { type Address, findAddressByKey } from '#store/accounts/address.ts'
import type { Reader } from '#store/engine/reader.ts'

export interface CatchAllInput {
  readonly user?: string | undefined
  readonly targets?: string[] | undefined
}

/** One of an account or some targets, not both. @throws Fault InputValidationError */
export function checkCatchAll(input: CatchAllInput | false | undefined): void {
  if (input === undefined || input === false) return
  if ((input.user === undefined) === (input.targets === undefined || input.targets.length === 0)) {
    throw invalid('catchAll', 'must name either a user or targets')
  }
}

export async function shownCatchAll(read: Reader, domain: string) {
  const found = await findAddressByKey(read, `*@${domain}`)
  if (found === undefined) return false as const
  const { id, address, user, forward } = found
  return {
    ...{ id, address },
    ...(user !== null && { user }),
    ...(forward !== null && { targets: forward.targets.map(maskUrl) }),
  }
}

/**
 * Has `*@domain` go there; the one before goes in the same unit.
 *
 * @throws Fault UserNotFound, DomainLimit, AddressExistsError where somebody changed it meanwhile
 */
export async function changeCatchAll(
  system: ActorSystem,
  domain: string,
  input: CatchAllInput | false,
  signal: AbortSignal,
): Promise<void> {
  const name = `*@${domain}`
  const before = await findAddressByKey(system.read, name)
  if (input === false) return before && forget(system, before, signal)
  const form = { key: name, address: name, domain, name: '', tags: [], metaData: undefined, internalData: undefined }
  const replaces = before?.id
  const { user, targets = [] } = input
  if (user !== undefined) {
    if (before?.user === user) return
    await system.handle(user).run(createAddress, { ...form, replaces, main: false, own: false }, signal)
    return
  }
  const sealed = keepSecrets(await system.secrets.sealAll(targets), before?.forward?.targets ?? [], 'catchAll,targets')
  const forward = { forwards: 0, disabled: false, ...before?.forward, targets: sealed }
  await system.directory.run(createForwarded, { ...form, replaces, forward }, signal)
}

async function forget(system: ActorSystem, { id, user }: Address, signal: AbortSignal): Promise<void> {
  if (user === null) await system.directory.run(deleteForwarded, { id }, signal)
  else await system.handle(user).run(deleteAddress, { id }, signal)
}
