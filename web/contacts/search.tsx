// A field that asks when nobody has typed for a moment.
//
// What it finds is its page's matter.

import { useEffect, useId, useState } from 'preact/hooks'

const settleMs = 200

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
