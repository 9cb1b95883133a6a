// What a page shows of the service: asked for when the page is shown, anew when its question changes or somebody asks.
//
// An answer that comes after a newer question is dropped. What is shown stays while the same question is asked again.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type CallInput, type CallName, call, type Reply } from './client.ts'

export interface Resource<T> {
  readonly data: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
  /** Asks again. */
  reload(): Promise<void>
  /** Shows this from now on, as a call has answered it. */
  show(data: T): void
}

/** Asks the API. `null` asks nothing yet. */
export function useCall<N extends CallName>(name: N, input: CallInput<N> | null): Resource<Reply<N>> {
  const ask = (signal: AbortSignal) =>
    (call as (name: N, input: object) => Promise<Reply<N>>)(name, { ...input, signal })
  return useResource(input === null ? null : ask, `${name} ${JSON.stringify(input)}`)
}

/** The same for what takes several calls; `key` says which question it is. */
export function useResource<T>(ask: ((signal: AbortSignal) => Promise<T>) | null, key: string): Resource<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: unknown; isLoading: boolean }>({
    key,
    isLoading: true,
  })
  const running = useRef<AbortController | null>(null)
  const asking = useRef(ask)
  asking.current = ask
  // Whoever asks again may have seen an older question: it is the one of now that is asked.
  const question = useRef(key)
  question.current = key
  const load = useCallback(async () => {
    if (asking.current === null) return
    const key = question.current
    running.current?.abort()
    const control = new AbortController()
    running.current = control
    setState(before => ({
      key,
      isLoading: true,
      ...(before.key === key && before.data !== undefined && { data: before.data }),
    }))
    try {
      const data = await asking.current(control.signal)
      if (!control.signal.aborted) setState({ key, data, isLoading: false })
    } catch (error) {
      if (!control.signal.aborted) setState({ key, error, isLoading: false })
    }
  }, [])
  useEffect(() => {
    void load()
    return () => running.current?.abort()
  }, [key])
  const shown = state.key === key ? state : { isLoading: true }
  const { data, error, isLoading } = shown as typeof state
  const show = (fresh: T) => {
    if (question.current === key) setState({ key, data: fresh, isLoading: false })
  }
  return { data, error, isLoading, reload: load, show }
}
