// Work that the service does for an account and goes on with without this page: how far each is, and stopping one.
//
// While something is under way its state is asked for again and again, for as long as it is shown.

import { useEffect } from 'preact/hooks'
import { call, type Reply } from '../base/client.ts'
import { number } from '../base/language.ts'
import { done, failed } from '../base/notice.tsx'
import { Badge } from '../base/parts.tsx'
import { type Resource, useCall } from '../base/resource.ts'
import { owner } from '../base/session.ts'
import { accountTexts } from './texts/texts.ts'

type Tasks = Reply<'GET /users/:user/tasks'>['results']

const pollMs = 2000
const shownMax = 5

/** The tasks of some kinds, newest first; `onEnd` hears when another one has ended. */
export function useTasks(kinds: readonly string[], onEnd?: () => void) {
  const tasks: Resource<Reply<'GET /users/:user/tasks'>> = useCall('GET /users/:user/tasks', {
    params: { user: owner().id },
  })
  const rows = (tasks.data?.results ?? []).filter(({ kind }) => kinds.includes(kind))
  const isRunning = rows.some(({ state }) => state === 'queued' || state === 'running')
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => void tasks.reload(), pollMs)
    return () => clearInterval(timer)
  }, [isRunning])
  const ended = rows.filter(({ state }) => state === 'done' || state === 'failed').length
  useEffect(() => {
    if (ended > 0) onEnd?.()
  }, [ended])
  return { rows, reload: tasks.reload }
}

interface Props {
  readonly rows: Tasks
  onStopped(): void
}

export function TaskLines({ rows, onStopped }: Props) {
  const texts = accountTexts.value.tasks
  const stop = async (task: string) => {
    await call('DELETE /users/:user/tasks/:task', { params: { user: owner().id, task } })
    onStopped()
    done(texts.stopped)
  }
  const kinds = { queued: 'plain', running: 'warn', done: 'good', failed: 'bad' } as const
  if (rows.length === 0) return null
  return (
    <ul class="lines">
      {rows.slice(0, shownMax).map(({ id, kind, state, result }) => (
        <li key={id}>
          <span class="about">
            <strong>{texts.kinds[kind] ?? kind}</strong>
            {typeof result.imported === 'number' && (
              <span class="hint">{texts.imported(number(result.imported), number(Number(result.known ?? 0)))}</span>
            )}
            {typeof result.restored === 'number' && <span class="hint">{texts.restored(number(result.restored))}</span>}
            {typeof result.error === 'string' && <span class="error">{result.error}</span>}
          </span>
          <span class="actions">
            <Badge kind={kinds[state]}>{texts.states[state]}</Badge>
            {(state === 'queued' || state === 'running') && (
              <button type="button" onClick={() => void stop(id).catch(failed)}>
                {texts.stop}
              </button>
            )}
          </span>
        </li>
      ))}
    </ul>
  )
}
