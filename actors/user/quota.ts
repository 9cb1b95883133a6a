// What an account uses, counted anew from its rows. Nothing else changes the account meanwhile: the command holds its turn
// and lets the loop go between slices.

import { sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { fileBytes } from '#store/accounts/file.ts'
import { sliceBytes, uidSlice } from '#store/mailboxes/retention.ts'
import { nextModseq, requireUser, type UserCommand } from './user.ts'

/** Kind of the task that counts what every account uses. */
export const recountTask = 'quota.reset'

export const recountQuota: UserCommand<void, { storageUsed: number; previousStorageUsed: number }> = {
  name: 'user.recount',
  async run(turn) {
    requireUser(turn)
    const { state, read } = turn
    let used = await fileBytes(read, state.num)
    for (const mailbox of state.mailboxes.values()) {
      for (let from = 1; ; ) {
        const { to, n } = await uidSlice(read, mailbox.num, from, limits.quota.sliceRows)
        if (n === 0) break
        used += await sliceBytes(read, mailbox.num, from, to)
        from = to + 1
        await sleep(0)
      }
    }
    const previousStorageUsed = state.storage
    if (used !== previousStorageUsed) nextModseq(turn, used - previousStorageUsed)
    return { storageUsed: used, previousStorageUsed }
  },
}
