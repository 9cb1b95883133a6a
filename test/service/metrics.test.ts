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
  test('answers an operator, and neither a stranger nor a user nor a customer', async () => {
    expect([await status(guarded), await status(guarded, guarded.teal.rootToken)]).toEqual([403, 200])
    await guarded.user('anna')
    const form = { username: 'anna', password: 'secret of anna', token: true }
    const { token } = (await guarded.call('POST', '/authenticate', form)).body
    expect(await status(guarded, token)).toBe(403)
    const bound = await guarded.call('POST', '/tokens', { role: 'domain', domains: ['example.com'], label: 'A panel' })
    expect(await status(guarded, bound.body.token)).toBe(403)
    const scraper = await guarded.call('POST', '/tokens', { role: 'auth', label: 'A scraper' })
    expect(await status(guarded, scraper.body.token)).toBe(200)
  })

  test('answers without a token where that is configured', async () => {
    expect([await status(open), await status(off)]).toEqual([200, 404])
  })
})

describe('what is counted', () => {
  const text = async () => {
    const headers = { 'x-access-token': guarded.teal.rootToken }
    return (await fetch(`${guarded.teal.url}/metrics`, { headers })).text()
  }

  test('is named as the field does', async () => {
    const families = [...(await text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)]
    for (const [, name = '', kind] of families) {
      expect(name).toMatch(/^(wildduck|process|nodejs)_[a-z][a-z0-9_]*$/)
      expect([name, name.endsWith('_total')]).toEqual([name, kind === 'counter'])
      expect(name).not.toMatch(/_(ms|milliseconds|minutes|hours|days|kb|mb|kilobytes|megabytes|percent)(_|$)/)
    }
    expect(families.length).toBeGreaterThan(40)
  })

  test('has rows for routes that were called, and not for all there are', async () => {
    await fetch(`${guarded.teal.url}/healthz`)
    const said = await text()
    expect(said).toMatch(/wildduck_api_request_seconds_count\{route="\/healthz"\} [1-9]/)
    expect(said).not.toContain('route="/users/:user/2fa/webauthn')
    expect(said.split('\n').length).toBeLessThan(700)
  })
})
