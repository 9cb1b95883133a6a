// The page without a network: its worker (web/worker.ts), which is there for whoever is signed in and goes when they sign out.

const prefix = 'teal.page.'
/** What is looked at first goes before. */
const waitMs = 2000

let timer: ReturnType<typeof setTimeout> | undefined

/** Has the page kept, in a moment. */
export function keepPage(): void {
  // Browsers have it for safe origins alone.
  if (!('serviceWorker' in navigator) || timer !== undefined) return
  timer = setTimeout(() => void start().catch(() => {}), waitMs)
}

async function start(): Promise<void> {
  if (!navigator.onLine) {
    addEventListener('online', () => void start().catch(() => {}), { once: true })
    return
  }
  await navigator.serviceWorker.register('/worker.js', { updateViaCache: 'none' })
  const { active } = await navigator.serviceWorker.ready
  // Chromium does not let a worker follow one that is spoken to meanwhile: it is, only where nothing is kept.
  if (!(await isPageKept())) active?.postMessage('fill')
}

async function isPageKept(): Promise<boolean> {
  for (const name of await caches.keys()) {
    if (name.startsWith(prefix) && (await (await caches.open(name)).match('/app')) !== undefined) return true
  }
  return false
}

/** Removes the worker and the page it keeps. */
export async function forgetPage(): Promise<void> {
  clearTimeout(timer)
  timer = undefined
  if (!('serviceWorker' in navigator)) return
  try {
    const found = await navigator.serviceWorker.getRegistration('/')
    await found?.unregister()
    for (const name of await caches.keys()) if (name.startsWith(prefix)) await caches.delete(name)
  } catch {
    // Where site data is forbidden nothing was kept.
  }
}
