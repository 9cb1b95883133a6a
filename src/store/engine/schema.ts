// The numbered migrations that make the tables, each in a file of its own (migrations/), and how a database goes through them.
//
// A migration runs inside one transaction and is never changed once released; `user_version` counts them. A database
// that is newer than this program is refused. Rows that come by the thousand have integer keys given out by the
// service (sequence.ts); hot counters live in narrow tables of their own so that one page serves many users. No
// foreign keys: units are written whole, and the checker (check.ts) proves every reference.

import { Fault } from '#lib/fault.ts'
import { first } from './migrations/001-first.ts'
import { webhooks } from './migrations/002-webhooks.ts'
import { tasks } from './migrations/003-tasks.ts'
import { archive } from './migrations/004-archive.ts'
import { search } from './migrations/005-search.ts'
import { outgoing } from './migrations/006-outgoing.ts'
import { rules } from './migrations/007-rules.ts'
import { accounts } from './migrations/008-accounts.ts'
import { credentials } from './migrations/009-credentials.ts'
import { domainKeys } from './migrations/010-domain-keys.ts'
import { transfer } from './migrations/011-transfer.ts'
import { attached } from './migrations/012-attached.ts'
import { told } from './migrations/013-told.ts'
import { readable } from './migrations/014-readable.ts'
import { waiting } from './migrations/015-waiting.ts'
import { strays } from './migrations/016-strays.ts'
import { trees } from './migrations/017-trees.ts'
import { listed } from './migrations/018-listed.ts'
import { spam } from './migrations/019-spam.ts'
import { signingKeys } from './migrations/020-signing-keys.ts'
import { wayOut } from './migrations/021-way-out.ts'
import { proven } from './migrations/022-proven.ts'
import { counted } from './migrations/023-counted.ts'
import { arrived } from './migrations/024-arrived.ts'
import { returned } from './migrations/025-returned.ts'
import { paused } from './migrations/026-paused.ts'
import { traced } from './migrations/027-traced.ts'
import { provenReports } from './migrations/028-proven-reports.ts'
import { relearned } from './migrations/029-relearned.ts'
import { signed } from './migrations/030-signed.ts'
import { figures } from './migrations/031-figures.ts'
import { contacts } from './migrations/032-contacts.ts'
import { domains } from './migrations/033-domains.ts'
import { marks } from './migrations/034-marks.ts'
import { known } from './migrations/035-known.ts'
import { relearnedByPlace } from './migrations/036-relearned-by-place.ts'
import { forgotten } from './migrations/037-forgotten.ts'
import { asLines } from './migrations/038-as-lines.ts'
import { loose } from './migrations/039-loose.ts'
import type { Handle } from './sqlite/handle.ts'

/** Migrations in order; the number of one is its place, counted from 1. */
export const migrations: readonly string[] = [
  first,
  webhooks,
  tasks,
  archive,
  search,
  outgoing,
  rules,
  accounts,
  credentials,
  domainKeys,
  transfer,
  attached,
  told,
  readable,
  waiting,
  strays,
  trees,
  listed,
  spam,
  signingKeys,
  wayOut,
  proven,
  counted,
  arrived,
  returned,
  paused,
  traced,
  provenReports,
  relearned,
  signed,
  figures,
  contacts,
  domains,
  marks,
  known,
  relearnedByPlace,
  forgotten,
  asLines,
  loose,
]

/**
 * Brings the database up to this program's schema, each step in a transaction of its own.
 *
 * @returns whether there was none
 * @throws Fault DatabaseTooNew when the database was written by a later program, DataMissing where it is empty and must not be
 */
export function migrate(handle: Handle, mayBeNew = true): boolean {
  const version = Number(handle.pragma('user_version', { simple: true }))
  if (version === 0 && !mayBeNew) throw new Fault('DataMissing')
  if (version > migrations.length) throw new Fault('DatabaseTooNew')
  for (let step = version; step < migrations.length; step++) {
    handle.transaction(() => {
      handle.exec(migrations[step] ?? '')
      handle.pragma(`user_version = ${step + 1}`)
    })()
  }
  return version === 0
}
