// What is kept of the metrics for some days: a sample each minute, and sums of some minutes. The table, its reads and writes.
//
// A row says what was counted within its step, what stood at its end, and how many took how long; what is nought is left out. Rows are bounded
// by how long each step is kept.

import { integer, json, moment } from '../engine/column.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

/** What happened within a step, by name. */
export interface Figures {
  readonly counts: Readonly<Record<string, number>>
  readonly gauges: Readonly<Record<string, number>>
  /** How many lay at or below each bound of a histogram and above the one before; the last has no bound. */
  readonly times: Readonly<Record<string, readonly number[]>>
}

const figures = table(
  'figure',
  {
    /** Milliseconds. */
    step: integer,
    /** When the step began. */
    at: moment,
    figures: json<Figures>(),
  },
  { key: ['step', 'at'], clustered: true },
)

export type FigureRow = RowOf<typeof figures>

export const figurePut = figures.defineUpsert()

/** Ends what was kept long enough. */
export const figureExpire = defineWrite<{ step: number; before: number }>('figure.expire', (sql, row) => {
  sql('DELETE FROM figure WHERE step = @step AND at < @before').run(row)
})

/** Rows of a step that began in [from, to), rising. */
export async function figuresBetween(read: Reader, step: number, from: number, to: number): Promise<FigureRow[]> {
  return await figures.all(read, 'WHERE step = ? AND at >= ? AND at < ? ORDER BY at', step, from, to)
}

/** When the newest row of a step began; undefined where there is none. */
export async function newestFigures(read: Reader, step: number): Promise<number | undefined> {
  const found = await read.one<{ at: number }>('SELECT at FROM figure WHERE step = ? ORDER BY at DESC LIMIT 1', step)
  return found?.at
}

checkParts.push({
  rules: [
    {
      says: 'a step of figures begins at a whole number of steps',
      query: 'SELECT at FROM figure WHERE at % step <> 0',
    },
  ],
})
