// A thread for what is rare and heavy to load: security keys, signed profiles, QR codes. The libraries are loaded with
// the first task that needs them and go with the thread when nothing came for a while.

import { answering } from '../src/lib/process/task.ts'
import { checkAssertion, checkAttestation } from '../src/lib/secret/attestation.ts'
import type { KeyTasks } from '../src/lib/secret/key-tasks.ts'
import { signedProfile } from '../src/lib/secret/profile.ts'

/** Answers once the thread is up. */
export const ready = (): boolean => true

export const attest = answering(checkAttestation)

export const assert = answering(checkAssertion)

export const profile = answering(signedProfile)

/** A text as a picture, for `<img src>`: a data URL. */
export const qrcode = answering(async ({ text }: KeyTasks['qrcode']['input']) => {
  const { toDataURL } = await import('qrcode')
  return toDataURL(text)
})
