// Keys with which an account has its mail encrypted at rest: OpenPGP is taken, S/MIME refused in clear words.

import { Fault, invalid } from '#lib/fault.ts'
import type { Reads } from '#store/reads.ts'
import type { User } from '#store/users.ts'

interface KeyInput {
  readonly pubKey?: string | undefined
  readonly smimeCerts?: readonly string[] | undefined
}

/**
 * Checks a key that is to be set and gives what notes it in the account.
 *
 * @throws Fault EncryptionUnsupported, InputValidationError
 */
export async function checkKey(
  reads: Pick<Reads, 'inspectKey'>,
  input: KeyInput,
  signal: AbortSignal,
): Promise<(user: Pick<User, 'options'>) => void> {
  if (input.smimeCerts !== undefined && input.smimeCerts.length > 0) {
    throw new Fault('EncryptionUnsupported', { text: 'S/MIME is not supported, use an OpenPGP key in pubKey' })
  }
  const { pubKey } = input
  if (pubKey === undefined) return () => {}
  if (pubKey === '') return user => void delete user.options.keyInfo
  const facts = await reads.inspectKey({ key: pubKey }, { signal })
  if (facts === null) throw invalid('pubKey', 'must be an OpenPGP public key that can encrypt')
  return user => {
    user.options.keyInfo = facts
  }
}
