// The thread that finds out whether mail comes from whom it says, where that may cost much: a header of a thousand signatures
// or of megabytes. It waits for DNS most of the time, so it works on several messages at once; one that keeps it busy for too long
// takes the thread with it, and the others count as not looked at.

import { questions } from '../src/lib/process/questions.ts'
import { serve, threadEnd } from '../src/lib/process/serve.ts'
import { checkMark } from '../src/mail/bimi/mark.ts'
import { Origins } from '../src/mail/origin/origins.ts'
import { looked } from '../src/mail/origin/signed.ts'
import type { VerifyInput } from '../src/mail/origin/verification.ts'
import type { SpamText } from '../src/mail/spam/features.ts'
import { readSpamText } from '../src/mail/spam/spam-text.ts'
import type { ListZones } from '../src/mail/spam/standing.ts'

const end = threadEnd<{ readonly servers: readonly string[]; readonly lists?: ListZones }>()
const { servers, lists = { block: [], allow: [], uri: [] } } = end.given
const origins = new Origins({ ...questions(servers), lists })

function verify({ message, ...envelope }: VerifyInput) {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  return origins.of({ ...looked(bytes), texts: () => textsOf(bytes) }, envelope)
}

async function textsOf(message: Buffer): Promise<SpamText['texts']> {
  return (await readSpamText(message)).texts
}

serve({ verify, mark: checkMark }, { end })
