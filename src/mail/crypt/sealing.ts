// What the thread that encrypts is asked for: a message encrypted for its owner, and whom a key belongs to.
//
// S/MIME goes before OpenPGP (wire-details 9). A key that cannot be used is an answer and no error.

import { encryptMessage, inspectKey, type KeyFacts } from './encrypt.ts'
import { encryptSmime, type SmimeOptions } from './smime.ts'

/** With what an account has its mail encrypted. */
export interface EncryptKeys {
  readonly pubKey?: string | undefined
  readonly smime?: SmimeOptions | undefined
}

export interface EncryptTask {
  readonly message: Uint8Array
  readonly keys: EncryptKeys
}

export interface SealTasks {
  readonly encrypt: { readonly input: EncryptTask; readonly value: Uint8Array | null }
  readonly inspectKey: { readonly input: { key: string }; readonly value: KeyFacts | null }
}

/** The message encrypted; null where no key can be used. */
export async function sealMessage({ message, keys: { pubKey, smime } }: EncryptTask): Promise<Uint8Array | null> {
  const plain = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  const sealed = smime === undefined ? null : encryptSmime(plain, smime)
  return sealed ?? (pubKey === undefined ? null : encryptMessage(plain, pubKey))
}

export { inspectKey }
