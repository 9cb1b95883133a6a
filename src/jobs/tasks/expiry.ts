// What has had its time: messages with an end go into the archive, archived messages go for good.
//
// Both go through the account's actor, in pieces and in the background. The first round is some time after the start, so
// that a wrong clock at start does not empty mailboxes at once.

import type { ActorSystem } from '#actors/kernel/system.ts'
import { endArchived } from '#actors/mailbox/archive.ts'
import { expireMessages } from '#actors/mailbox/message.ts'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { joinRanges } from '#mail/numbers.ts'
import type { Duty } from '#store/cluster/duty.ts'
import { expiredArchive } from '#store/mailboxes/archive.ts'
import { expiredMessages } from '#store/writer/batches.ts'
import { Loop, type LoopMetrics } from '../loop.ts'

export interface ExpiryOptions {
  readonly system: ActorSystem
  readonly log: Log
  readonly metrics: LoopMetrics
  readonly duty?: Duty | undefined
}

type Piece = () => Promise<unknown>

/** Starts the rounds. */
export function startExpiry({ system, log, metrics, duty }: ExpiryOptions): Loop<Piece> {
  let due = now() + limits.expiry.roundMs
  const loop = new Loop<Piece>(
    {
      name: 'expiry',
      async claim(_room, at) {
        if (at < due) return []
        const pieces = [...(await messagePieces(system, at)), ...(await archivePieces(system, at))]
        if (pieces.length === 0) {
          due = at + limits.expiry.roundMs
          return []
        }
        // One item, so that the next claim comes when these are done.
        return [
          async () => {
            for (const piece of pieces) await piece()
          },
        ]
      },
      run: async (piece, signal) => {
        try {
          await piece()
        } catch (error) {
          // An account that cannot be changed now must not be tried in a circle.
          due = now() + limits.expiry.roundMs
          if (!signal.aborted) throw error
        }
      },
      clockBack: ms => {
        due -= ms
      },
      next: () => due,
    },
    { inFlightMax: 1, log, metrics, duty },
  )
  loop.kick()
  return loop
}

async function messagePieces(system: ActorSystem, at: number): Promise<Piece[]> {
  const places = await expiredMessages(system.read, at, limits.expiry.batchMessages)
  const groups = Map.groupBy(places, place => `${place.user} ${place.mailbox}`)
  return [...groups.values()].map(group => async () => {
    const [{ user, mailbox }] = group as [(typeof group)[number]]
    const uids = joinRanges(group.map(({ uid }) => [uid, uid]))
    await system.handle(user).run(expireMessages, { mailbox, uids, marked: false })
  })
}

async function archivePieces(system: ActorSystem, at: number): Promise<Piece[]> {
  const rows = await expiredArchive(system.read, at, limits.expiry.batchMessages)
  const groups = Map.groupBy(rows, row => row.user)
  return [...groups].map(([user, group]) => async () => {
    await system.handle(user).run(endArchived, { nums: group.map(({ num }) => num) })
  })
}
