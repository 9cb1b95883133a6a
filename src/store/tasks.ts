// Tasks: what a row means, and reading them.
//
// A task is about one account, has a state out of four and says what came of it. Reads are by index: what is due, what
// waits, what an account has.

import { checkParts } from './check.ts'
import type { Reader } from './reader.ts'

export type TaskState = 'queued' | 'running' | 'done' | 'failed'

export interface Task {
  readonly id: string
  readonly kind: string
  /** Id of the account it is about. */
  readonly user: string | null
  readonly state: TaskState
  /** When it is taken, or taken again should its worker have died. */
  readonly due: number
  readonly attempts: number
  readonly input: Record<string, unknown>
  /** What came of it so far; `error` and `code` where it failed. */
  readonly result: Record<string, unknown>
  readonly created: number
  readonly updated: number
}

type Row = Omit<Task, 'input' | 'result'> & { input: string; result: string }

const columns = 'id, kind, user, state, due, attempts, input, result, created, updated'

export async function findTask(read: Reader, id: string): Promise<Task | undefined> {
  const row = read.one<Row>(`SELECT ${columns} FROM task WHERE id = ?`, id)
  return row === undefined ? undefined : decode(row)
}

/** Tasks that are due at `at`, the longest waiting first. */
export async function dueTasks(read: Reader, at: number, count: number): Promise<Task[]> {
  return read
    .all<Row>(
      `SELECT ${columns} FROM task WHERE state IN ('queued', 'running') AND due <= ? ORDER BY due LIMIT ?`,
      at,
      count,
    )
    .map(decode)
}

/** When the next task is due. */
export async function nextTaskDue(read: Reader): Promise<number | null> {
  const row = read.one<{ due: number | null }>("SELECT min(due) AS due FROM task WHERE state IN ('queued', 'running')")
  return row?.due ?? null
}

/** The task of this kind for this account that nobody has taken yet and that has this input (JSON); any input where null. */
export async function findQueued(
  read: Reader,
  kind: string,
  user: string | null,
  input: string | null,
): Promise<Task | undefined> {
  const row = read.one<Row>(
    `SELECT ${columns} FROM task WHERE user IS ? AND kind = ? AND state = 'queued' AND input = coalesce(?, input)
     ORDER BY id LIMIT 1`,
    user,
    kind,
    input,
  )
  return row === undefined ? undefined : decode(row)
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
  return read
    .all<Row>(
      `SELECT ${columns} FROM task WHERE user = ? AND id ${sign} ? ORDER BY id ${order} LIMIT ?`,
      user,
      boundary ?? edge,
      count,
    )
    .map(decode)
}

/** How many tasks of an account are kept. */
export async function countTasks(read: Reader, user: string): Promise<number> {
  return read.one<{ n: number }>('SELECT count(*) AS n FROM task WHERE user = ?', user)?.n ?? 0
}

function decode(row: Row): Task {
  return {
    ...row,
    input: JSON.parse(row.input) as Record<string, unknown>,
    result: JSON.parse(row.result) as Record<string, unknown>,
  }
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
