// A session that was let in hears of all that ends it, wherever its account is.

import { afterEach, expect, test } from 'vitest'
import { type Grant, Grants } from '#actors/auth/grant.ts'
import type { Guard } from '#actors/kernel/actor.ts'
import { standingOf } from '#store/accounts/standing.ts'
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
  grants = new Grants(actors)
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
