// Every event of the catalogue by a real operation: once, with the exact payload, to whoever subscribes.

import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { eventForms } from '#http/document/event-forms.ts'
import { now } from '#lib/clock.ts'
import { openSubscriber, type Subscriber, until } from '../jobs/outbox.ts'
import { accountScenarios } from './account.ts'
import { credentialScenarios } from './credential.ts'
import { directoryScenarios } from './directory.ts'
import { mailScenarios } from './mail.ts'
import { ruleScenarios } from './rules.ts'
import { quiet, type Scenario, useWorld } from './world.ts'

const tables = [directoryScenarios, accountScenarios, credentialScenarios, ruleScenarios, mailScenarios]
const all: readonly Scenario[] = tables.flat()

let hook: Subscriber | undefined
/** Takes all outgoing mail. */
const relay = new SMTPServer({
  authOptional: true,
  logger: false,
  disabledCommands: ['STARTTLS'],
  onRcptTo({ address }, _session, done) {
    const gone = Object.assign(new Error('5.1.1 no such user'), { responseCode: 550 })
    done(address.startsWith('nobody') ? gone : null)
  },
  onData: (stream, _session, done) => void stream.resume().on('end', () => done()),
})
const outbound = { relay: '' }

beforeAll(async () => {
  hook = await openSubscriber()
  await new Promise<void>(resolve => relay.listen(0, '127.0.0.1', resolve))
  outbound.relay = `smtp://127.0.0.1:${(relay.server.address() as AddressInfo).port}`
})

const subscriber = () => {
  if (hook === undefined) throw new Error('the subscriber is not up')
  return hook
}
const world = useWorld(subscriber, { outbound })

beforeAll(async () => {
  await world.ok('POST', '/webhooks', { type: ['*'], url: world.hook.url })
})

afterEach(() => hook?.heal())
afterAll(async () => {
  await new Promise<void>(resolve => relay.close(resolve))
  await hook?.close()
})

describe.each(all.map(one => [`${one.event}: ${one.name}`, one] as const))('%s', (_title, one) => {
  test('is told once, with the exact payload', async () => {
    const context = await one.prepare?.(world)
    await quiet(world)
    world.hook.calls.length = 0
    const before = now()
    const payload = await one.act(world, context)
    const expected = [one.event, ...(one.also ?? [])].sort()
    await until(one.event, () => world.hook.calls.length >= expected.length)
    await quiet(world)
    const { calls } = world.hook
    const told = calls.filter(({ body }) => body.ev === one.event)
    const [{ body: { id, time, ev, ...data } = {} } = {}] = told
    expect(data).toEqual(payload)
    expect(calls.map(({ body }) => body.ev).sort()).toEqual(expected)
    expect(id).toMatch(/^[0-9a-f]{24}:[1-9]\d*$/)
    expect(time).toBeGreaterThanOrEqual(before)
    expect(time).toBeLessThanOrEqual(now())
  })
})

test('no event of the catalogue is without a scenario', () => {
  const shown = new Set<string>(all.map(one => one.event))
  expect(Object.keys(eventForms).filter(name => !shown.has(name))).toEqual([])
})
