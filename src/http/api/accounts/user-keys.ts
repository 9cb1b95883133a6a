// Keys with which an account has its mail encrypted at rest: an OpenPGP key, or certificates for S/MIME.
//
// They exclude each other (api-semantics 10.6): one call gives one kind, and what is set takes the place of the other.

import type { KeyFields } from '#actors/user/fields.ts'
import { invalid } from '#lib/fault.ts'
import type { Reads } from '#store/engine/reads.ts'

interface KeyInput {
  readonly pubKey?: string | undefined
  readonly smimeCerts?: readonly string[] | undefined
}

/**
 * Checks keys that are to be set and says what becomes of those that were.
 *
 * @throws Fault InputValidationError
 */
export async function checkKey(
  reads: Pick<Reads, 'inspectKey' | 'encrypt'>,
  input: KeyInput,
  signal: AbortSignal,
): Promise<KeyFields> {
  const { pubKey, smimeCerts = [] } = input
  if (smimeCerts.length > 0 && pubKey) throw invalid('smimeCerts', 'must not be given together with pubKey')
  for (const [at, pem] of smimeCerts.entries()) {
    const reason = 'must be a certificate in PEM of an RSA key from 2048 bits or a key on P-256, P-384 or P-521'
    const keys = { smime: { certificates: [pem] } }
    const tried = await reads.encrypt({ message: Buffer.from('tried'), keys }, { signal })
    if (tried === null) throw invalid(`smimeCerts,${at}`, reason)
  }
  if (smimeCerts.length > 0) return { kind: 'smime' }
  if (pubKey === undefined) return { kind: 'none' }
  if (pubKey === '') return { kind: 'empty' }
  const facts = await reads.inspectKey({ key: pubKey }, { signal })
  if (facts === null) throw invalid('pubKey', 'must be an OpenPGP public key that can encrypt')
  return { kind: 'pgp', info: facts }
}
