// A report about mail of ours that arrives with the postmaster, where the records that we print ask for it, or at another address that
// the domain's records may name: it is noted, and read afterwards (jobs/tasks/report-reading.ts).
//
// What looks like one is noted and nothing more; the message itself is delivered like any other. Who sent it is noted as far as it was
// proven (RFC 7489 7.2.1.1, RFC 8460 5.3 want reports to be): anybody can write one in anybody's name.

import { newId } from '#lib/id.ts'
import type { Log } from '#lib/log.ts'
import { domainToAscii, mailboxes, splitAddress } from '#mail/address/address.ts'
import { parseAddresses } from '#mail/address/address-list.ts'
import type { Header } from '#mail/header/header.ts'
import { isAligned } from '#mail/origin/verification.ts'
import { someMatches, wholeText } from '#mail/text/long-text.ts'
import { taskInsert } from '#store/accounts/task.ts'
import type { StoredSummary } from '#store/mailboxes/outlines.ts'
import type { DirectoryCommand } from '../admin/directory.ts'
import type { Actors } from '../kernel/system.ts'
import type { Prepared } from '../mailbox/append.ts'
import type { VerificationResults } from '../screening/verification.ts'

export const reportTask = 'report.read'

export interface ReportNote {
  readonly body: number
  /** The domain that is proven to have sent it; empty where none is. */
  readonly proven: string
  /** Where it came to, if that counts only where the records of the domain name it. */
  readonly named?: readonly string[]
}

/** Has a stored message read as a report. */
export const noteArrivedReport: DirectoryCommand<ReportNote, void> = {
  name: 'report.arrived',
  run(turn, note) {
    const task = {
      id: newId(),
      kind: reportTask,
      user: null,
      due: turn.now,
      input: { ...note },
      created: turn.now,
    }
    turn.write(taskInsert, task)
    turn.wake()
  },
}

const packed = /^application\/(?:gzip|x-gzip|zip|x-zip(?:-compressed)?|xml|tlsrpt\+(?:gzip|json))$|^text\/xml$/i
const named = /\.(?:xml|xml\.gz|zip|json|json\.gz|gz)$/i

/** What is in the text of a summary that has such a file. */
const mayHold = /"contentType":"(?:application\/(?:gzip|x-gzip|zip|x-zip|xml|tlsrpt|octet-stream)|text\/xml)/i

/** Whether a file may be a report. */
export function mayBeReport({ contentType, filename }: { contentType: string; filename: string }): boolean {
  return packed.test(contentType) || (named.test(filename) && /^application\/octet-stream$/i.test(contentType))
}

interface ReportMessage {
  readonly prepared: Pick<Prepared, 'body' | 'outline' | 'files'>
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

/** What reports are called: reporter, domain, begin and end (RFC 9990 3.4.2, RFC 8460 5.1). */
const called = /^[^!\s]+![^!\s]+!\d+!\d+/
const namedMax = 10

/** Notes a message that may be one, by its name alone where it is not for the postmaster. That it cannot be noted costs nobody the message. */
export async function noteReport(
  { system, log }: { readonly system: Actors; readonly log: Log },
  { prepared: { body, outline, files: count }, header, verification }: ReportMessage,
  recipients: readonly { readonly address: string }[],
  results: readonly object[],
): Promise<void> {
  // Most have none, which is known without reading all that is known of them: of a thousand files that is milliseconds.
  if (count === 0 || !someMatches(outline.summary, mayHold)) return
  const taken = recipients.filter((_, at) => !('refused' in (results[at] ?? {})))
  if (taken.length === 0) return
  const files = (JSON.parse(wholeText(outline.summary)) as StoredSummary).attachments.filter(mayBeReport)
  if (files.length === 0) return
  const kept = taken.some(({ address }) => /^postmaster(?:\+|$)/i.test(splitAddress(address).local))
  if (!kept && !files.some(({ filename }) => called.test(filename))) return
  const named = kept ? {} : { named: taken.slice(0, namedMax).map(({ address }) => address) }
  try {
    await system.directory.run(noteArrivedReport, { body, proven: provenSender(header, verification), ...named })
  } catch (error) {
    log.warn({ error }, 'a report that arrived could not be noted')
  }
}
