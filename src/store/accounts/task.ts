// Tasks: work that outlives the call that asked for it. The table, its reads and writes.
//
// A task is about one account, has a state out of four and says what came of it. It may be added in the unit of the change
// that asks for it, so that neither is there without the other. One that was taken is due again at a later moment, so that
// it goes on should its worker have died.

import { integer, json, moment, nullable, oneOf, text } from '../engine/column.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite, type Write } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

type TaskState = 'queued' | 'running' | 'done' | 'failed'

const tasks = table(
  'task',
  {
    id: text,
    /** What is to be done; jobs/tasks/tasks.ts finds who does it by this. */
    kind: text,
    /** Id of the account it is about. */
    user: nullable(text),
    state: oneOf<TaskState>(),
    /** When it is taken, or taken again should its worker have died. */
    due: moment,
    attempts: integer,
    input: json<Record<string, unknown>>(),
    /** What came of it so far; `error` and `code` where it failed. */
    result: json<Record<string, unknown>>(),
    created: moment,
    updated: moment,
  },
  {
    key: ['id'],
    clustered: true,
    indexes: {
      task_due: { on: ['due'], where: "state IN ('queued', 'running')" },
      task_user: { on: ['user', 'id'] },
    },
  },
)

export type Task = RowOf<typeof tasks>
/** A task as it is asked for. */
export type NewTask = Pick<Task, 'id' | 'kind' | 'user' | 'due' | 'input' | 'created'>

const insert = tasks.defineInsert()

export const taskInsert: Write<NewTask> = {
  ...insert,
  encode: task => insert.encode?.({ ...task, state: 'queued', attempts: 0, result: {}, updated: task.created }),
}

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

/** How far a task is; with another input (JSON) where a later run is to go on from there. */
export const taskProgress = defineWrite<{ id: string; due: number; result: string; input: string | null; at: number }>(
  'task.progress',
  (sql, row) => {
    sql(`UPDATE task SET result = @result, due = @due, input = coalesce(@input, input), updated = @at
      WHERE id = @id AND state = 'running'`).run(row)
  },
)

/** The end of a task, or with state `queued` another try at `due`. */
export const taskSettle = defineWrite<{
  id: string
  state: 'queued' | 'done' | 'failed'
  due: number
  attempts: number
  result: string
  /** What is left of its input (JSON); null: all of it. */
  input: string | null
  at: number
}>('task.settle', (sql, row) => {
  sql(`UPDATE task SET state = @state, due = @due, attempts = @attempts, result = @result,
    input = coalesce(@input, input), updated = @at WHERE id = @id`).run(row)
})

/** Moves a task that nobody has taken yet to another moment. */
export const taskDelay = defineWrite<{ id: string; due: number; at: number }>('task.delay', (sql, row) => {
  sql(`UPDATE task SET due = @due, updated = @at WHERE id = @id AND state = 'queued'`).run(row)
})

export const taskDelete = tasks.defineDelete(['id'])

/** Forgets what ended before `before`. */
export const taskSweep = defineWrite<{ before: number; count: number }>('task.sweep', (sql, row) => {
  sql(
    `DELETE FROM task WHERE id IN (SELECT id FROM task WHERE state IN ('done', 'failed') AND updated < ? LIMIT ?)`,
  ).run(row.before, row.count)
})

/** Forgets of an account what ended and is older than its newest `kept`. */
export const taskTrim = defineWrite<{ user: string; kept: number }>('task.trim', (sql, { user, kept }) => {
  sql(`DELETE FROM task WHERE "user" = ? AND state IN ('done', 'failed') AND id <=
    (SELECT id FROM task WHERE "user" = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`).run(user, user, kept)
})

/** Whether there are tasks that ended before `before`. */
export async function hasOldTasks(read: Reader, before: number): Promise<boolean> {
  const text = `SELECT 1 FROM task WHERE state IN ('done', 'failed') AND updated < ? LIMIT 1`
  return (await read.one(text, before)) !== undefined
}

export async function findTask(read: Reader, id: string): Promise<Task | undefined> {
  return await tasks.one(read, 'WHERE id = ?', id)
}

/**
 * Tasks that are due at `at`, the longest waiting first: of those of an account, which run one after the other, the first, and one of
 * kind `apart`, which runs beside them where there is `room` for it.
 */
export async function dueTasks(
  read: Reader,
  at: number,
  { apart, room, count }: { readonly apart: string; readonly room: boolean; readonly count: number },
): Promise<Task[]> {
  return await tasks.all(
    read,
    `WHERE id IN (SELECT id FROM
      (SELECT id, row_number() OVER (PARTITION BY coalesce("user", id), kind = ? ORDER BY due, id) AS place
        FROM task WHERE state IN ('queued', 'running') AND due <= ?) AS placed WHERE place = 1)
     AND kind IS NOT ? ORDER BY due LIMIT ?`,
    apart,
    at,
    room ? null : apart,
    count,
  )
}

/** When the next task is due after the moment `at`. */
export async function nextTaskDue(read: Reader, at: number): Promise<number | null> {
  const row = await read.one<{ due: number | null }>(
    "SELECT min(due) AS due FROM task WHERE state IN ('queued', 'running') AND due > ?",
    at,
  )
  return row?.due ?? null
}

/** How many tasks of an account wait or are worked on. */
export async function countWaiting(read: Reader, user: string): Promise<number> {
  return await tasks.count(read, `WHERE "user" = ? AND state IN ('queued', 'running')`, user)
}

/** Ids of accounts for which a task of a kind is due at `at` and taken by nobody; at most `count`. */
export async function waitingFor(read: Reader, kind: string, at: number, count: number): Promise<(string | null)[]> {
  const rows = await read.all<{ user: string | null }>(
    `SELECT DISTINCT "user" FROM task WHERE state = 'queued' AND due <= ? AND kind = ? LIMIT ?`,
    ...[at, kind, count],
  )
  return rows.map(({ user }) => user)
}

/** The task of this kind for this account that nobody has taken yet and that has this input (JSON); any input where null. */
export async function findQueued(
  read: Reader,
  kind: string,
  user: string | null,
  input: string | null,
): Promise<Task | undefined> {
  return await tasks.one(
    read,
    `WHERE "user" IS ? AND kind = ? AND state = 'queued' AND input = coalesce(?, input)
     ORDER BY id LIMIT 1`,
    user,
    kind,
    input,
  )
}

/** Tasks of an account, newest first after the id `boundary`, or oldest first before it. */
export async function listTasks(
  read: Reader,
  user: string,
  boundary: string | null,
  falling: boolean,
  count: number,
): Promise<Task[]> {
  const [sign, order, edge] = falling ? ['<', 'DESC', 'g'] : ['>', 'ASC', '']
  return await tasks.all(
    read,
    `WHERE "user" = ? AND id ${sign} ? ORDER BY id ${order} LIMIT ?`,
    user,
    boundary ?? edge,
    count,
  )
}

/** How many tasks of an account are kept. */
export async function countTasks(read: Reader, user: string): Promise<number> {
  return await tasks.count(read, 'WHERE "user" = ?', user)
}

checkParts.push({
  rules: [
    {
      says: 'a task is in a known state and counts its attempts',
      query: `SELECT id FROM task WHERE state NOT IN ('queued', 'running', 'done', 'failed')
        OR (state = 'running' AND attempts < 1)`,
    },
  ],
})
