// The bounds of what the log says of the traffic: lines of one network and of all, and the line that counts the rest.

import pino from 'pino'
import { expect, test } from 'vitest'
import { cut, Journal } from '#lib/journal/journal.ts'
import { limits } from '#lib/limits.ts'
import { logOptions } from '#lib/log.ts'

const bounds = { windowMs: 3_600_000, linesMax: 5, strangeLinesMax: 4, networkLinesMax: 2 }

function opened() {
  const lines: Record<string, unknown>[] = []
  const log = pino(logOptions('info'), { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { lines, log, journal: new Journal(log, bounds) }
}

test('one network fills its part only, all together theirs, and what is left out is counted by its kind', () => {
  const { lines, journal } = opened()
  for (let at = 0; at < 5; at++) journal.note('refused', '192.0.2.1', { at }, 'x')
  // The same network of IPv6 for all of a /64.
  for (let at = 0; at < 3; at++) journal.note('refused', `2001:db8::${at}`, {}, 'x')
  journal.note('refused', '192.0.2.2', {}, 'x')
  journal.note('login-failed', '192.0.2.1', {}, 'x')
  for (let at = 0; at < 7; at++) journal.note('message', '192.0.2.1', { at }, 'x')
  const count = (event: string) => lines.filter(line => line.event === event).length
  expect([count('refused'), count('login-failed'), count('message')]).toEqual([4, 1, 5])
  journal.close()
  const left = lines.filter(line => line.event === 'left-out')
  expect(left).toEqual([
    expect.objectContaining({ level: 'warn', about: 'refused', lines: 5, networks: 3 }),
    expect.objectContaining({ about: 'message', lines: 2 }),
  ])
})

test('what was counted is told once, and lines go on after it', () => {
  const { lines, journal } = opened()
  for (let at = 0; at < 3; at++) journal.note('login-failed', '192.0.2.1', {}, 'x')
  journal.close()
  journal.close()
  expect(lines.filter(line => line.event === 'left-out')).toHaveLength(1)
  journal.note('login-failed', '192.0.2.1', {}, 'x')
  expect(lines.filter(line => line.event === 'login-failed')).toHaveLength(3)
})

test('nothing is written below its level, and long words are cut', () => {
  const { lines, log, journal } = opened()
  log.level = 'warn'
  expect(journal.on).toBe(false)
  journal.note('message', '', {}, 'x')
  expect(lines).toEqual([])
  expect(cut('x'.repeat(1000))).toHaveLength(limits.journal.textLengthMax + 1)
})
