// Whether what is opened keeps the process alive. It does in a process that is a service; inside of somebody's program it
// must not: a test that forgets to close what it started would never end.
//
// Whoever opens a socket, a server or a thread hands it to `detach`. What somebody waits for is wrapped by `holding` of
// lib/clock.ts, since a process that nothing keeps alive ends in the middle of a wait.

let background = false

interface Detachable {
  unref?(): unknown
}

/** From now on nothing that is opened keeps this process alive. */
export function workInBackground(): void {
  background = true
}

/** The same handle; in the background it does not keep the process alive. */
export function detach<Handle extends Detachable>(handle: Handle): Handle {
  if (background) handle.unref?.()
  return handle
}
