// The thread that takes a backup while the service is served: it reads files and a database of its own handle, leaves the disk most of
// its time, and ends with its task.

import { serve } from '../src/lib/process/serve.ts'
import { takePoint } from '../src/store/upkeep/points.ts'

interface Wanted {
  readonly dataDir: string
  readonly folder: string
  readonly keep: number
  /** Milliseconds since 1970. */
  readonly at: number
}

async function take({ dataDir, folder, keep, at }: Wanted): Promise<object> {
  const { point, files, added, dropped } = await takePoint(dataDir, folder, { at: new Date(at), keep, gently: true })
  return { point, files, added, dropped: dropped.length }
}

serve({ take })
