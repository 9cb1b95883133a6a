// Tasks over HTTP: what became of the work that a call has started. An account sees its own tasks only.
//
// A task is kept for a while after its end, with what came of it. Nothing here starts one; its owner stops what may stay
// half done.

import { Type } from 'typebox'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { Fault } from '#lib/fault.ts'
import { countTasks, findTask, listTasks, type Task } from '#store/accounts/task.ts'
import { counted } from '#store/engine/counted.ts'
import { pagedCounted } from '../../cursor.ts'
import { endpoint } from '../../endpoint.ts'
import { id, moment, pageReply, paging, userId } from '../../schema.ts'
import { requireUser } from '../messages/mailboxes.ts'

export interface TaskDeps {
  readonly system: ActorSystem
  readonly tasks: {
    /** False where it has ended already. */
    stop(id: string): Promise<boolean>
  }
}

/** What an endpoint needs that leaves work to a task. */
export interface TaskStarter {
  /** Adds a task, unless the same one still waits; answers its id. */
  add(task: {
    readonly kind: string
    readonly user: string | null
    readonly input: Readonly<Record<string, unknown>>
    readonly due?: number
  }): Promise<{ id: string; existing: boolean }>
}

const taskId = id({ description: 'Id of the task, as the call that started it has answered' })

const shape = {
  id: taskId,
  kind: Type.String(),
  user: Type.Union([Type.String(), Type.Null()]),
  state: Type.String({ enum: ['queued', 'running', 'done', 'failed'] }),
  created: moment,
  updated: moment,
  due: Type.Optional(moment),
  attempts: Type.Integer(),
  result: Type.Object({}, { additionalProperties: true, description: 'Counters; `error` and `code` of a failure' }),
}

/** Kinds that an account starts, and whose work may stay half done. */
const stoppable = new Set(['mail.import', 'search.apply', 'messages.delete', 'archive.restore'])

export function taskEndpoints({ system: { read }, tasks }: TaskDeps) {
  const list = endpoint({
    method: 'GET',
    path: '/users/:user/tasks',
    tag: 'Tasks',
    summary: 'List the tasks of a user, newest first',
    allow: 'messages.read',
    params: { user: userId },
    query: { ...paging },
    reply: { ...pageReply, results: Type.Array(Type.Object(shape)) },
    faults: ['UserNotFound'],
    async run({ input }) {
      await requireUser(read, input.user)
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['string'],
        fetch: (boundary, direction, count) =>
          counted(
            read,
            picture => countTasks(picture, input.user),
            picture => {
              const edge = boundary === null ? null : String(boundary[0])
              return listTasks(picture, input.user, edge, direction === 'forward', count)
            },
          ),
        boundary: task => [task.id],
      })
      return { ...cursors, results: rows.map(shown) }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user/tasks/:task',
    tag: 'Tasks',
    summary: 'Get a task of a user with its result',
    allow: 'messages.read',
    params: { user: userId, task: taskId },
    reply: shape,
    faults: ['TaskNotFound'],
    async run({ input }) {
      const task = await findTask(read, input.task)
      if (task === undefined || task.user !== input.user) throw new Fault('TaskNotFound')
      return shown(task)
    },
  })

  const getAny = endpoint({
    method: 'GET',
    path: '/tasks/:task',
    tag: 'Tasks',
    summary: 'Get any task with its result',
    allow: 'settings.read',
    params: { task: taskId },
    reply: shape,
    faults: ['TaskNotFound'],
    async run({ input }) {
      const task = await findTask(read, input.task)
      if (task === undefined) throw new Fault('TaskNotFound')
      return shown(task)
    },
  })

  const stop = endpoint({
    method: 'DELETE',
    path: '/users/:user/tasks/:task',
    tag: 'Tasks',
    summary: 'Stop a task that its user has started',
    description:
      'What it has done stays done. One that runs ends a moment later, as failed with the code `TaskStopped`.',
    allow: 'messages.update',
    params: { user: userId, task: taskId },
    reply: { stopped: Type.Boolean({ description: 'False where it had ended already' }) },
    faults: ['TaskNotFound', 'NotPermitted'],
    async run({ input }) {
      const task = await findTask(read, input.task)
      if (task === undefined || task.user !== input.user) throw new Fault('TaskNotFound')
      if (!stoppable.has(task.kind)) throw new Fault('NotPermitted', { text: 'This task goes on to its end' })
      return { stopped: await tasks.stop(task.id) }
    },
  })

  return [list, get, getAny, stop]
}

function shown(task: Task) {
  const { id, kind, user, state, attempts, result } = task
  return {
    id,
    kind,
    user,
    state,
    created: new Date(task.created).toISOString(),
    updated: new Date(task.updated).toISOString(),
    ...(state === 'queued' ? { due: new Date(task.due).toISOString() } : {}),
    attempts,
    result: { ...result },
  }
}
