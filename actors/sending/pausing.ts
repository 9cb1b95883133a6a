// Holding an account back, and letting it go on: commands of the directory, since whoever does it is not the account.
//
// A pause and the holding of what waits are one unit, and so are the letters about it; a second one changes nothing.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { findPause, paceNote, pauseRow, type SendingPause, sendingPause, sendingResume } from '#store/sending/pause.ts'
import type { DirectoryCommand } from '../admin/directory.ts'
import { type Outgoing, queue } from './outgoing.ts'

export interface Pausing extends Pick<SendingPause, 'user' | 'reason' | 'recipients' | 'usual'> {
  readonly letters: readonly Outgoing[]
}

/** Gives whether it was not paused before. */
export const pauseSending: DirectoryCommand<Pausing, boolean> = {
  name: 'sending.pause',
  async run(turn, { letters, ...row }) {
    const known = await findPause(turn.read, row.user)
    if (known !== undefined && known.resumed === null) return false
    turn.write(sendingPause, { row: pauseRow({ ...row, since: turn.now, resumed: null }), user: row.user })
    for (const letter of letters) queue(turn, letter)
    turn.emit('sending.paused', row)
    return true
  },
}

/** @throws Fault NotPaused */
export const resumeSending: DirectoryCommand<{ user: string }, void> = {
  name: 'sending.resume',
  async run(turn, { user }) {
    const known = await findPause(turn.read, user)
    if (known === undefined || known.resumed !== null) throw new Fault('NotPaused')
    turn.write(sendingResume, { user, at: turn.now })
    turn.emit('sending.resumed', { user })
    turn.wake()
  },
}

/** Tells an account that its day's limit is near. */
export const warnSender: DirectoryCommand<
  { user: string; used: number; allowed: number; letters: readonly Outgoing[] },
  void
> = {
  name: 'sending.warn',
  run(turn, { letters, ...body }) {
    for (const letter of letters) queue(turn, letter)
    turn.emit('sending.limit.near', body)
  },
}

/** Notes how busy an account was. */
export const notePace: DirectoryCommand<{ user: string; day: number; peak: number; before: number }, void> = {
  name: 'sending.pace',
  run: (turn, row) => turn.write(paceNote, { ...row, before: Math.min(row.before, row.day - limits.time.day) }),
}
