// Who submits a message over HTTP, for the log: the account, and from where.
//
// A program that speaks for others says from where they come; without that it is where it is itself.

import { SubmissionLine } from '#actors/compose/submission-line.ts'
import type { Journal } from '#lib/journal/journal.ts'
import type { Request } from '../../endpoint.ts'

export function submissionLine(
  journal: Journal,
  { id: user }: { readonly id: string },
  { ip }: { readonly ip?: string },
  { address, secure }: Pick<Request, 'address' | 'secure'>,
): SubmissionLine {
  return new SubmissionLine(journal, { user, ip: ip ?? address, protocol: secure ? 'HTTPS' : 'HTTP' })
}
