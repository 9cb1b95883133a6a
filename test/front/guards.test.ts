// What a front asks of home so that the ends of an account's sessions are heard: once for all sessions of an account, and not anew for
// who comes again soon.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type HomeLine, RemoteActors } from '#front/remote.ts'
import { limits } from '#lib/limits.ts'
import type { Reader } from '#store/engine/reader.ts'

const { guardLeftMs, guardsLeftMax } = limits.front

let said: string[]
let fails: boolean
let actors: RemoteActors

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  said = []
  fails = false
  const line = {
    call: async (name: string, id: string) => {
      said.push(`${name} ${id}`)
      if (fails) throw new Error('home is busy')
    },
    tell: (name: string, id: string) => void said.push(`${name} ${id}`),
  }
  actors = new RemoteActors(line as unknown as HomeLine, {} as Reader)
})

afterEach(() => {
  vi.useRealTimers()
})

/** A session; what it was told is gathered in `heard`. */
async function session(id: string, heard: (string | undefined)[] = []): Promise<() => void> {
  const { known, leave } = actors.handle(id).guard(async reason => void heard.push(reason))
  await known
  return leave
}

test('who comes again soon asks for nothing, and hears', async () => {
  const leave = await session('a')
  leave()
  leave()
  const heard: (string | undefined)[] = []
  await session('a', heard)
  expect(said).toEqual(['guard a'])
  await actors.guarded({ user: 'a', reason: 'enough' })
  expect(heard).toEqual(['enough'])
})

test('who has gone is told of for a while, who is there for as long as he is', async () => {
  const gone = await session('a')
  const staying = await session('b')
  gone()
  vi.advanceTimersByTime(guardLeftMs / 2)
  staying()
  const back = await session('b')
  vi.advanceTimersByTime(guardLeftMs)
  expect(said).toEqual(['guard a', 'guard b', 'unguard a'])
  vi.advanceTimersByTime(guardLeftMs * 2)
  expect(said).toHaveLength(3)
  back()
  vi.advanceTimersByTime(guardLeftMs)
  expect(said).toEqual(['guard a', 'guard b', 'unguard a', 'unguard b'])
})

test('of too many who have gone the first is not told of any more', async () => {
  for (let at = 0; at <= guardsLeftMax; at++) (await session(`${at}`))()
  expect(said.filter(word => word.startsWith('unguard'))).toEqual(['unguard 0'])
})

test('what home did not take is asked for anew', async () => {
  fails = true
  const { known, leave } = actors.handle('a').guard(async () => {})
  await expect(known).rejects.toThrow('busy')
  leave()
  fails = false
  await session('a')
  expect(said).toEqual(['guard a', 'unguard a', 'guard a'])
})
