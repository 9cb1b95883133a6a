// What a front that does not come along is told: every folder to which something happened, however much it was.

import { expect, test } from 'vitest'
import type { Change } from '#actors/kernel/change.ts'
import { limits } from '#lib/limits.ts'
import { Notices } from '../../src/front/notices.ts'

const most = limits.front.noticesMax

function flags(mailbox: number, modseq: number): Change {
  return { kind: 'flags', mailbox, uid: 1, num: 1, modseq, flags: 0, keywords: [], thread: 1 }
}

function told(): { readonly said: [string, Change][]; readonly notices: Notices } {
  const said: [string, Change][] = []
  return { said, notices: new Notices((user, change) => said.push([user, change])) }
}

test('up to a bound each change is told, beyond it what happened to a folder', () => {
  const { said, notices } = told()
  for (let modseq = 1; modseq <= most + 5000; modseq++) notices.add('anna', flags(1 + (modseq % 2), modseq))
  notices.add('anna', { kind: 'expunge', mailbox: 7, uid: 1, num: 1, modseq: most + 5001, thread: 1 })
  expect(said).toHaveLength(most)
  notices.heard(most)
  const later = said.splice(most)
  // Flags that stand for several come with a change that makes a view look for itself.
  expect(later.map(([, { kind, mailbox }]) => `${mailbox} ${kind}`).sort()).toEqual(
    ['1 exists', '1 flags', '2 exists', '2 flags', '7 expunge'].sort(),
  )
  expect(Math.max(...later.map(([, { modseq }]) => modseq))).toBe(most + 5001)
  notices.add('anna', flags(1, most + 6000))
  expect(said).toHaveLength(most + 1)
})

test('a reply is not overtaken by what was kept of its account', () => {
  const { said, notices } = told()
  for (let modseq = 1; modseq <= most; modseq++) notices.add('anna', flags(1, modseq))
  notices.add('anna', flags(1, most + 1))
  notices.add('bert', flags(2, 1))
  notices.catchUp('anna')
  expect(said.slice(most)).toEqual([['anna', flags(1, most + 1)]])
  notices.heard(256)
  expect(said).toHaveLength(most + 1)
  notices.forget('bert')
  notices.heard(most)
  expect(said).toHaveLength(most + 1)
  expect(notices.behind).toBe(0)
})
