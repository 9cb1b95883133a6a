// What a service's main loop did in one piece of its work, by the profile that the engine wrote of it when it ended.
//
// For finding out, not for figures: taking samples costs some tenth, and on a busy machine the time of a sample is not all its own.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Piece } from './probe.ts'

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: Frame; readonly children?: readonly number[] }[]
  /** Microseconds of the clock that pieces are told by. */
  readonly startTime: number
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

interface Frame {
  readonly functionName: string
  readonly url: string
}

/** For `startService`: the engine's options with which it writes one. */
export function profiling(folder: string): string[] {
  return ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=500']
}

/** The profile of a process that has ended: names what took the most of a piece, by itself and with what it called. */
export function readProfile(folder: string, pid: number): (piece: Piece) => string {
  const name = readdirSync(folder).find(file => file.endsWith('.cpuprofile') && file.split('.').includes(String(pid)))
  if (name === undefined) throw new Error(`process ${pid} left no profile in ${folder}`)
  const profile = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Profile
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  const callers = new Map(profile.nodes.flatMap(({ id, children = [] }) => children.map(child => [child, id] as const)))
  return piece => {
    const alone = new Map<string, number>()
    const withCalled = new Map<string, number>()
    let at = profile.startTime
    for (const [index, sample] of profile.samples.entries()) {
      const ms = (profile.timeDeltas[index] ?? 0) / 1000
      at += ms * 1000
      if (at < piece.from || at > piece.to) continue
      add(alone, frames.get(sample)?.functionName, ms)
      const seen = new Set<string>()
      for (let node: number | undefined = sample; node !== undefined; node = callers.get(node)) {
        const frame = frames.get(node)
        if (frame !== undefined && isOurs(frame)) seen.add(frame.functionName)
      }
      for (const called of seen) add(withCalled, called, ms)
    }
    return `by themselves ${most(alone, 3)}; with what they called ${most(withCalled, 5)}`
  }
}

function isOurs({ functionName, url }: Frame): boolean {
  return functionName !== '' && url.startsWith('file:')
}

function add(times: Map<string, number>, name = '', ms: number): void {
  times.set(name, (times.get(name) ?? 0) + ms)
}

function most(times: ReadonlyMap<string, number>, count: number): string {
  const first = [...times].sort(([, one], [, other]) => other - one).slice(0, count)
  return first.map(([name, ms]) => `${name || 'nameless'} ${ms.toFixed(1)}`).join(', ')
}
