// Tasks: work that outlives the call that asked for it, with a result that can be looked up afterwards.
//
// A task is a row; whoever knows its kind does it. What is done must bear being done twice: a task whose worker died is
// taken again by the next one, a task that fails for a reason that may pass is tried again a few times, and its last
// word is a result or an error in its row, kept for limits.task.keepMs. Tasks of one account run one after the other.

import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { every, now, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import {
  countWaiting,
  dueTasks,
  findQueued,
  findTask,
  hasOldTasks,
  nextTaskDue,
  type Task,
  taskClaim,
  taskDelay,
  taskDelete,
  taskInsert,
  taskProgress,
  taskRelease,
  taskSettle,
  taskSweep,
  taskTrim,
  waitingFor,
} from '#store/accounts/task.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import { clockNow, taskClockBack } from '#store/upkeep/clock-back.ts'
import { Loop, type LoopMetrics, persist, type Term } from '../loop.ts'

export type TaskResult = Readonly<Record<string, unknown>>

export interface TaskRun {
  /** Ends when the service cannot wait longer; the task is taken again at the next start. */
  readonly signal: AbortSignal
  /**
   * Notes how far the work is, for whoever looks, and keeps the task from being taken for dead.
   *
   * @param input in the place of the task's own, for whoever goes on with it
   */
  progress(result: TaskResult, input?: Task['input']): Promise<void>
}

/** Does the work and returns its result. A Fault that cannot pass by itself (status below 500) ends the task at once. */
export type TaskHandler = (task: Task, run: TaskRun) => Promise<TaskResult>

export interface TasksOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly log: Log
  readonly metrics?: LoopMetrics
}

export interface NewTask {
  readonly kind: string
  /** Id of the account it is about. */
  readonly user: string | null
  readonly input: Readonly<Record<string, unknown>>
  /** Not before this moment; at once where absent. */
  readonly due?: number
}

export class Tasks {
  readonly #read: Reader
  readonly #writer: JobWriter
  readonly #log: Log
  readonly #handlers = new Map<string, TaskHandler>()
  readonly #loop: Loop<Task>
  readonly #sweep: Timer
  /** Accounts (or tasks of none) that are being worked on. */
  readonly #busy = new Set<string>()
  /** Up to when it was looked for tasks that may run: those of before wait for others to end, which is heard of. */
  #lookedAt = 0
  /** Stops a task that is being worked on, by its id. */
  readonly #stops = new Map<string, AbortController>()

  /** Nothing runs before `start`. */
  constructor({ read, writer, log, metrics }: TasksOptions) {
    this.#read = read
    this.#writer = writer
    this.#log = log
    this.#loop = new Loop<Task>(
      {
        name: 'tasks',
        clockBack: (_ms, under) => writer.write(taskClockBack, clockNow(), under),
        // What was being worked on when a process or a node ended is due at once: nobody else can be at it.
        begin: under => writer.write(taskRelease, { at: now() }, under),
        claim: (room, at, under) => this.#claim(room, at, under),
        run: (task, signal) => this.#run(task, signal),
        next: () => nextTaskDue(read, this.#lookedAt),
      },
      { inFlightMax: limits.task.inFlightMax, log, metrics, duty: writer.duty },
    )
    this.#sweep = every(limits.task.sweepMs, () => void this.#forget())
  }

