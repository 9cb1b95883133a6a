// A report about mail of ours that arrives with the postmaster, where the records that we print ask for it: it is noted, and read
// afterwards (jobs/tasks/report-reading.ts).
//
// What looks like one is noted and nothing more; the message itself is delivered like any other.

import { newId } from '#lib/id.ts'
import type { Log } from '#lib/log.ts'
import { splitAddress } from '#mail/address/address.ts'
import { taskInsert } from '#store/accounts/task.ts'
import type { StoredSummary } from '#store/mailboxes/outlines.ts'
import type { DirectoryCommand } from '../admin/directory.ts'
import type { Actors } from '../kernel/system.ts'
import type { Prepared } from '../mailbox/append.ts'

export const reportTask = 'report.read'

/** Has a stored message read as a report. */
export const noteArrivedReport: DirectoryCommand<{ body: number }, void> = {
  name: 'report.arrived',
  run(turn, { body }) {
    const task = { id: newId(), kind: reportTask, user: null, due: turn.now, input: { body }, created: turn.now }
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

/** Notes a message that may be one, where the postmaster was given it. That it cannot be noted costs nobody the message. */
export async function noteReport(
  { system, log }: { readonly system: Actors; readonly log: Log },
  { body, outline }: Pick<Prepared, 'body' | 'outline'>,
  recipients: readonly { readonly address: string }[],
  results: readonly object[],
): Promise<void> {
  const taken = recipients.filter((_, at) => !('refused' in (results[at] ?? {})))
  if (!taken.some(({ address }) => splitAddress(address).local.toLowerCase() === 'postmaster')) return
  if (!(JSON.parse(outline.summary) as StoredSummary).attachments.some(mayBeReport)) return
  try {
    await system.directory.run(noteArrivedReport, { body })
  } catch (error) {
    log.warn({ error }, 'a report that arrived could not be noted')
  }
}
