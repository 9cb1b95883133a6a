// The outline of a body as its row has it, for another row that says the same.

import type { Reader } from '../engine/reader.ts'

interface OutlineColumns {
  readonly envelope: string
  readonly bodystructure: string
  readonly summary: string
  readonly detail: string
}

/** The columns of a body's outline, JSON as it is kept. */
export async function storedOutline(read: Reader, body: number): Promise<OutlineColumns | undefined> {
  return await read.one('SELECT envelope, bodystructure, summary, detail FROM outline WHERE body = ?', body)
}
