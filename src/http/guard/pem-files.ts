// Certificates as files for a library that takes them from files alone and reads them at once.
//
// They lie in memory where there is a place, readable by their owner only, and are gone when this returns.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Fault } from '#lib/fault.ts'

/** A key and a certificate with its chain, in PEM. */
export interface PemPair {
  readonly key: string
  readonly cert: string
}

export interface HttpTls {
  /** For clients that ask for no name or an unknown one. */
  readonly initial: PemPair
  /** By host name or wildcard. */
  readonly named: ReadonlyMap<string, PemPair>
}

/**
 * What `make` gives; it may turn pairs into the names of their files.
 *
 * @param places folders to try in order
 * @throws Fault StorageUnavailable where none of them takes files
 */
export function withPemFiles<Made>(
  make: (files: (pair: PemPair) => { key_file_name: string; cert_file_name: string }) => Made,
  places: readonly string[] = ['/dev/shm', tmpdir()],
): Made {
  const folder = folderIn(places)
  try {
    return make(({ key, cert }) => {
      const names = { key_file_name: join(folder, 'key'), cert_file_name: join(folder, 'cert') }
      writeFileSync(names.key_file_name, key, { mode: 0o600 })
      writeFileSync(names.cert_file_name, cert, { mode: 0o600 })
      return names
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A place may be there and not be for us: read-only, or another user's. */
function folderIn(places: readonly string[]): string {
  let reason: unknown
  for (const place of places) {
    try {
      return mkdtempSync(join(place, 'teal-'))
    } catch (error) {
      reason = error
    }
  }
  const text = `Certificates are put into a file for a moment, and none of ${places.join(', ')} takes one: mount a tmpfs there`
  throw new Fault('StorageUnavailable', { text, cause: reason })
}
