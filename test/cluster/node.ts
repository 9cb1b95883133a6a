// A node in a process of its own, as far as leases and writes go: for tests that stop and kill it.
//
// It says what it has on each change, and writes what it is told to, under the leases it is told.

import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import process from 'node:process'
import pino from 'pino'
import { Leases } from '#store/cluster/leases.ts'
import { Writing, type WrittenUnit } from '#store/engine/postgres/writer/writing.ts'

/** What it is told: units to write. */
export type Told = { readonly write: readonly WrittenUnit[] } | { readonly leave: true }

/** What it says. */
export type Said =
  | { readonly num: number; readonly held: readonly [shard: number, term: number][] }
  | { readonly lost: readonly number[] }
  | { readonly failures: readonly { readonly unit: number; readonly kind: string }[]; readonly broken: string | null }
  | { readonly left: true }

const [, , url = '', name = ''] = process.argv
for (const file of globSync('src/store/**/*.ts')) await import(resolve(file))
const leases = await Leases.join({ settings: { url }, name, log: pino({ level: 'silent' }) as never })
const { writing } = await Writing.open({ url }, false, { passing: true, node: leases.num })
const say = (said: Said) => process.send?.(said)

function tell(): void {
  const held = Array.from({ length: 2000 }, (_, shard) => [shard, leases.termOf(shard)] as const)
  say({ num: leases.num, held: held.filter((one): one is [number, number] => one[1] !== undefined) })
}

leases.listen({ lost: lost => say({ lost }), moved: tell })
process.on('message', (told: Told) => {
  if ('write' in told) void writing.commit(told.write).then(({ failures, broken }) => say({ failures, broken }))
  else {
    void leases.leave().then(async () => {
      await writing.close()
      say({ left: true })
      process.disconnect()
    })
  }
})
tell()
