// Where the page is: the path as a signal, links that lead on without loading anew, and which route a path means.
//
// Paths are real ones below /app, so that an address can be kept, sent and loaded again. Going somewhere puts the focus on the
// new page, so that whoever cannot see the change hears of it.

import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'

export type Values = Readonly<Record<string, string>>

export interface Route {
  /** Below /app, `:name` for one part: `/account/filters/:filter`. */
  readonly path: string
  /** In the language that is shown; the title of the window too. */
  title(): string
  readonly view: ComponentType<{ readonly values: Values }>
}

const root = '/app'

/** Below /app: `/account/filters`; '' at its root. */
export const place = signal(placeOf(location.pathname))
/** What follows the question mark. */
export const search = signal(new URLSearchParams(location.search))

function placeOf(path: string): string {
  return path.startsWith(root) ? path.slice(root.length).replace(/\/$/, '') : ''
}

/** The address of a place, for a link. */
export function at(path: string): string {
  return root + path
}

/** Goes to a place; `replace` leaves no way back to where it was. */
export function go(path: string, { replace = false }: { replace?: boolean } = {}): void {
  if (replace) history.replaceState(null, '', at(path))
  else history.pushState(null, '', at(path))
  follow()
}

function follow(): void {
  place.value = placeOf(location.pathname)
  search.value = new URLSearchParams(location.search)
}

/** Puts the focus on the page that is shown now. */
export function focusPage(): void {
  document.getElementById('main')?.focus({ preventScroll: true })
  scrollTo(0, 0)
}

/** The route of a path and what stands in the place of its names. */
export function match(routes: readonly Route[], path: string): { route: Route; values: Values } | undefined {
  const parts = path.split('/')
  for (const route of routes) {
    const names = route.path.split('/')
    if (names.length !== parts.length) continue
    if (!names.every((name, index) => name.startsWith(':') || name === parts[index])) continue
    const found = names.flatMap((name, index) =>
      name.startsWith(':') ? [[name.slice(1), decodeURIComponent(parts[index] ?? '')]] : [],
    )
    return { route, values: Object.fromEntries(found) }
  }
  return undefined
}

/** Follows links to places, the way back and forward. Called once. */
export function startRouter(): void {
  addEventListener('popstate', follow)
  document.addEventListener('click', event => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    if (link === null || !isPlain || event.defaultPrevented || link.target !== '' || link.hasAttribute('download'))
      return
    const { origin, pathname, search: query } = new URL(link.href)
    if (origin !== location.origin || !pathname.startsWith(root) || link.getAttribute('href')?.startsWith('#')) return
    event.preventDefault()
    go(pathname.slice(root.length) + query)
  })
}
