// Who may ask for the counters of the service.

import { describe, expect, test } from 'vitest'
import { useTeal } from '../running.ts'

const guarded = useTeal()
const open = useTeal({ api: { metrics: { public: true } } })
const off = useTeal({ api: { metrics: { enabled: false, public: true } } })

const status = async (service: typeof open, token?: string) => {
  const headers: Record<string, string> = token === undefined ? {} : { 'x-access-token': token }
  return (await fetch(`${service.teal.url}/metrics`, { headers })).status
}

describe('GET /metrics', () => {
  test('answers an operator, and neither a stranger nor a user', async () => {
    expect([await status(guarded), await status(guarded, guarded.teal.rootToken)]).toEqual([403, 200])
    await guarded.user('anna')
    const form = { username: 'anna', password: 'secret of anna', token: true }
    const { token } = (await guarded.call('POST', '/authenticate', form)).body
    expect(await status(guarded, token)).toBe(403)
  })

  test('answers without a token where that is configured', async () => {
    expect([await status(open), await status(off)]).toEqual([200, 404])
  })
})
