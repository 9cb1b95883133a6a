// Everything that is wrong with a store: the rules of all of its parts, and what is stored of bodies. What the service
// looks through at the end of every test, and `teal verify`.
//
// A part of the store adds its rules when it is loaded (check.ts): here all of them are, whoever asks.

import { checkBodies } from '../bodies/check.ts'
import { BodyFiles } from '../bodies/files.ts'
import { openObjects } from '../bodies/objects/parts.ts'
import type { Reader } from '../engine/reader.ts'
import { sqliteFailure } from '../engine/sqlite/handle.ts'
import type { Place } from '../folder/place.ts'
import { type KeysConfigured, missingKeys } from '../folder/presence.ts'
import { checkPages, checkStore } from './check.ts'
import './clear-urls.ts'
import './figures.ts'
import '../accounts/contact.ts'
import '../domains/acme.ts'
import '../domains/domain.ts'
import '../mailboxes/archive.ts'
import '../mailboxes/audits.ts'
import '../domains/certificate.ts'
import '../accounts/credentials.ts'
import '../domains/dkim.ts'
import '../domains/signing-key.ts'
import '../domains/alias.ts'
import '../domains/access.ts'
import '../domains/mark.ts'
import '../accounts/file.ts'
import '../sending/domain-hold.ts'
import '../sending/outbound.ts'
import '../sending/report.ts'
import '../sending/sts-policy.ts'
import '../sending/attempts.ts'
import '../sending/bounce.ts'
import '../sending/pause.ts'
import '../accounts/address-book.ts'
import '../rules/autoreply.ts'
import '../rules/filter.ts'
import '../rules/spam.ts'
import '../search/docs.ts'
import '../accounts/task.ts'
import '../accounts/transfer.ts'
import '../events/event.ts'
import '../events/deliveries.ts'
import '../events/subscriptions.ts'

/** What is wrong with the store of a data directory, or of a backup, as sentences. @param hashes reads every byte */
export async function verifyStore(
  read: Reader,
  place: Omit<Place, 'store'>,
  hashes: boolean,
  configured: KeysConfigured = { totp: false },
): Promise<string[]> {
  const found: string[] = []
  await stage('rows', found, async () => void found.push(...(await checkStore(read))))
  await stage('keys', found, async () => void found.push(...(await missingKeys(read, place.dataDir, configured))))
  await stage('bodies', found, () => lookAtBodies(read, place, hashes, found))
  return found
}

/**
 * The same of a database that an earlier version wrote and nobody has brought up to date yet: its pages and every byte of bodies. What
 * holds for rows is said of the tables of this version.
 */
export async function verifyEarlier(read: Reader, place: Omit<Place, 'store'>, hashes: boolean): Promise<string[]> {
  const found: string[] = []
  await stage('pages', found, async () => void found.push(...(await checkPages(read))))
  await stage('bodies', found, () => lookAtBodies(read, place, hashes, found))
  return found
}

/** What cannot be read to its end is a finding itself. */
async function stage(what: string, found: string[], look: () => Promise<void>): Promise<void> {
  try {
    await look()
  } catch (error) {
    const failure = sqliteFailure(error)
    if (failure?.kind !== 'broken') throw error
    found.push(`${what}: cannot be read to the end, ${failure.text}`)
  }
}

async function lookAtBodies(
  read: Reader,
  place: Omit<Place, 'store'>,
  hashes: boolean,
  found: string[],
): Promise<void> {
  const objects = openObjects(place)
  const files = new BodyFiles(place.dataDir, objects)
  try {
    for await (const one of checkBodies(read, files, { hashes, strays: false })) found.push(one)
  } finally {
    await objects?.close()
  }
}
