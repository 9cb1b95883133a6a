// Keeps the page itself for when there is no network: a service worker, another one for each build.
//
// The page, and the empty frames that letters are shown in, are asked for anew each time and come from what is kept only where the service does
// not answer, so nobody stays with an old one; files have a hash in their names and come from what is kept. Nothing else is looked at: no
// answer of the API passes through here. What a build kept stays for one build more, since windows that are open may still want its files.

/** Files of this build, by the build (deploy/web.ts). */
declare const FILES: readonly string[]
declare const BUILD: string

interface Waiting extends Event {
  waitUntil(work: Promise<unknown>): void
}

interface Asked extends Waiting {
  readonly request: Request
  /** The page, asked for while this was still being started. */
  readonly preloadResponse: Promise<Response | undefined>
  respondWith(answer: Promise<Response>): void
}

interface Installing extends Waiting {
  addRoutes?(routes: readonly object[]): Promise<void>
}

interface Scope {
  readonly clients: { claim(): Promise<void> }
  readonly registration: { readonly navigationPreload?: { enable(): Promise<void> } }
  skipWaiting(): Promise<void>
  addEventListener(name: 'install', heard: (event: Installing) => void): void
  addEventListener(name: 'activate' | 'message', heard: (event: Waiting) => void): void
  addEventListener(name: 'fetch', heard: (event: Asked) => void): void
}

const scope = self as unknown as Scope
const prefix = 'teal.page.'
const own = prefix + BUILD
/** The page for every place. */
const page = '/app'
const frames = ['/frame/closed', '/frame/pictures']
/** How long the service may take for the page before what is kept is shown. */
const answerMs = 4000

scope.addEventListener('install', event => {
  // Calls of the API need not wait for this to be started, where the browser knows how to say so.
  const past = event.addRoutes?.([{ condition: { urlPattern: { pathname: '/users/*' } }, source: 'network' }])
  event.waitUntil(Promise.all([past?.catch(() => {}), fill().then(() => scope.skipWaiting())]))
})

scope.addEventListener('activate', event => event.waitUntil(begin()))

// Whoever signed out had everything removed; who comes back wants it again. The page is put in last, so where it is, all is.
scope.addEventListener('message', event =>
  event.waitUntil(kept(page).then(has => (has === undefined ? fill() : undefined))),
)

scope.addEventListener('fetch', event => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin) return
  const isPage = pathname === '/' || /^\/app(?:\/|$)/.test(pathname)
  if (request.mode === 'navigate' && isPage) event.respondWith(fresh(event, page))
  else if (request.mode === 'navigate' && frames.includes(pathname)) event.respondWith(fresh(event, pathname))
  else if (pathname.startsWith('/assets/')) event.respondWith(asset(request))
})

/** All of the build, or nothing: the page must be the one that names these files. */
async function fill(): Promise<void> {
  const answer = await fetch(page, { cache: 'no-cache', headers: { accept: 'text/html' } })
  const text = await answer.clone().text()
  const named = text.match(/\/assets\/[\w.-]+/g) ?? []
  if (!answer.ok || !named.every(name => FILES.includes(name))) throw new Error('The page is of another build')
  const cache = await caches.open(own)
  try {
    await cache.addAll([...FILES, ...frames])
    await cache.put(page, answer)
  } catch (error) {
    await caches.delete(own)
    throw error
  }
}

async function begin(): Promise<void> {
  await scope.registration.navigationPreload?.enable()
  const builds = (await caches.keys()).filter(name => name.startsWith(prefix) && name !== own)
  for (const name of builds.slice(0, -1)) await caches.delete(name)
  await scope.clients.claim()
}

async function kept(name: string): Promise<Response | undefined> {
  return (await caches.has(own)) ? (await caches.open(own)).match(name) : undefined
}

/** What the service answers; where it does not, what is kept under a name. */
async function fresh({ request, preloadResponse }: Asked, name: string): Promise<Response> {
  const asked = preloadResponse.then(early => early ?? fetch(request))
  asked.catch(() => {})
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, answerMs)
  })
  try {
    const answer = await Promise.race([asked, late])
    // What stands before the service answers so while the service is away.
    if (answer !== undefined && ![502, 503, 504].includes(answer.status)) return answer
  } catch {
    // There is no network.
  } finally {
    clearTimeout(timer)
  }
  return (await kept(name)) ?? asked
}

async function asset(request: Request): Promise<Response> {
  return (await caches.match(request)) ?? fetch(request)
}

export {}
