// Audits in the background: what is there is copied by a task, and what has had its time goes.

import { auditTask, copyForAudit, endAudits } from '#actors/admin/audit.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { every, now, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Tasks } from './tasks.ts'

/** Does the tasks, and looks for audits that are over until it is closed. */
export function startAudits(
  tasks: Tasks,
  { system, log }: { system: ActorSystem; log: Log },
): { close(): Promise<void> } {
  tasks.handle(auditTask, (task, { signal }) => copyForAudit(system, String(task.input.audit), signal))
  const stop = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const round: Timer = every(limits.audit.roundMs, () => {
    running = running.then(() =>
      endAudits(system, now(), stop.signal).catch(error => log.warn({ error }, 'audits could not be ended')),
    )
  })
  return {
    async close() {
      round.cancel()
      stop.abort()
      await running
    },
  }
}