  /** Says who does tasks of a kind. */
  handle(kind: string, handler: TaskHandler): void {
    if (this.#handlers.has(kind)) throw new Error(`two handlers for tasks of kind ${kind}`)
    this.#handlers.set(kind, handler)
  }

  /** Starts work, with what an earlier run left behind. */
  start(): void {
    this.#loop.kick()
  }

  /** A task may be due: after a unit with `taskInsert` was committed. */
  kick(): void {
    this.#loop.kick()
  }

  /** Adds a task, unless the same one still waits; answers its id. @throws Fault TooMany where too many of the account wait */
  async add(task: NewTask): Promise<{ id: string; existing: boolean }> {
    const { input } = task
    const queued = await findQueued(this.#read, task.kind, task.user, JSON.stringify(input))
    if (queued !== undefined) return { id: queued.id, existing: true }
    if (task.user !== null && (await countWaiting(this.#read, task.user)) >= limits.task.waitingMax) {
      throw new Fault('TooMany', { text: 'As many tasks of this account wait as may' })
    }
    const at = now()
    const row = { id: newId(), kind: task.kind, user: task.user, due: task.due ?? at, input, created: at }
    await this.#writer.write(taskInsert, row)
    this.#loop.kick()
    return { id: row.id, existing: false }
  }

  /** The task with this id. */
  find(id: string): Promise<Task | undefined> {
    return findTask(this.#read, id)
  }

  /** Moves a task that nobody has taken yet to another moment; false where it is too late for that. */
  async delay(id: string, due: number): Promise<boolean> {
    await this.#writer.write(taskDelay, { id, due, at: now() })
    this.#loop.kick()
    return (await findTask(this.#read, id))?.state === 'queued'
  }

  /** Ends a task of a kind whose work may stay half done, also while it is worked on; false where it has ended. */
  async stop(id: string): Promise<boolean> {
    const running = this.#stops.get(id)
    if (running === undefined) return this.cancel(id)
    running.abort(new Fault('TaskStopped'))
    return true
  }

  /** Takes a task away that nobody has taken yet; false where it is too late for that. */
  async cancel(id: string): Promise<boolean> {
    const task = await findTask(this.#read, id)
    if (task?.state !== 'queued' || this.#busy.has(partitionOf(task))) return false
    await this.#writer.write(taskDelete, { id })
    return true
  }

  async close(): Promise<void> {
    this.#sweep.cancel()
    await this.#loop.close()
  }

  async #claim(room: number, at: number, under: Term): Promise<Task[]> {
    const tasks: Task[] = []
    this.#lookedAt = at
    const wanted = { apart: longKind, room: this.#hasRoom(longKind), count: limits.task.aheadMax }
    for (const task of await dueTasks(this.#read, at, wanted)) {
      if (tasks.length === room) break
      if (this.#busy.has(partitionOf(task)) || !this.#hasRoom(task.kind)) continue
      this.#busy.add(partitionOf(task))
      tasks.push(task)
    }
    if (tasks.length === 0) return []
    try {
      const ids = tasks.map(task => task.id)
      await this.#writer.write(taskClaim, { ids, due: at + limits.task.leaseMs, at }, under)
    } catch (error) {
      for (const task of tasks) this.#busy.delete(partitionOf(task))
      throw error
    }
    return tasks.map(task => ({ ...task, state: 'running', attempts: task.attempts + 1 }))
  }

  /** What takes hours leaves room for the rest. */
  #hasRoom(kind: string): boolean {
    if (kind !== longKind) return true
    return [...this.#busy].filter(key => key.startsWith(longKind)).length < limits.transfer.sourcesMax
  }

  async #run(task: Task, signal: AbortSignal): Promise<void> {
    const stop = new AbortController()
    this.#stops.set(task.id, stop)
    const turn =
      task.kind === longKind ? every(limits.transfer.sourceTurnMs, () => void this.#giveWay(stop)) : undefined
    try {
      const settled = await this.#outcome(task, signal, stop.signal)
      if (settled === undefined) return
      const operations: Operation[] = [operation(taskSettle, settled)]
      if (task.user !== null) operations.push(operation(taskTrim, { user: task.user, kept: limits.task.keptMax }))
      await persist(() => this.#writer.submit({ operations, bytes: 1000 }), signal)
    } finally {
      turn?.cancel()
      this.#stops.delete(task.id)
      this.#busy.delete(partitionOf(task))
    }
  }

  /** What had its time goes behind those that wait for its place, and on from where it was when it is taken again. */
  async #giveWay(stop: AbortController): Promise<void> {
    try {
      const waiting = await waitingFor(this.#read, longKind, now(), limits.transfer.sourcesMax + 1)
      if (waiting.some(user => !this.#busy.has(`${longKind} ${user}`))) stop.abort(turnOver)
    } catch (error) {
      this.#log.warn({ error }, 'it is not known whether tasks wait')
    }
  }

  /** What to put into the row; undefined where the service stops and the next one goes on. */
  async #outcome(task: Task, ended: AbortSignal, stopped: AbortSignal) {
    const { id } = task
    const signal = AbortSignal.any([ended, stopped])
    const progress = async (result: TaskResult, next?: Task['input']) => {
      const at = now()
      const input = next === undefined ? null : JSON.stringify(next)
      const due = at + limits.task.leaseMs
      await this.#writer.write(taskProgress, { id, due, result: JSON.stringify(result), input, at })
    }
    try {
      const handler = this.#handlers.get(task.kind)
      if (handler === undefined) throw new Fault('TaskUnknown')
      const result = await handler(task, { signal, progress })
      const { due, attempts } = task
      return { id, state: 'done' as const, due, attempts, result: JSON.stringify(result), input: rest(task), at: now() }
    } catch (caught) {
      if (ended.aborted) return undefined
      if (stopped.reason === turnOver) return this.#later(task)
      return this.#failed(task, stopped.aborted ? stopped.reason : caught)
    }
  }

  /** Nothing went wrong: it is no attempt that failed. */
  async #later({ id, attempts }: Task) {
    const result = JSON.stringify((await findTask(this.#read, id))?.result ?? {})
    const at = now()
    return { id, state: 'queued' as const, due: at, attempts: attempts - 1, result, input: null, at }
  }

  async #failed(task: Task, error: unknown) {
    const { id, attempts } = task
    const final = (error instanceof Fault && error.status < 500) || attempts >= limits.task.attemptsMax
    if (!(error instanceof Fault) || final) this.#log.warn({ error, task: id, kind: task.kind }, 'a task failed')
    const fault = error instanceof Fault ? error : new Fault('InternalError')
    const last = (await findTask(this.#read, id))?.result ?? {}
    const result = JSON.stringify({ ...last, error: fault.message, code: fault.code })
    const at = now()
    const due = at + limits.task.retryMs * attempts
    const state = final ? ('failed' as const) : ('queued' as const)
    return { id, state, due, attempts, result, input: final ? rest(task) : null, at }
  }

  /** In pieces, until nothing is left. */
  async #forget(): Promise<void> {
    const before = now() - limits.task.keepMs
    try {
      do {
        const operations: Operation[] = [operation(taskSweep, { before, count: limits.task.sweepRowsMax })]
        await this.#writer.submit({ operations, bytes: 100, background: true })
      } while (await hasOldTasks(this.#read, before))
    } catch (error) {
      this.#log.warn({ error }, 'old tasks could not be taken away')
    }
  }
}

/** A secret goes with the end of the work that needs it. */
function rest({ input: { secret, ...left } }: Task): string | null {
  return secret === undefined ? null : JSON.stringify(left)
}

/** Why work ends that goes on later. */
const turnOver = new Error('others wait for this place')

/** Mail that comes from elsewhere takes hours, in which the account may have other things to be done. */
export const longKind = 'mail.import'

/** Tasks of one account run one after the other, others beside each other. */
function partitionOf(task: Task): string {
  const key = task.user ?? task.id
  return task.kind === longKind ? `${longKind} ${key}` : key
}
