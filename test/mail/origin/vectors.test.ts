// The suites of vectors for SPF (RFC 7208) and ARC (RFC 8617): what the checks of origin answer to each of their cases.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { verifyMessage } from '#mail/origin/verification.ts'

type Zone = Readonly<Record<string, readonly (string | Readonly<Record<string, unknown>>)[]>>

interface SpfCase {
  readonly helo: string
  readonly host: string
  readonly mailfrom: string
  readonly result: string | readonly string[]
  readonly description?: string
}

interface SpfGroup {
  readonly description: string
  readonly tests: Readonly<Record<string, SpfCase>>
  readonly zonedata: Zone
}

interface ArcGroup {
  readonly description: string
  readonly 'txt-records': Readonly<Record<string, string>>
  readonly tests: Readonly<Record<string, { readonly message: string; readonly cv: string }>>
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../corpus/origin/${name}`, import.meta.url), 'utf8'))

/** Passed by the suite and not by us: a seal that covers no field of the header, not even From (RFC 6376 5.4). */
const stricter: ReadonlySet<string> = new Set(['ams_fields_h_empty'])

const failure = (code: string) => Object.assign(new Error(code), { code })

/** A name server with these records. */
function serverOf(zone: Zone) {
  const names = new Map(Object.entries(zone).map(([name, rows]) => [name.toLowerCase(), rows]))
  return async (name: string, type: string): Promise<unknown> => {
    const rows = names.get(name.replace(/\.$/, '').toLowerCase())
    if (rows === undefined) throw failure('ENOTFOUND')
    // Records of type SPF stand for TXT as well, unless there are some (the suite's own rule).
    const hasText = rows.some(row => typeof row === 'object' && 'TXT' in row)
    const found = rows.flatMap(row => {
      if (typeof row === 'string') return []
      const value = row[type] ?? (type === 'TXT' && !hasText ? row.SPF : undefined)
      return value === undefined || value === 'NONE' ? [] : [value]
    })
    if (found.length === 0) throw failure(rows.includes('TIMEOUT') ? 'ETIMEOUT' : 'ENODATA')
    if (type === 'TXT') return found.map(value => (Array.isArray(value) ? value : [value]))
    if (type === 'MX')
      return found.map(value => ({ priority: (value as unknown[])[0], exchange: (value as unknown[])[1] }))
    return found
  }
}

const plain = Buffer.from('Subject: x\r\n\r\ntext\r\n')

describe.each((read('rfc7208.json') as SpfGroup[]).map(group => [group.description, group] as const))(
  'SPF: %s',
  (_, { tests, zonedata }) => {
    const resolve = serverOf(zonedata)
    test.each(Object.entries(tests))('%s', async (_name, { helo, host: ip, mailfrom: sender, result }) => {
      const input = { message: plain, ip, helo, sender, hostname: 'mx.test', sealers: [] }
      const { results } = await verifyMessage(input, resolve)
      const said = results.map(text => /^spf=(\w+)/.exec(text)?.[1]).find(one => one !== undefined)
      expect([result].flat()).toContain(said)
    })
  },
)

describe.each((read('arc-validation.json') as ArcGroup[]).map(group => [group.description, group] as const))(
  'ARC: %s',
  (_, { tests, 'txt-records': records }) => {
    const zone = Object.fromEntries(Object.entries(records).map(([name, text]) => [name, [{ TXT: text }]]))
    const resolve = serverOf(zone)
    test.each(Object.entries(tests))('%s', async (name, { message, cv }) => {
      const bytes = Buffer.from(message.replace(/\r?\n/g, '\r\n'))
      const input = { message: bytes, ip: '192.0.2.1', helo: 'h.test', sender: '', hostname: 'mx.test', sealers: [] }
      const { results, arc } = await verifyMessage(input, resolve)
      const said = results.map(text => /^arc=(\w+)/.exec(text)?.[1]).find(one => one !== undefined) ?? 'none'
      expect(said).toBe(stricter.has(name) ? 'fail' : cv.toLowerCase() || 'fail')
      expect(typeof arc === 'string').toBe(said === 'pass')
    })
  },
)
