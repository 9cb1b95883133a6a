// Audits: copies of an account's mail for whoever has to look into it, for a while (api-semantics 10.4).
//
// An audit begins with a task that copies what is there, live and archived; every message that comes in later is copied in
// the unit that stores it (store/mailboxes/audits.ts). A copy holds its body, so nothing the account does takes it away.

import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { mboxMessage } from '#mail/exchange/mbox.ts'
import { flag } from '#mail/flags.ts'
import { taskInsert } from '#store/accounts/task.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import {
  auditCopy,
  auditDrop,
  auditEnd,
  auditInsert,
  auditMessages,
  auditState,
  expiredAudits,
  findAudit,
  holdsMessages,
  messagesBetween,
} from '#store/mailboxes/audits.ts'
import type { ActorSystem } from '../kernel/system.ts'
import { mboxContent } from '../view/mbox-export.ts'
import type { DirectoryCommand } from './directory.ts'

export interface NewAudit {
  readonly user: string
  readonly starts: number | null
  readonly ends: number | null
  readonly expires: number
  readonly notes: string
  readonly meta: Record<string, unknown>
}

/** Kind of the task that copies what is there. */
export const auditTask = 'audit.copy'

/** Makes an audit together with the task that copies what is there. */
export const createAudit: DirectoryCommand<NewAudit, { id: string }> = {
  name: 'audit.create',
  run(turn, input) {
    const id = newId()
    turn.write(auditInsert, { ...input, id, created: turn.now })
    const task = { id: newId(), kind: auditTask, user: null, due: turn.now, input: { audit: id } }
    turn.write(taskInsert, { ...task, created: turn.now })
    turn.wake()
    return { id }
  },
}

interface Piece {
  readonly audit: string
  readonly nums: readonly number[]
}

export const copyPiece: DirectoryCommand<Piece, void> = {
  name: 'audit.copy',
  background: true,
  run: (turn, piece) => turn.write(auditCopy, { ...piece, at: turn.now }, piece.nums.length * 16),
}

export const noteState: DirectoryCommand<{ id: string; state: string; failed: number }, void> = {
  name: 'audit.note',
  run: (turn, row) => turn.write(auditState, row),
}

export const endAudit: DirectoryCommand<{ id: string }, void> = {
  name: 'audit.end',
  background: true,
  run: (turn, { id }) => turn.write(auditEnd, { id, at: turn.now }),
}

export const dropCopies: DirectoryCommand<{ id: string }, void> = {
  name: 'audit.drop',
  background: true,
  run: (turn, { id }) => turn.write(auditDrop, { id, count: limits.audit.batchMessages }),
}

/** Copies what is there already; may be run again. */
export async function copyForAudit(system: ActorSystem, id: string, signal: AbortSignal): Promise<{ copied: number }> {
  const { directory, read } = system
  const audit = await findAudit(read, id)
  if (audit === undefined) throw new Fault('AuditNotFoundError')
  if (audit.deleted !== null) return { copied: audit.copied }
  await directory.run(noteState, { id, state: 'importing', failed: 0 })
  try {
    const copy = async (table: 'message' | 'archive', from: number) => {
      for (let after = from; ; ) {
        signal.throwIfAborted()
        const nums = await messagesBetween(read, audit.user, audit, table, after, limits.audit.batchMessages)
        const last = nums.at(-1)
        if (last === undefined) return after
        await directory.run(copyPiece, { audit: id, nums })
        after = last
      }
    }
    const last = await copy('message', 0)
    await copy('archive', 0)
    // What was brought back from the archive before its turn came there has a higher number.
    await copy('message', last)
  } catch (error) {
    if (!signal.aborted) await directory.run(noteState, { id, state: 'failed', failed: 1 })
    throw error
  }
  await directory.run(noteState, { id, state: 'imported', failed: 0 })
  return { copied: (await findAudit(read, id))?.copied ?? 0 }
}

/** Ends audits whose time is over at `at`, copies and all; the records stay. */
export async function endAudits(system: ActorSystem, at: number, signal: AbortSignal): Promise<void> {
  const { directory, read } = system
  for (const id of await expiredAudits(read, at)) {
    await directory.run(endAudit, { id })
    while (!signal.aborted && (await holdsMessages(read, id))) await directory.run(dropCopies, { id })
  }
}

/** Everything an audit holds as one mbox file, oldest first. */
export async function* auditMbox(read: Reader, bodies: Bodies, id: string): AsyncGenerator<Buffer> {
  let after = { idate: -9e15, body: 0 }
  for (;;) {
    const page = await auditMessages(read, id, after, limits.audit.pageMessages)
    for (const message of page) {
      const { path, flags, sender: from, idate: date } = message
      const content = await mboxContent(bodies, message)
      if (content === undefined) continue
      const draft = (flags & flag.draft) === 0 ? [] : ['X-Export-Draft: Yes']
      const fields = [`X-Export-Mailbox: ${path}`, ...draft, ...content.fields]
      yield* mboxMessage({ from, date, fields }, content.bytes)
    }
    const last = page.at(-1)
    if (last === undefined) return
    after = { idate: last.idate, body: last.body }
  }
}
