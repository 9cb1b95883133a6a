// Where the keyboard goes on when a page of a list is turned: at the start of the rows that came.
//
// What was pressed is taken away while they are on their way. Whoever goes elsewhere meanwhile is left there.

import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/** What holds the list that was turned, until its rows are here. */
let turning: Element | null = null

/** For what has the buttons, beside the list in one card: where it stands, and what is to be called before a page is turned. */
export function useTurn(): readonly [RefObject<HTMLDivElement | null>, () => void] {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const around = turning
    if (around === null || place.current === null || !around.contains(place.current)) return
    turning = null
    const list = around.querySelector<HTMLElement>('table.list')
    const { activeElement: now } = document
    // The card itself has it where nothing else took it (focus.ts).
    if (list === null || (now !== null && now !== document.body && now !== around && !now.contains(around))) return
    list.tabIndex = -1
    list.focus()
  }, [])
  return [
    place,
    () => {
      turning = place.current?.closest('.card') ?? null
    },
  ]
}

export interface Cursor {
  readonly next?: string
  readonly previous?: string
}

/** The way to the pages beside this one, of those there are. */
export function Turner({
  of: { previousCursor, nextCursor },
  newer,
  older,
  onTurn,
}: {
  readonly of: { readonly previousCursor: string | false; readonly nextCursor: string | false }
  readonly newer: string
  readonly older: string
  onTurn(to: Cursor): void
}) {
  const [place, turned] = useTurn()
  const button = (to: Cursor, text: string) => (
    <button
      type="button"
      onClick={() => {
        turned()
        onTurn(to)
      }}
    >
      {text}
    </button>
  )
  return (
    <div ref={place} class="actions">
      {previousCursor !== false && button({ previous: previousCursor }, newer)}
      {nextCursor !== false && button({ next: nextCursor }, older)}
    </div>
  )
}
