// Disk: what 10,000 messages of the realistic mixture take, as a share of their own bytes.
//
// Measured twice: as the running service leaves it, and after it has stopped and copied its log back. Blocks are what
// the file system gave, so that half-filled blocks count.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { loadNote, runLoad } from '../child.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, startService } from '../service.ts'

const users = 20
const shareOfBytes = 0.55

export async function diskSection(plan: Plan): Promise<Row[]> {
  const folder = makeFolder()
  try {
    const service = await startService(folder)
    const recipients = (await makeUsers(service, users)).map(user => user.address)
    const before = diskBytes(folder)
    const count = plan.mixed
    const target = service.listener('lmtp')
    const load = { protocol: 'lmtp', recipients, size: 'mixed', seed: 7, connections: 16, count } as const
    const result = await runLoad({ kind: 'deliver', ...target, ...load })
    if (result.done !== count) throw new Error(`only ${result.done} of ${count} arrived: ${loadNote(result)}`)
    const running = diskBytes(folder) - before
    await service.stop()
    const stopped = diskBytes(folder) - before
    const bound = { name: 'their bytes', value: result.bytes }
    const unit = 'bytes'
    return [
      {
        what: `disk for ${count} mixed messages, stopped`,
        figure: stopped,
        unit,
        bound,
        wanted: { most: shareOfBytes },
        note: `delivered at ${Math.round(result.rate)}/s, ${(result.bytes / result.seconds / 2 ** 20).toFixed(1)} MB/s`,
      },
      { what: '  while running (with the log)', figure: running, unit, bound },
    ]
  } finally {
    removeFolder(folder)
  }
}

/** Bytes of the blocks that everything under a folder takes. */
function diskBytes(folder: string): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    bytes += entry.isDirectory() ? diskBytes(path) : statSync(path).blocks * 512
  }
  return bytes
}
