// What can wait until the browser has nothing better to do, as long as it does so in a moment.

const lateMs = 200

export function soon(run: () => void): void {
  // Safari has none.
  if ('requestIdleCallback' in window) requestIdleCallback(run, { timeout: lateMs })
  else setTimeout(run, lateMs)
}
