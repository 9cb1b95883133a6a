// Waits as operators write them: `5m, 2h, 1d`.
//
// Pure; what was read last is remembered, since it is asked for with every attempt.

import { limits } from '#lib/limits.ts'

const units: Readonly<Record<string, number>> = {
  s: limits.time.second,
  m: limits.time.minute,
  h: limits.time.hour,
  d: limits.time.day,
}

/** In milliseconds, in order. */
export function retryWaits(text: string): readonly number[] {
  let waits = parsed.get(text)
  if (waits === undefined) {
    waits = [...text.matchAll(/(\d+)\s*([smhd])/g)].map(([, count, unit]) => Number(count) * (units[unit ?? ''] ?? 0))
    if (parsed.size >= parsedMax) parsed.clear()
    parsed.set(text, waits)
  }
  return waits
}

const parsed = new Map<string, readonly number[]>()
const parsedMax = 10
