// What an actor promises: order, the gate, one moment for a turn, a state that is dropped when it might not be true.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Change } from '#actors/kernel/change.ts'
import { createMailbox } from '#actors/mailbox/mailbox.ts'
import { createUser, updateUser } from '#actors/user/account.ts'
import { requireUser, type UserCommand } from '#actors/user/user.ts'
import { loadConfig } from '#config'
import { type Core, openCore } from '#core'
import { advanceClock } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { makeLog } from '#lib/log.ts'
import { addressInsert } from '#store/accounts/address.ts'
import { findUser } from '#store/accounts/users.ts'
import { metaPut } from '#store/engine/meta.ts'
import { checkStore } from '#store/upkeep/check.ts'

let dir: string
let core: Core

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'teal-actor-'))
  core = await openCore(loadConfig({ flags: { dataDir: dir, hostname: 'localhost' } }), makeLog('silent'))
})

afterEach(async () => {
  expect(await checkStore(core.read)).toEqual([])
  await core.close()
  rmSync(dir, { recursive: true, force: true })
})

async function make(name: string): Promise<string> {
  const id = newId()
  const key = `${name}@example.com`
  await core.system.handle(id).run(createUser, {
    user: {
      username: name,
      key: name,
      name: '',
      address: key,
      password: '',
      temporary: null,
      disabled: false,
      suspended: false,
      activated: false,
      quota: 0,
      tags: [],
      options: {},
    },
    address: { key, address: key, domain: 'example.com', tags: [] },
    mailboxes: [{ path: 'INBOX', specialUse: null, retention: 0 }],
  })
  return id
}

/** Takes an address that may be taken, after changing the state: the unit fails and the state must go. */
const claim: UserCommand<{ key: string; name: string }, string> = {
  name: 'test.claim',
  pipelined: true,
  run(turn, { key, name }) {
    const user = requireUser(turn)
    user.name = name
    turn.write(addressInsert, {
      id: newId(),
      key,
      address: key,
      domain: 'example.com',
      user: user.id,
      name: '',
      tags: [],
      metaData: undefined,
      internalData: undefined,
      forward: null,
      created: turn.now,
      signature: undefined,
    })
    return name
  },
}

const nameOf: UserCommand<void, string> = { name: 'test.name', run: turn => requireUser(turn).name }

test('a reply comes after its rows are there, and changes are told before it', async () => {
  const handle = core.system.handle(await make('anna'))
  const told: Change[] = []
  const stop = await handle.watch(async change => {
    expect(await core.read.one("SELECT 1 AS there FROM mailbox WHERE path = 'New'")).toEqual({ there: 1 })
    told.push(change)
  })
  const form = { path: 'New', hidden: false, retention: 0, encrypt: false, subscribed: true }
  await handle.run(createMailbox, form)
  expect(told).toMatchObject([{ kind: 'mailbox', what: 'created', path: 'New' }])
  stop()
})

test('commands of one account run in the order they came', async () => {
  const handle = core.system.handle(await make('anna'))
  const order: number[] = []
  const note: UserCommand<number, void> = {
    name: 'test.note',
    async run(turn, number) {
      if (number % 2 === 0) await new Promise(resolve => setImmediate(resolve))
      order.push(number)
      turn.write(metaPut, { key: 'note', value: number })
    },
  }
  await Promise.all(Array.from({ length: 20 }, (_, number) => handle.run(note, number)))
  expect(order).toEqual(Array.from({ length: 20 }, (_, number) => number))
})

