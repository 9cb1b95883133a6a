// This version beside the one before it, where `--before FOLDER` names its checkout with packages and a build: the same work in turn.
//
// Both are asked by this version's generator and kept under this version's probe, so a difference is the service's. Both are up and
// asked in short rounds, since a machine moves by a fifth from one minute to the next; rates are medians of rounds.

import { resolve } from 'node:path'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, removeFolder, startService } from '../service.ts'
import * as sides from '../sides.ts'

const rounds = 10
/** Of the time for one measure. */
const share = 0.4
const pieces: readonly sides.Piece[] = [
  sides.login,
  sides.reading,
  sides.mixPiece('STORE of one', 'STORE one by one', 1, 1),
  sides.mixPiece('APPEND of one', 'APPEND one by one', 1, 1),
  sides.mixPiece('flags of a folder', 'FETCH 1:* FLAGS', 1, 1),
  sides.page,
  sides.delivery,
]

export async function beforeSection(plan: Plan): Promise<Row[]> {
  if (plan.before === undefined)
    throw new Error('--before FOLDER is missing: a checkout of the version before, with a build')
  const main = resolve(plan.before, 'dist/main.js')
  const folders = [makeFolder(), makeFolder()] as const
  const both = [
    sides.side('before', async () => [await startService(folders[0], {}, [], [], main)]),
    sides.side('now', async () => [await startService(folders[1])]),
  ]
  const rows: Row[] = []
  try {
    for (const side of both) await sides.open(side)
    for (const piece of pieces) {
      const sums = both.map(sides.nothing)
      for (const side of both) await sides.warmUp(piece, side)
      for (let round = 0; round < rounds; round++) {
        for (const index of round % 2 === 0 ? [0, 1] : [1, 0])
          await sides.measure(piece, both[index] as sides.Side, plan.ms * share, sums[index] as sides.Measured)
      }
      const row = rowOf(piece, sums)
      process.stderr.write(`  ${row.what}: ${Math.round(row.figure)} of ${Math.round(row.bound?.value ?? 0)}\n`)
      rows.push(row)
    }
    for (const side of both) await sides.close(side)
    return rows
  } finally {
    for (const folder of folders) removeFolder(folder)
  }
}

function rowOf({ what }: sides.Piece, sums: readonly sides.Measured[]): Row {
  const [before, now] = sums as [sides.Measured, sides.Measured]
  const cost = sums.map(({ own, done }) => sides.micro(own, done))
  const p99 = sums.map(sum => sides.middle(sum.p99).toFixed(1))
  return {
    ...{ what, figure: sides.middle(now.rates), unit: '/s' },
    bound: { name: 'before', value: sides.middle(before.rates) },
    wanted: { least: 0.95 },
    note: `processor time ${cost[1]} us, before ${cost[0]}; p99 ${p99[1]} ms, before ${p99[0]}`,
  }
}
