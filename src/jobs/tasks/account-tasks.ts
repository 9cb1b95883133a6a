// What accounts ask to be done later: the removal of a deleted one, a folder's new retention, counting what all use.
//
// Each works in small commands of the account it is about, so that the account stays usable, and each may be broken off
// anywhere and done again: a removal keeps its counters in the units that remove, the others have nothing to keep.

import type { WebhookHandle } from '#actors/admin/webhook.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { retentionTask } from '#actors/mailbox/mailbox.ts'
import { recountQuota, recountTask } from '#actors/user/quota.ts'
import { type RemovalCounts, removalTask, removeStep } from '#actors/user/removal.ts'
import { restampMessages } from '#actors/user/retention.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { removalParts } from '#store/accounts/removal.ts'
import type { Task } from '#store/accounts/task.ts'
import { listUserIds } from '#store/accounts/users.ts'
import { listSubscriptions } from '#store/events/subscriptions.ts'
import type { TaskResult, TaskRun, Tasks } from './tasks.ts'

export interface AccountTaskDeps {
  readonly system: ActorSystem
  readonly webhooks: WebhookHandle
}

/** Says who does these tasks. */
export function handleAccountTasks(tasks: Tasks, { system, webhooks }: AccountTaskDeps): void {
  tasks.handle(removalTask, (task, run) => removeAccount(system, webhooks, task, run))
  tasks.handle(retentionTask, (task, run) => restampMailbox(system, task, run))
  tasks.handle(recountTask, (_, run) => recountAll(system, run))
}

async function removeAccount(
  system: ActorSystem,
  webhooks: WebhookHandle,
  task: Task,
  { signal }: TaskRun,
): Promise<TaskResult> {
  const user = task.user ?? ''
  const counts: RemovalCounts = { ...nothing(), ...(task.result as RemovalCounts) }
  const own = (await listSubscriptions(system.read)).filter(one => one.user === user)
  let known = counts
  for (let first = true; ; first = false) {
    const lease = now() + limits.task.leaseMs
    const step = await system.handle(user).run(removeStep, { task: task.id, lease, counts: known }, signal)
    known = step.counts
    if (step.done) return known
    // After the first step the account cannot come back, so its subscriptions may go.
    if (!first) continue
    for (const { id } of own) await webhooks.delete(id, signal).catch(ignoreGone)
    known = { ...known, webhooks: { deleted: (known.webhooks?.deleted ?? 0) + own.length } }
  }
}

/** Every counter there is, at nothing. */
function nothing(): RemovalCounts {
  const kinds = ['mailboxes', 'messages', 'files', 'webhooks', ...removalParts.map(part => part.kind)]
  return Object.fromEntries(kinds.filter(kind => kind !== null).map(kind => [kind, { deleted: 0 }]))
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof Fault && error.code === 'WebhookNotFound')) throw error
}

async function restampMailbox(system: ActorSystem, task: Task, { signal, progress }: TaskRun): Promise<TaskResult> {
  const mailbox = String(task.input.mailbox)
  let from: number | null = 1
  while (from !== null) {
    const { next }: { next: number | null } = await system
      .handle(task.user ?? '')
      .run(restampMessages, { mailbox, from }, signal)
    from = next
    if (from !== null) await progress({ mailbox, upTo: from - 1 })
  }
  return { mailbox }
}

async function recountAll(system: ActorSystem, { signal, progress }: TaskRun): Promise<TaskResult> {
  let users = 0
  let changed = 0
  for (let last = ''; ; ) {
    const ids = await listUserIds(system.read, last, limits.quota.inFlightMax)
    if (ids.length === 0) return { users, changed }
    last = ids.at(-1) ?? last
    const counted = await Promise.all(ids.map(id => recount(system, id, signal)))
    users += ids.length
    changed += counted.filter(one => one).length
    await progress({ users, changed })
  }
}

/** Whether anything was to change; an account that goes meanwhile is none of ours. */
async function recount(system: ActorSystem, id: string, signal: AbortSignal): Promise<boolean> {
  try {
    const { storageUsed, previousStorageUsed } = await system.handle(id).run(recountQuota, undefined, signal)
    return storageUsed !== previousStorageUsed
  } catch (error) {
    if (error instanceof Fault && error.code === 'UserNotFound') return false
    throw error
  }
}