test('a unit that breaks a rule fails alone; the state it made is dropped and later commands still go through', async () => {
  await make('bert')
  const id = await make('anna')
  const handle = core.system.handle(id)
  const results = await Promise.allSettled([
    handle.run(claim, { key: 'free@example.com', name: 'first' }),
    handle.run(claim, { key: 'bert@example.com', name: 'second' }),
    handle.run(claim, { key: 'also-free@example.com', name: 'third' }),
    handle.run(nameOf, undefined),
  ])
  expect(results.map(one => one.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect(results[1]).toMatchObject({ reason: { code: 'AddressExistsError' } })
  const keys = await core.read.all<{ key: string }>('SELECT key FROM address WHERE user = ? ORDER BY key', id)
  expect(keys.map(row => row.key)).toEqual(['also-free@example.com', 'anna@example.com', 'free@example.com'])
  expect(results[3]).toMatchObject({ value: 'third' })
})

test('what failed before an actor was let go is nothing to the next one of its account', async () => {
  await core.close()
  vi.useFakeTimers({ toFake: ['setInterval'] })
  try {
    core = await openCore(loadConfig({ flags: { dataDir: dir, hostname: 'localhost' } }), makeLog('silent'))
    await make('bert')
    const handle = core.system.handle(await make('anna'))
    for (let time = 0; time < 20; time++) {
      const taken = handle.run(claim, { key: 'bert@example.com', name: 'x' })
      await expect(taken).rejects.toMatchObject({ code: 'AddressExistsError' })
    }
    advanceClock(2 * limits.actor.idleMs)
    vi.advanceTimersByTime(limits.actor.idleMs)
    await handle.run(claim, { key: 'free@example.com', name: 'first' })
    expect(await handle.run(nameOf, undefined)).toBe('first')
  } finally {
    vi.useRealTimers()
  }
})

test('a fault before the first write keeps the state, one after it drops the state and writes nothing', async () => {
  const handle = core.system.handle(await make('anna'))
  const spoil: UserCommand<{ writes: boolean }, void> = {
    name: 'test.spoil',
    run(turn, { writes }) {
      if (writes) turn.write(metaPut, { key: 'spoiled', value: 1 })
      requireUser(turn).name = 'spoiled'
      throw new Fault('NotPermitted')
    },
  }
  await expect(handle.run(spoil, { writes: true })).rejects.toMatchObject({ code: 'NotPermitted' })
  expect(await handle.run(nameOf, undefined)).toBe('')
  expect(await core.read.one("SELECT value FROM meta WHERE key = 'spoiled'")).toBeUndefined()
})

test('a full queue says so at once, and what was taken is done', async () => {
  const handle = core.system.handle(await make('anna'))
  const release: (() => void)[] = []
  const wait: UserCommand<void, void> = { name: 'test.wait', run: () => new Promise(resolve => release.push(resolve)) }
  const first = handle.run(wait, undefined)
  const more = Array.from({ length: limits.actor.queueLengthMax + 5 }, () => handle.run(nameOf, undefined))
  const settled = Promise.allSettled(more)
  await expect.poll(() => release.length).toBe(1)
  release[0]?.()
  await first
  const results = await settled
  const refused = results.filter(one => one.status === 'rejected')
  expect(refused.length).toBeGreaterThanOrEqual(5)
  for (const one of refused) expect(one).toMatchObject({ reason: { code: 'Overloaded' } })
})

test('a caller that gave up before its turn is not served', async () => {
  const handle = core.system.handle(await make('anna'))
  const gone = AbortSignal.abort()
  await expect(handle.run(nameOf, undefined, gone)).rejects.toMatchObject({ code: 'TimedOut' })
})

test('an account that is not there is told so, and a disk that is full changes nothing', async () => {
  await expect(core.system.handle(newId()).run(nameOf, undefined)).rejects.toMatchObject({ code: 'UserNotFound' })
  const id = await make('anna')
  const handle = core.system.handle(id)
  core.writer.limitPages(1)
  const fields = { name: 'x'.repeat(100_000) }
  await expect(handle.run(updateUser, { fields })).rejects.toMatchObject({ code: 'StorageUnavailable' })
  core.writer.limitPages(0)
  await expect.poll(() => core.writer.healthy, { timeout: 10_000 }).toBe(true)
  expect(await handle.run(nameOf, undefined)).toBe('')
  expect((await findUser(core.read, id))?.name).toBe('')
})
