// Public keys of those who sign mail, as the library for DKIM and ARC asks for them: read once for each answer of DNS.
//
// The library reads and checks a record for each message and writes the key out as text, which the engine then reads again for
// each signature: more work than the signature itself. Here what it made of an answer is kept for as long as the answer is (by
// identity, so nothing has to be bounded or forgotten), with the key opened. A key that would make one signature cost
// milliseconds is none.

import { createPublicKey, type KeyObject } from 'node:crypto'
import { limits } from '#lib/limits.ts'
import { signatureChecks } from '#lib/process/lazy.ts'
import type { Resolve } from './dns-answers.ts'

/** What the library goes by; there is more of it. */
interface SignerKey {
  readonly publicKey: KeyObject
  /** Its domain only tries signing, or wrote it in a way that is not quite right. */
  readonly testing?: boolean
  readonly warnings?: readonly string[]
}

interface Asked {
  readonly strict?: boolean
  readonly hashAlgo?: string
}

/** As the library's own, which it calls with the same. */
export interface SignerKeys {
  readonly resolver: Resolve
  get(type: string, name: string, bitsMin: number | undefined, asked?: Asked): Promise<SignerKey>
}

/** What was made of answers, for any number of messages. */
export type OpenedKeys = WeakMap<object, Map<string, Promise<SignerKey>>>

/** For one message: a name is asked for once. */
export function signerKeys(resolver: Resolve, opened: OpenedKeys): SignerKeys {
  const { toALabel } = signatureChecks()
  const answers = new Map<string, Promise<unknown>>()
  const answerOf = (name: string) => {
    let answer = answers.get(name)
    if (answer === undefined) {
      answer = resolver(toALabel(name), 'TXT')
      // It may fail before anybody waits for it.
      answer.catch(() => {})
      answers.set(name, answer)
    }
    return answer
  }
  return {
    resolver,
    get: (type, name, bitsMin, { strict = false, hashAlgo = '' } = {}) => {
      const found = answerOf(name).then(answer => {
        const open = () => openKey(answer, type, name, bitsMin, { strict, hashAlgo })
        if (!Array.isArray(answer)) return open()
        const known = opened.get(answer) ?? new Map<string, Promise<SignerKey>>()
        opened.set(answer, known)
        const way = `${strict} ${hashAlgo} ${bitsMin}`
        const key = known.get(way) ?? open()
        known.set(way, key)
        return key
      })
      found.catch(() => {})
      return found
    },
  }
}

/** @throws what the library throws for a record it cannot use */
async function openKey(
  answer: unknown,
  type: string,
  name: string,
  bitsMin: number | undefined,
  asked: Asked,
): Promise<SignerKey> {
  const found = await signatureChecks().getPublicKey(type, name, bitsMin, async () => answer, asked)
  const publicKey = createPublicKey(found.publicKey)
  const { modulusLength = 0, publicExponent = 0n } = publicKey.asymmetricKeyDetails ?? {}
  if (modulusLength > limits.verify.rsaBitsMax || publicExponent > BigInt(limits.verify.rsaExponentMax)) {
    throw Object.assign(new Error('a key that nobody uses'), { code: 'EINVALIDVAL', rr: found.rr })
  }
  return { ...found, publicKey }
}
