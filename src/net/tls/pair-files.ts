// A certificate and its key in files, which whatever renews them replaces: looked at now and then, and read again when
// either has changed, or at once when the process is told to. Files that cannot be read, or do not belong together yet, leave the pair before them in use.
//
// Nothing is written, and nobody is asked for a password of a key.

import { readFileSync, statSync } from 'node:fs'
import { every } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'

export interface PairFiles {
  readonly cert: string
  readonly key: string
}

/**
 * Calls `renew` with the new pair after one of the files changed, and again until it does not throw.
 *
 * @param failed hears why a pair was not taken
 * @returns ends the looking
 */
export function watchPair(
  files: PairFiles,
  renew: (pair: { key: string; cert: string }) => void,
  failed: (error: unknown) => void,
): { look(): void; close(): void } {
  let known = stampOf(files)
  const look = () => {
    const stamp = stampOf(files)
    if (stamp === known) return
    try {
      renew({ cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') })
      known = stamp
    } catch (error) {
      failed(error)
    }
  }
  const timer = every(limits.certificate.filesMs, look)
  watches.add(look)
  const close = () => {
    timer.cancel()
    watches.delete(look)
  }
  return { look, close }
}

/** Of this process. */
const watches = new Set<() => void>()

/** Looks at every watched pair at once. */
export function lookAtPairs(): void {
  for (const look of watches) look()
}

/** Changes with the files; links are followed, as renewing programs change them. */
function stampOf({ cert, key }: PairFiles): string {
  try {
    return [cert, key]
      .map(file => statSync(file))
      .map(({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`)
      .join('|')
  } catch {
    return 'missing'
  }
}
