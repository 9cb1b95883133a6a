// Who follows accounts that are elsewhere: whoever watches is told, whoever came and went just before.

import { expect, test } from 'vitest'
import type { Change } from '#actors/kernel/change.ts'
import { Following, type Source } from '#cluster/following.ts'

const user = '0123456789abcdef01234567'

/** Where accounts are: it keeps who follows one, as another node does, and answers when it is told to. */
class There {
  readonly answers: (() => void)[] = []
  follower: ((change: Change) => void) | undefined
  readonly following = new Following({
    read: { all: async () => [] } as never,
    turnOf: () => 1,
    source: (_, told) => {
      this.follower = change => told.changed(change)
      return new Promise<Source>(done => {
        this.answers.push(() => done({ turn: 1, leave: () => this.leave() }))
      })
    },
  })

  leave(): void {
    this.follower = undefined
  }
}

const change: Change = { kind: 'missed', mailbox: 1, modseq: 0 }

test('one that leaves before it is told takes nothing from one that came meanwhile', async () => {
  const there = new There()
  const first = there.following.guard(user, async () => {})
  first.known.catch(() => {})
  await expect.poll(() => there.answers.length).toBe(1)
  first.leave()
  const heard: Change[] = []
  const watching = there.following.watch(user, one => void heard.push(one))
  for (const answer of there.answers) answer()
  await first.known
  for (const answer of there.answers) answer()
  const leave = await watching
  there.follower?.(change)
  expect(heard).toEqual([change])
  leave()
  expect(there.follower).toBeUndefined()
})

test('whoever was forgotten over there follows again', async () => {
  const there = new There()
  const heard: Change[] = []
  const watching = there.following.watch(user, one => void heard.push(one))
  there.answers.shift()?.()
  await watching
  there.leave()
  there.following.missed(() => true)
  await expect.poll(() => there.answers.length).toBe(1)
  there.answers.shift()?.()
  there.follower?.(change)
  expect(heard).toContainEqual(change)
})
