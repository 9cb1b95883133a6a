// Copying and moving messages with regard to encryption at rest: what comes into a folder that asks for it is encrypted
// on the way, unless it is a draft or encrypted already.
//
// Where nothing is to be encrypted this is the plain command. Encrypted forms are made before the turn; a message that
// went meanwhile leaves its form unused. So many at once are refused that memory stays bounded.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { flag } from '#mail/flags.ts'
import { findUser } from '#store/accounts/users.ts'
import type { Received } from '#store/bodies/bodies.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import { findMailbox } from '#store/mailboxes/mailboxes.ts'
import { plainBodies } from '#store/mailboxes/messages.ts'
import { type EncryptionDeps, encrypted, keysOf, wantsEncryption } from '../delivery/encryption.ts'
import { prepare } from '../delivery/prepare.ts'
import type { UserHandle } from '../kernel/system.ts'
import type { Prepared } from '../mailbox/append.ts'
import type { copyMessages, moveMessages, Transfer, Transferred } from '../mailbox/message.ts'

/**
 * Runs `copyMessages` or `moveMessages`.
 *
 * @throws Fault as they do, and TooManyMessages for more than limits.actor.encryptedMax to be encrypted at once
 */
export async function transferMessages(
  deps: EncryptionDeps & { readonly sequence: Numbers },
  handle: UserHandle,
  command: typeof copyMessages | typeof moveMessages,
  transfer: Transfer,
  signal?: AbortSignal,
): Promise<Transferred> {
  const user = await findUser(handle.read, handle.id)
  if (user === undefined || keysOf(user) === null) return handle.run(command, transfer, signal)
  const [source, target] = [
    await findMailbox(handle.read, user.num, transfer.from),
    await findMailbox(handle.read, user.num, transfer.to),
  ]
  if (source === undefined || !wantsEncryption(user, target)) return handle.run(command, transfer, signal)
  const plain: { uid: number; body: number }[] = []
  for (const [from, to] of transfer.uids) {
    plain.push(...(await plainBodies(handle.read, source.num, from, to, flag.draft, limits.actor.encryptedMax + 1)))
  }
  if (plain.length > limits.actor.encryptedMax) throw new Fault('TooManyMessages')
  const kept: Received[] = []
  try {
    const sealed = new Map<number, Prepared>()
    for (const { uid, body } of plain) {
      const received = await deps.bodies.receiveAll(deps.bodies.stream(body))
      kept.push(received)
      const stored = await encrypted(deps, user, received)
      if (stored === received) continue
      kept.push(stored)
      sealed.set(uid, await prepare(stored, deps.sequence))
    }
    return await handle.run(command, { ...transfer, sealed }, signal)
  } finally {
    for (const received of kept) await received.discard()
  }
}
