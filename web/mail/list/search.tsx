// The field that searches all mail, in the API's whole language, as one types.

import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon } from '../../base/icon.tsx'
import { go } from '../../base/router.ts'
import { withWords } from '../addresses.ts'
import { mailTexts } from '../texts/texts.ts'

const typingMs = 250

export function Search({ folder, q }: { readonly folder: string; readonly q: string }) {
  const texts = mailTexts.value
  const [text, setText] = useState(q)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => {
    setText(q)
  }, [q])
  const look = (wanted: string, replace: boolean) => {
    clearTimeout(timer.current)
    const words = wanted.trim()
    if (words !== q) go(withWords(folder, words === '' ? {} : { q: words }), { replace })
  }
  return (
    <search class="mail-search">
      <form
        onSubmit={event => {
          event.preventDefault()
          look(text, false)
        }}
      >
        <Icon name="search" />
        <input
          type="search"
          id="mail-search"
          value={text}
          placeholder={texts.search}
          aria-label={texts.search}
          onInput={event => {
            const typed = event.currentTarget.value
            setText(typed)
            clearTimeout(timer.current)
            timer.current = setTimeout(() => look(typed, q !== ''), typingMs)
          }}
          onKeyDown={event => {
            if (event.key !== 'Escape') return
            setText('')
            look('', false)
            event.currentTarget.blur()
          }}
        />
      </form>
    </search>
  )
}
