// Sees to it that every local domain has keys that sign its mail, that they sign once DNS shows them, and that old ones go.
//
// Some domains of all are looked at each time, so that any number of them costs the same; a question to DNS that is answered
// by nobody is asked again later. Nothing here decides what follows (actors/admin/signing-keys.ts).

import type { SigningKeys } from '#actors/admin/signing-keys.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Duty } from '#store/cluster/duty.ts'
import { domainsAfter, dueSigningKeys, hasKeys, nextSigningKeyDue } from '#store/domains/signing-key.ts'
import { Loop, type LoopMetrics } from '../loop.ts'

type Job = (signal: AbortSignal) => Promise<void>

/** Makes the loop; it starts with its first kick. */
export function signingLoop(keys: SigningKeys, log: Log, metrics: LoopMetrics, duty?: Duty): Loop<Job> {
  const { read } = keys
  let cursor = ''
  let look = now() + limits.dkim.lookMs
  // What is under way is not taken a second time.
  const busy = new Set<string>()
  const held = (name: string, task: Job): Job => {
    busy.add(name)
    return signal => task(signal).finally(() => busy.delete(name))
  }
  const bare = async (room: number, at: number): Promise<Job[]> => {
    const names = await domainsAfter(read, cursor, limits.dkim.domainsMax)
    const wanting: string[] = []
    for (const name of names) {
      if (wanting.length === room) break
      if (!busy.has(name) && !(await hasKeys(read, name))) wanting.push(name)
    }
    cursor = names.length < limits.dkim.domainsMax ? '' : (names.at(-1) ?? '')
    return wanting.map(name => held(name, async signal => void (await keys.rotate(name, at, signal).catch(gone))))
  }
  return new Loop<Job>(
    {
      name: 'signing keys',
      async claim(room, at) {
        const due = (await dueSigningKeys(read, at, room + busy.size)).filter(({ id }) => !busy.has(id)).slice(0, room)
        const checks = due.map(row => held(row.id, signal => keys.check(row, at, signal)))
        if (at < look || checks.length === room) return checks
        const made = await bare(room - checks.length, at)
        if (made.length === 0) look = at + limits.dkim.lookMs
        return [...checks, ...made]
      },
      run: (job, signal) => job(signal),
      clockBack: ms => {
        look -= ms
        return keys.clockBack()
      },
      next: async () => Math.max(now() + 1000, Math.min(look, (await nextSigningKeyDue(read)) ?? look)),
    },
    { inFlightMax: limits.dkim.inFlightMax, log, metrics, duty },
  )
}

/** Its last address went meanwhile. */
function gone(error: unknown): void {
  if (!(error instanceof Fault)) throw error
}
