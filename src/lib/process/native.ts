// When a thread may be ended: not while it loads what is native. Node aborts the whole process then, whoever ends the
// thread and why ("Error::New napi_get_last_error_info").
//
// Thread and owner share one number. A thread begins as one that loads, and is open when its start is over; whoever loads an
// addon later says so (`loadNative`). The owner ends it only from `open`, by a step that leaves the thread no way to begin
// loading (`mayEnd`).

import { isMainThread } from 'node:worker_threads'

const open = 0
const loading = 1
const ending = 2

export type NativeGate = Int32Array<SharedArrayBuffer>

/** The gate of a thread that is about to be started. */
export function newGate(): NativeGate {
  return new Int32Array(new SharedArrayBuffer(4)).fill(loading)
}

/** Whether the thread may be ended now; after a yes it must be. */
export function mayEnd(gate: NativeGate): boolean {
  return Atomics.compareExchange(gate, 0, open, ending) !== loading
}

let own: NativeGate | undefined
/** Loads under way on this thread, its start among them. */
let loads = 0

/** In a thread: its start is under way. */
export function beginStart(gate: NativeGate): void {
  own = gate
  loads += 1
}

/** In a thread: its start is over. */
export function endStart(): void {
  leave()
}

/** Loads a package with an addon, on whatever thread this is. One that is being ended waits here for its end. */
export async function loadNative<T>(load: () => Promise<T>): Promise<T> {
  if (isMainThread || own === undefined) return load()
  if (loads === 0 && Atomics.compareExchange(own, 0, open, loading) === ending) Atomics.wait(own, 0, ending)
  loads += 1
  try {
    return await load()
  } finally {
    leave()
  }
}

function leave(): void {
  loads -= 1
  if (own !== undefined && loads === 0) Atomics.store(own, 0, open)
}
