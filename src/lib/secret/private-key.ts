// Private keys as people paste them: reading, writing and naming them.
//
// Nothing here says what was wrong with a key: texts of the crypto library may quote its bytes.

import { createHash, createPrivateKey, type KeyObject } from 'node:crypto'

/** The key in a PEM text (PKCS#1, SEC1 or PKCS#8, not encrypted); undefined where there is none. */
export function parsePrivateKey(text: string): KeyObject | undefined {
  const pem = /-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----[A-Za-z0-9+/=\s]+-----END \1-----/.exec(text)?.[0]
  if (pem === undefined) return undefined
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}

/** PKCS#8 in PEM. */
export function privatePem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** SHA-256 of the key as PKCS#8 DER: pairs of lower-case hexadecimal digits with colons between */
export function keyFingerprint(key: KeyObject): string {
  const digest = createHash('sha256')
    .update(key.export({ type: 'pkcs8', format: 'der' }))
    .digest('hex')
  return digest.replace(/..(?!$)/g, '$&:')
}
