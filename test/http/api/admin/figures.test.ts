// What is kept of the metrics: samples of the last day, sums of the last week, told in columns.

import { expect, test } from 'vitest'
import { advanceClock, now, shiftClock, sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { deliver, openLmtp } from '../../../dialogue.ts'
import { useTeal } from '../../../running.ts'
import { scenarios } from '../../scenario.ts'

const service = useTeal()
const { call } = service
const { fineMs, coarseMs, fineKeptMs, coarseKeptMs } = limits.figures
const target = () => ({ url: service.teal.url, token: service.teal.rootToken })

type Columns = Record<string, (number | null)[]>

/** Goes on by some minutes and waits until the sample of then is there. */
async function pass(ms: number): Promise<void> {
  advanceClock(ms)
  const at = Math.floor(now() / fineMs) * fineMs
  // On a busy machine it comes later, and a minute may have ended meanwhile.
  for (let tries = 0; tries < 4000; tries++) {
    if ((await service.teal.core.read.one('SELECT 1 FROM figure WHERE step = ? AND at >= ?', fineMs, at)) !== undefined)
      return
    await sleep(10)
  }
  throw new Error('no sample was taken')
}

const total = (column: (number | null)[] = []) => column.reduce<number>((sum, value) => sum + (value ?? 0), 0)
const last = (column: (number | null)[] = []) => column.filter(value => value !== null).at(-1)

test('what came in, who logged in and what is stored stands in the history, and none of it for ever', async () => {
  try {
    await service.user('counted')
    const lmtp = await openLmtp(service.at('lmtp'))
    for (let n = 0; n < 3; n++)
      await deliver(lmtp, 'a@example.org', ['counted@example.com'], Buffer.from(`Subject: ${n}\r\n\r\nx\r\n`))
    lmtp.close()
    await call('POST', '/authenticate', { username: 'counted', password: 'secret of counted' })
    await call('POST', '/authenticate', { username: 'counted', password: 'wrong' })
    await pass(fineMs)
    const { body } = await call('GET', '/figures?step=60')
    expect(body.step).toBe(60)
    const columns = body.columns as Columns
    const points = (Date.parse(body.to) - Date.parse(body.from)) / fineMs
    for (const column of Object.values(columns)) expect(column).toHaveLength(points)
    expect([total(columns.received), total(columns.logins), total(columns.loginsFailed)]).toEqual([3, 1, 1])
    expect(last(columns.users)).toBe(1)
    expect(last(columns.storage)).toBeGreaterThan(0)
    expect(last(columns.diskFree)).toBeGreaterThan(0)
    for (const name of ['callP50', 'deliveryP99']) expect(last(columns[name])).toBeGreaterThan(0)
    expect(columns.received?.filter(value => value === null).length).toBe(points - 1)

    // Sums of ten minutes hold what samples held.
    await deliverOne()
    await pass(coarseMs)
    await pass(coarseMs)
    const sums = (await call('GET', '/figures?step=600')).body
    expect(sums.step).toBe(600)
    expect(total(sums.columns.received)).toBe(4)

    // After two days the samples are gone and the sums are not; after nine the sums are, too.
    await pass(2 * fineKeptMs)
    const rows = (step: number) =>
      service.teal.core.read.all<{ at: number }>('SELECT at FROM figure WHERE step = ?', step)
    expect((await rows(fineMs)).every(({ at }) => at >= now() - fineKeptMs - fineMs)).toBe(true)
    const days = await call('GET', `/figures?from=${now() - 3 * fineKeptMs}&step=60`)
    expect(days.body.step).toBe(600)
    expect(total(days.body.columns.received)).toBe(4)
    await pass(coarseKeptMs)
    expect((await rows(coarseMs)).every(({ at }) => at >= now() - coarseKeptMs - coarseMs)).toBe(true)
    const week = (await call('GET', `/figures?from=${now() - 2 * coarseKeptMs}`)).body
    expect(total(week.columns.received)).toBe(0)
    expect(week.columns.received.length).toBeLessThanOrEqual(limits.figures.pointsMax)
  } finally {
    shiftClock(0)
  }
})

async function deliverOne() {
  const lmtp = await openLmtp(service.at('lmtp'))
  await deliver(lmtp, 'a@example.org', ['counted@example.com'], Buffer.from('Subject: more\r\n\r\nx\r\n'))
  lmtp.close()
}

scenarios(target, [
  { name: 'a step below a minute', url: '/figures?step=5', status: 400, json: { code: 'InputValidationError' } },
  { name: 'an end before the start', url: '/figures?from=2026-01-02&to=2026-01-01', status: 400 },
  {
    name: 'a span that was long before there was anything',
    url: () => `/figures?from=${now() - 9e10}&to=${now() - 8e10}`,
    status: 400,
  },
])

test.each([
  ['manager', 200],
  ['settings', 200],
  ['webmail', 403],
  ['auth', 403],
])('%s asks for figures', async (role, status) => {
  const { token } = await service.teal.core.access.provision(role, role)
  expect((await call('GET', '/figures', undefined, token)).status).toBe(status)
})
