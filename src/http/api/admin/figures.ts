// The last days in figures: what came and went, who logged in, what waits, what is stored, how long things took.
//
// Samples are kept for a week (jobs/tasks/figures.ts). The answer has a column for each figure and is bounded in points; nothing in it is about
// a person.

import { Type } from 'typebox'
import { columnsOf, figureNames, stepFor } from '#actors/status/figures.ts'
import { now } from '#lib/clock.ts'
import { invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Reader } from '#store/engine/reader.ts'
import { figuresBetween, newestFigures } from '#store/upkeep/figures.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { date, int, moment, optional } from '../../schema.ts'

export interface FigureDeps {
  readonly read: Reader
}

const { fineMs, coarseMs, coarseKeptMs, pointsMax } = limits.figures
const second = 1000
const column = Type.Array(Type.Union([Type.Number(), Type.Null()]))

export function figureEndpoints({ read }: FigureDeps): Endpoint[] {
  const list = endpoint({
    method: 'GET',
    path: '/figures',
    tag: 'Service',
    summary: 'The last days in figures',
    description:
      'Each column has a value for each `step` from `from` on; null where the service did not run. Counts are those of the step, sizes are in ' +
      `bytes, \`queueAge\` in seconds, times (\`…P50\`, \`…P99\`) in milliseconds. There are ${pointsMax} points at most: a step is made longer ` +
      'where it has to be, and is ten minutes at least for what is older than a day.',
    allow: 'figures.read',
    query: {
      from: optional(date({ description: 'A day ago where absent' })),
      to: optional(date({ description: 'Now where absent' })),
      step: optional(int({ min: fineMs / second, max: coarseKeptMs / second, description: 'Seconds' })),
    },
    reply: {
      from: moment,
      to: moment,
      step: Type.Integer({ description: 'Seconds' }),
      columns: Type.Object(Object.fromEntries(figureNames.map(name => [name, column]))),
    },
    async run({ input }) {
      const at = now()
      const to = Math.min(input.to ?? at + fineMs, at + fineMs)
      const from = Math.max(input.from ?? to - limits.time.day, at - coarseKeptMs)
      if (from >= to) throw invalid('from', 'must be before to')
      const step = stepFor(from, to, at, input.step === undefined ? undefined : input.step * second)
      const first = Math.floor(from / step) * step
      const last = Math.ceil(to / step) * step
      const columns = columnsOf(await rowsOf(first, last, step), first, last, step)
      return { from: iso(first), to: iso(last), step: step / second, columns }
    },
  })

  /** Sums as far as there are any, and samples from then on. */
  async function rowsOf(from: number, to: number, step: number) {
    if (step % coarseMs !== 0) return await figuresBetween(read, fineMs, from, to)
    const summedUpTo = ((await newestFigures(read, coarseMs)) ?? -coarseMs) + coarseMs
    const sums = await figuresBetween(read, coarseMs, from, to)
    return [...sums, ...(await figuresBetween(read, fineMs, Math.max(from, summedUpTo), to))]
  }

  return [list]
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
