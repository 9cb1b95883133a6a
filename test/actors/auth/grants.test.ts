// A session that was let in hears of all that ends it, wherever its account is, and is looked up while it may not have heard.

import { afterEach, expect, test } from 'vitest'
import { type Grant, Grants } from '#actors/auth/grant.ts'
import type { Guard } from '#actors/kernel/actor.ts'
import { commonMonotonic, sleep } from '#lib/clock.ts'
import { standingOf } from '#store/accounts/standing.ts'
import { Changes } from '#store/engine/watched.ts'
import { useTeal } from '../../running.ts'

const service = useTeal({ threads: 0 })

let grants: Grants | undefined
afterEach(() => grants?.close())

test('nobody is let in before whoever ends sessions knows of him', async () => {
  const user = await service.user('anna')
  const { system, read } = service.teal.core
  const near = system.handle(user)
  const steps: string[] = []
  let tell = () => {}
  const known = new Promise<void>(resolve => {
    tell = () => {
      steps.push('known')
      resolve()
    }
  })
  const far = { id: user, read, run: near.run.bind(near), watch: near.watch.bind(near) }
  const guard = (heard: Guard) => ({ known, leave: near.guard(heard).leave })
  const actors = { read, directory: system.directory, storageOf: () => undefined, handle: () => ({ ...far, guard }) }
  grants = new Grants(actors, () => 0)
  const { authVersion = 0 } = (await standingOf(read, user)) ?? {}
  const login: Grant = { kind: 'login', user, scope: 'imap', authVersion, asp: null }
  const held = grants.hold(login, { ended: reason => steps.push(reason) }).then(() => steps.push('let in'))
  // Long enough for all that reads rows.
  expect((await service.call('GET', `/users/${user}`)).status).toBe(200)
  tell()
  await held
  expect((await service.call('PUT', `/users/${user}/logout`, { reason: 'Bye' })).status).toBe(200)
  expect(steps).toEqual(['known', 'let in', 'Bye'])
})

test('a session of which nobody tells that it ended is looked up as long as that may be, and once more afterwards', async () => {
  const user = await service.user('berta')
  const { system, read } = service.teal.core
  const far = { ...system.handle(user), id: user, read, guard: () => ({ known: Promise.resolve(), leave: () => {} }) }
  const actors = { read, directory: system.directory, storageOf: () => undefined, handle: () => far as never }
  const home = new Changes()
  // As a thread that sees nothing but the memory of home.
  const changes = new Changes(home.shared)
  grants = new Grants(actors, () => changes.doubts)
  const change = async () => {
    const { authVersion = 0 } = (await standingOf(read, user)) ?? {}
    const held = await grants?.hold({ kind: 'login', user, scope: 'imap', authVersion, asp: null }, { ended: () => {} })
    const form = { password: `another ${commonMonotonic()}` }
    return { held, end: async () => void (await service.call('PUT', `/users/${user}`, form)) }
  }

  home.sureFor(60_000)
  const sure = await change()
  await sure.end()
  await sure.held?.check()
  home.sureFor(0)
  await expect(sure.held?.check()).rejects.toMatchObject({ code: 'SessionEnded' })

  home.sureFor(1)
  await sleep(2)
  const late = await change()
  await late.held?.check()
  await late.end()
  home.sureFor(60_000)
  await expect(late.held?.check()).rejects.toMatchObject({ code: 'SessionEnded' })
})
