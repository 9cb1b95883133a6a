// Writes of tasks: they run in the writer thread, inside a unit. A task may be added in the unit of the change that asks
// for it, so that neither is there without the other.
//
// A task that was taken is due again at a later moment, so that it goes on should its worker have died.

import { defineWrite } from './write.ts'

export interface TaskRow {
  readonly id: string
  /** What is to be done; jobs/tasks.ts finds who does it by this. */
  readonly kind: string
  /** Id of the account it is about. */
  readonly user: string | null
  /** Not before this moment, milliseconds since 1970. */
  readonly due: number
  /** JSON. */
  readonly input: string
  readonly created: number
}

export const taskInsert = defineWrite<TaskRow>('task.insert', (sql, row) => {
  sql(`INSERT INTO task (id, kind, user, state, due, attempts, input, result, created, updated)
    VALUES (@id, @kind, @user, 'queued', @due, 0, @input, '{}', @created, @created)`).run(row)
})

/** Takes tasks to work on them; they are due again at `due` in case nobody finishes them. */
export const taskClaim = defineWrite<{ ids: readonly string[]; due: number; at: number }>('task.claim', (sql, row) => {
  for (const id of row.ids) {
    sql(`UPDATE task SET state = 'running', attempts = attempts + 1, due = ?, updated = ?
      WHERE id = ? AND state IN ('queued', 'running')`).run(row.due, row.at, id)
  }
})

/** What an earlier process was working on when it died is due at once: nobody else can be at it. */
export const taskRelease = defineWrite<{ at: number }>('task.release', (sql, { at }) => {
  sql(`UPDATE task SET due = ? WHERE state = 'running'`).run(at)
})

/** How far a task is. */
export const taskProgress = defineWrite<{ id: string; due: number; result: string; at: number }>(
  'task.progress',
  (sql, row) => {
    sql(`UPDATE task SET result = @result, due = @due, updated = @at WHERE id = @id AND state = 'running'`).run(row)
  },
)

/** The end of a task, or with state `queued` another try at `due`. */
export const taskSettle = defineWrite<{
  id: string
  state: 'queued' | 'done' | 'failed'
  due: number
  result: string
  at: number
}>('task.settle', (sql, row) => {
  sql('UPDATE task SET state = @state, due = @due, result = @result, updated = @at WHERE id = @id').run(row)
})

/** Moves a task that nobody has taken yet to another moment. */
export const taskDelay = defineWrite<{ id: string; due: number; at: number }>('task.delay', (sql, row) => {
  sql(`UPDATE task SET due = @due, updated = @at WHERE id = @id AND state = 'queued'`).run(row)
})

export const taskDelete = defineWrite<{ id: string }>('task.delete', (sql, row) => {
  sql('DELETE FROM task WHERE id = ?').run(row.id)
})

/** Forgets what ended before `before`. */
export const taskSweep = defineWrite<{ before: number; count: number }>('task.sweep', (sql, row) => {
  sql(
    `DELETE FROM task WHERE id IN (SELECT id FROM task WHERE state IN ('done', 'failed') AND updated < ? LIMIT ?)`,
  ).run(row.before, row.count)
})
