// The certificate that a service makes for itself, whatever its clock says.

import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { now, shiftClock } from '#lib/clock.ts'
import { selfSigned } from '#net/tls/self-signed.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-self-signed-'))
afterEach(() => {
  shiftClock(0)
  rmSync(root, { recursive: true, force: true })
})

test.each([1971, 2026, 2045, 2098])('one of %i is for then and for ten years', async year => {
  shiftClock(Date.UTC(year, 5, 1) - now())
  const { cert } = await selfSigned(join(root, String(year)), 'mail.example.com')
  const { validFromDate, validToDate, subjectAltName } = new X509Certificate(cert)
  expect([validFromDate, validToDate].map(date => date.getUTCFullYear())).toEqual([year, year + 10])
  expect(subjectAltName).toContain('mail.example.com')
})
