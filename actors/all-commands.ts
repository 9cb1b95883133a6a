// Every command there is, by name: between nodes all of them cross, since any node may be asked for any account.
//
// A command is what a room exports with a name and something to run; whoever writes one in another file adds a line.

import * as adminAudit from './admin/audit.ts'
import * as adminCertificate from './admin/certificate.ts'
import * as adminDirectory from './admin/directory.ts'
import * as adminDkim from './admin/dkim.ts'
import * as adminDomains from './admin/domains.ts'
import * as adminImport from './admin/import.ts'
import * as adminSigningKeys from './admin/signing-keys.ts'
import * as adminWebhook from './admin/webhook.ts'
import * as authToldLogin from './auth/told-login.ts'
import * as composeTakenBack from './compose/taken-back.ts'
import * as deliveryAddressBook from './delivery/address-book.ts'
import * as deliveryDecision from './delivery/decision.ts'
import * as deliveryForwarded from './delivery/forwarded.ts'
import * as deliveryLocalDelivery from './delivery/local-delivery.ts'
import * as domainDomain from './domain/domain.ts'
import type { Command } from './kernel/actor.ts'
import * as mailboxAppend from './mailbox/append.ts'
import * as mailboxArchive from './mailbox/archive.ts'
import * as mailboxMailbox from './mailbox/mailbox.ts'
import * as mailboxMessage from './mailbox/message.ts'
import * as mailboxSubmit from './mailbox/submit.ts'
import * as mailboxTold from './mailbox/told.ts'
import * as screeningMarks from './screening/marks.ts'
import * as sendingOutgoing from './sending/outgoing.ts'
import * as sendingPausing from './sending/pausing.ts'
import * as sendingReportArrival from './sending/report-arrival.ts'
import * as sendingReportCounts from './sending/report-counts.ts'
import * as sendingReturnedArrival from './sending/returned-arrival.ts'
import * as sendingSuppression from './sending/suppression.ts'
import * as userAccount from './user/account.ts'
import * as userContacts from './user/contacts.ts'
import * as userCredential from './user/credential.ts'
import * as userFiles from './user/files.ts'
import * as userImport from './user/import.ts'
import * as userQuota from './user/quota.ts'
import * as userRemoval from './user/removal.ts'
import * as userRestore from './user/restore.ts'
import * as userRetention from './user/retention.ts'
import * as userRules from './user/rules.ts'

type AnyCommand = Command<never, never, unknown>

const rooms: readonly object[] = [
  adminAudit,
  adminCertificate,
  adminDirectory,
  adminDkim,
  adminDomains,
  adminImport,
  adminSigningKeys,
  adminWebhook,
  authToldLogin,
  composeTakenBack,
  deliveryAddressBook,
  deliveryDecision,
  deliveryForwarded,
  deliveryLocalDelivery,
  domainDomain,
  mailboxAppend,
  mailboxArchive,
  mailboxMailbox,
  mailboxMessage,
  mailboxSubmit,
  screeningMarks,
  sendingOutgoing,
  sendingPausing,
  sendingReportArrival,
  sendingReportCounts,
  sendingReturnedArrival,
  sendingSuppression,
  userAccount,
  userContacts,
  userCredential,
  userFiles,
  userImport,
  userQuota,
  userRemoval,
  userRestore,
  userRetention,
  userRules,
  mailboxTold,
]

/** By name. */
export const allCommands: ReadonlyMap<string, AnyCommand> = collected()

function collected(): ReadonlyMap<string, AnyCommand> {
  const all = new Map<string, AnyCommand>()
  for (const found of rooms.flatMap(room => Object.values(room))) {
    if (!isCommand(found)) continue
    if (all.has(found.name) && all.get(found.name) !== found) throw new Error(`two commands are called ${found.name}`)
    all.set(found.name, found)
  }
  return all
}

function isCommand(value: unknown): value is AnyCommand {
  const { name, run } = (typeof value === 'object' && value !== null ? value : {}) as Partial<AnyCommand>
  return typeof name === 'string' && name.includes('.') && typeof run === 'function'
}
