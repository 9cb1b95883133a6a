// Sessions of accounts that send: who logged in, for how long that holds, and what is done in their name.
//
// What an account may send, and what becomes of it, is decided by actors/sending/submission.ts.

import type { LoginAttempt } from '#actors/auth/authentication.ts'
import type { Grant, Grants, Held } from '#actors/auth/grant.ts'
import { Allowance, type AllowanceDeps } from '#actors/sending/allowance.ts'
import { Submission, type SubmissionOptions, type SubmissionRecipient } from '#actors/sending/submission.ts'
import type { Received } from '#store/bodies/bodies.ts'
import type { Backend, Speaker } from './backend.ts'

export interface SubmissionSessionsDeps
  extends Omit<SubmissionOptions, 'hostname' | 'allowance'>,
    Pick<AllowanceDeps, 'settings' | 'log'> {
  readonly credentials: {
    readonly authentication: {
      authenticate(attempt: LoginAttempt): Promise<{ user: string; grant: Grant }>
    }
    readonly grants: Pick<Grants, 'hold'>
  }
  readonly config: {
    readonly hostname: string
    readonly mail: { readonly maxSize: number; readonly postmaster: string }
  }
}

/** Who logged in to a submission session. */
interface Sender {
  /** Id of the account. */
  readonly user: string
  readonly held: Held
}

/** What a listener for submission is started with. */
export function submissionSessions(deps: SubmissionSessionsDeps) {
  const { system, sequence, settings, delivery, counters, bodies, journal, tracer, log, credentials, config } = deps
  const { hostname, mail: about } = config
  const parts = { system, sequence, bodies, hostname }
  const allowance = new Allowance({ ...parts, settings, counters, log, postmaster: about.postmaster })
  const submission = new Submission({ ...parts, delivery, counters, journal, tracer, allowance })
  const mail: Backend<SubmissionRecipient, Received> = {
    sender: async (_, speaker) => submission.sender(await senderOf(speaker)),
    recipient: async (address, speaker, notice) => submission.recipient(await senderOf(speaker), address, notice),
    open: () => bodies.intake(config.mail.maxSize),
    async deliver(received, { speaker, ...envelope }) {
      try {
        return await submission.deliver(received, { ...envelope, user: await senderOf(speaker), speaker })
      } finally {
        await received.discard()
      }
    },
    declined: ({ speaker, size, ...message }, reason) => {
      const { user } = speaker.user as Sender
      submission.declined({ ...message, user, speaker }, size, reason)
    },
    left: ({ user }) => (user as Sender | undefined)?.held.release(),
  }
  const authenticate = async (username: string, password: string, speaker: Speaker): Promise<Sender> => {
    const { id: session, remoteAddress: ip } = speaker
    const attempt = { username, password, scope: 'smtp', protocol: 'SMTP', session, ip } as const
    const { user, grant } = await credentials.authentication.authenticate(attempt)
    return { user, held: await credentials.grants.hold(grant, { ended: reason => speaker.end(reason) }) }
  }
  return { backend: mail, authenticate }
}

/** The account, as long as the session may go on. @throws Fault SessionEnded */
async function senderOf({ user }: Speaker): Promise<string> {
  const sender = user as Sender
  await sender.held.check()
  return sender.user
}
