// A thread for what is rare and heavy: security keys, signed profiles, QR codes, reports of strangers. The libraries are loaded with
// the first task that needs them and go with the thread when nothing came for a while.

import { serve } from '../src/lib/process/serve.ts'
import type { KeyTasks } from '../src/lib/secret/key-tasks.ts'
import { signedProfile } from '../src/lib/secret/profile.ts'
import { checkAssertion, checkAttestation } from '../src/lib/webauthn/attestation.ts'
import { type PoolReportTask, readReport } from '../src/mail/report/arrived.ts'
import { type PoolBounceTask, readBounce } from '../src/mail/report/bounce.ts'

/** A text as a picture, for `<img src>`: a data URL. */
async function qrcode({ text }: KeyTasks['qrcode']['input']): Promise<string> {
  // A bundle of it has the default export alone.
  const { default: library } = await import('qrcode')
  return library.toDataURL(text)
}

/** A report that somebody sent. */
function report({ data }: PoolReportTask['report']['input']) {
  return readReport(data)
}

/** Mail that may have come back. */
function bounce({ data }: PoolBounceTask['bounce']['input']) {
  return readBounce(data)
}

serve({ report, bounce, attest: checkAttestation, assert: checkAssertion, profile: signedProfile, qrcode })
