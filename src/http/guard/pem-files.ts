// Certificates as files for a library that takes them from files alone and reads them at once.
//
// They lie in memory where there is a place, readable by their owner only, and are gone when this returns.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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

/** What `make` gives; it may turn pairs into the names of their files. */
export function withPemFiles<Made>(
  make: (files: (pair: PemPair) => { key_file_name: string; cert_file_name: string }) => Made,
): Made {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'teal-'))
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
