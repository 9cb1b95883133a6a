// Lists of the service: a search that waits for the typing, pages by cursor. Never a whole list: what is shown is one page of the
// service's, and the way to the next is its cursor.
// A search begins a list anew; where one is in a list is kept by the page alone, since cursors grow old.

import { useEffect, useId, useState } from 'preact/hooks'
import { number } from '../../base/language.ts'
import { type Cursor, useTurn } from '../../base/turn.tsx'
import { adminTexts } from '../texts/texts.ts'

/** Where in a list one is; goes back to its start when the question, `key`, is another. */
export function useCursor(key: string): [Cursor, (cursor: Cursor) => void] {
  const [at, setAt] = useState<{ key: string; cursor: Cursor }>({ key, cursor: {} })
  return [at.key === key ? at.cursor : {}, cursor => setAt({ key, cursor })]
}

export function Pager({
  of: { total, nextCursor, previousCursor },
  go,
}: {
  readonly of: { readonly total: number; readonly nextCursor: string | false; readonly previousCursor: string | false }
  go(cursor: Cursor): void
}) {
  const { common } = adminTexts.value
  const isOne = previousCursor === false && nextCursor === false
  const [place, turned] = useTurn()
  const turn = (cursor: Cursor) => {
    turned()
    go(cursor)
  }
  return (
    <div ref={place} class="pager">
      <span class="muted">{common.total(number(total))}</span>
      {!isOne && (
        <div class="actions">
          <button
            type="button"
            disabled={previousCursor === false}
            onClick={() => previousCursor !== false && turn({ previous: previousCursor })}
          >
            {common.previous}
          </button>
          <button
            type="button"
            disabled={nextCursor === false}
            onClick={() => nextCursor !== false && turn({ next: nextCursor })}
          >
            {common.next}
          </button>
        </div>
      )}
    </div>
  )
}

const settleMs = 250

/** Asks when nobody has typed for a moment. */
export function Search({ label, onSearch }: { readonly label: string; onSearch(text: string): void }) {
  const id = useId()
  const [text, setText] = useState<string>()
  useEffect(() => {
    if (text === undefined) return undefined
    const timer = setTimeout(() => onSearch(text.trim()), settleMs)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <search>
      <label class="unseen" for={id}>
        {label}
      </label>
      <input
        id={id}
        type="search"
        placeholder={label}
        autocomplete="off"
        spellcheck={false}
        onInput={event => setText(event.currentTarget.value)}
      />
    </search>
  )
}

/** One of a few, chosen at once. */
export function Choice<Value extends string>({
  label,
  value,
  options,
  onChoose,
}: {
  readonly label: string
  readonly value: Value
  readonly options: Readonly<Record<Value, string>>
  onChoose(value: Value): void
}) {
  const id = useId()
  return (
    <div class="choice">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={event => onChoose(event.currentTarget.value as Value)}>
        {(Object.entries(options) as [Value, string][]).map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Several of one kind of text, one a line in a field. */
export function linesOf(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map(line => line.trim())
    .filter(line => line !== '')
}
