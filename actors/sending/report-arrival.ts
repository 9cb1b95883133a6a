// A report about mail of ours that arrives with the postmaster, where the records that we print ask for it: it is noted, and read
// afterwards (jobs/tasks/report-reading.ts).
//
// What looks like one is noted and nothing more; the message itself is delivered like any other. Who sent it is noted as far as it was
// proven (RFC 7489 7.2.1.1, RFC 8460 5.3 want reports to be): anybody can write one in anybody's name.

import { newId } from '#lib/id.ts'
import type { Log } from '#lib/log.ts'
import { domainToAscii, mailboxes, splitAddress } from '#mail/address/address.ts'
import { parseAddresses } from '#mail/address/address-list.ts'
import { isAligned } from '#mail/crypt/verification.ts'
import type { Header } from '#mail/header/header.ts'
import { taskInsert } from '#store/accounts/task.ts'
import type { StoredSummary } from '#store/mailboxes/outlines.ts'
import type { DirectoryCommand } from '../admin/directory.ts'
import type { Actors } from '../kernel/system.ts'
import type { Prepared } from '../mailbox/append.ts'
import type { VerificationResults } from '../screening/verification.ts'

export const reportTask = 'report.read'

/** Has a stored message read as a report. */
export const noteArrivedReport: DirectoryCommand<{ body: number; proven: string }, void> = {
  name: 'report.arrived',
  run(turn, { body, proven }) {
    const task = {
      id: newId(),
      kind: reportTask,
      user: null,
      due: turn.now,
      input: { body, proven },
      created: turn.now,
    }
    turn.write(taskInsert, task)
    turn.wake()
  },
}

const packed = /^application\/(?:gzip|x-gzip|zip|x-zip(?:-compressed)?|xml|tlsrpt\+(?:gzip|json))$|^text\/xml$/i
const named = /\.(?:xml|xml\.gz|zip|json|json\.gz|gz)$/i

/** Whether a file may be a report. */
export function mayBeReport({ contentType, filename }: { contentType: string; filename: string }): boolean {
  return packed.test(contentType) || (named.test(filename) && /^application\/octet-stream$/i.test(contentType))
}

interface ReportMessage {
  readonly prepared: Pick<Prepared, 'body' | 'outline'>
  readonly header: Header
  /** Absent where it was not looked at here. */
  readonly verification?: VerificationResults | undefined
}

/** The domain in From, where what was looked at proves that it sent the message; else empty. */
function provenSender(header: Header, verification: VerificationResults | undefined): string {
  const authors = mailboxes(parseAddresses(header.rawAll('from').join(', ')))
  const domain = domainToAscii(splitAddress(authors[0]?.address ?? '').domain)
  if (verification === undefined || authors.length !== 1 || domain === '') return ''
  const { dmarc, dkim, spf } = verification
  if (typeof dmarc?.domain === 'string') return domain
  const proves = (one: string | false | undefined) => typeof one === 'string' && isAligned(one, domain)
  return dmarc === undefined && (proves(dkim) || proves(spf)) ? domain : ''
}

/** Notes a message that may be one, where the postmaster was given it. That it cannot be noted costs nobody the message. */
export async function noteReport(
  { system, log }: { readonly system: Actors; readonly log: Log },
  { prepared: { body, outline }, header, verification }: ReportMessage,
  recipients: readonly { readonly address: string }[],
  results: readonly object[],
): Promise<void> {
  const taken = recipients.filter((_, at) => !('refused' in (results[at] ?? {})))
  if (!taken.some(({ address }) => splitAddress(address).local.toLowerCase() === 'postmaster')) return
  if (!(JSON.parse(outline.summary) as StoredSummary).attachments.some(mayBeReport)) return
  try {
    await system.directory.run(noteArrivedReport, { body, proven: provenSender(header, verification) })
  } catch (error) {
    log.warn({ error }, 'a report that arrived could not be noted')
  }
}
