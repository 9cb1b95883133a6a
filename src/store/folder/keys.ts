// Keys that the service makes for itself at first start, one file each under the data directory, readable by its owner
// alone. What they protect (sealed seeds, rewritten senders) cannot be read or checked without them, so they belong into
// every backup and are never made anew while a file is there.

import { chmodSync, existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault } from '#lib/fault.ts'
import { randomHex } from '#lib/id.ts'
import { isPassing, makeFolder, syncPath } from '#lib/lasting.ts'
import { keyFile } from './place.ts'

/**
 * The key of that name: the configured one, else what stands in its file, which is made if there is none.
 *
 * @throws Fault ConfigInvalid for a file that holds no key
 */
export function loadKey(dataDir: string, name: string, configured: string): string {
  if (configured !== '') return configured
  const file = keyFile(dataDir, name)
  const text = read(file) ?? make(file)
  if (!/^[0-9a-f]{64}$/.test(text)) {
    throw new Fault('ConfigInvalid', { text: `${file} holds no key: bring it back from a backup` })
  }
  return text
}

/** Whether there is a file of it. */
export function hasKey(dataDir: string, name: string): boolean {
  return existsSync(keyFile(dataDir, name))
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Written aside and linked: the file is whole or not there, and whoever comes second takes the first one's key. */
function make(file: string): string {
  makeFolder(dirname(file))
  const aside = `${file}.${randomHex(8)}`
  try {
    writeFileSync(aside, `${randomHex(32)}\n`, { mode: 0o600, flush: !isPassing(file) })
    chmodSync(aside, 0o600)
    linkSync(aside, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(aside, { force: true })
  }
  // Before anything is sealed with it.
  syncPath(dirname(file))
  return readFileSync(file, 'utf8').trim()
}
