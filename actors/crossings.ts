// The commands that may be asked for from another thread, by name: those of sessions and of deliveries. Only what stands
// here crosses; everything else is asked for where the actors live.

import type { DirectoryState } from './admin/directory.ts'
import { deliverMessage, dropMessage } from './delivery/decision.ts'
import { queueAll } from './delivery/local-delivery.ts'
import type { Command } from './kernel/actor.ts'
import { appendMessage, appendMessages } from './mailbox/append.ts'
import { createMailbox, deleteMailbox, renameParent, unsubscribeName, updateMailbox } from './mailbox/mailbox.ts'
import { copyMessages, expungeMessages, moveMessages, storeFlags } from './mailbox/message.ts'
import { noteTold } from './mailbox/told.ts'
import { noteMark } from './screening/marks.ts'
import { queueMessage } from './sending/outgoing.ts'
import { notePace, pauseSending, warnSender } from './sending/pausing.ts'
import { noteArrivedReport } from './sending/report-arrival.ts'
import { noteReports } from './sending/report-counts.ts'
import { noteReturned } from './sending/returned-arrival.ts'
import { blameFilter } from './user/rules.ts'

type Named<State> = ReadonlyMap<string, Command<State, never, unknown>>

function byName<State>(commands: readonly Command<State, never, unknown>[]): Named<State> {
  return new Map(commands.map(command => [command.name, command]))
}

/** Of an account. */
export const userCrossings = byName([
  ...[appendMessage, appendMessages, deliverMessage, dropMessage, queueMessage, blameFilter],
  ...[createMailbox, deleteMailbox, renameParent, unsubscribeName, updateMailbox],
  ...[copyMessages, expungeMessages, moveMessages, storeFlags, noteTold],
])

/** Of what belongs to no account. */
export const directoryCrossings = byName<DirectoryState>([
  ...[queueAll, noteReports, noteArrivedReport, noteReturned, noteMark],
  ...[pauseSending, warnSender, notePace],
])
