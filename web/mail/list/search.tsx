// The field that searches all mail, in the API's whole language, as one types, with what may follow.
//
// A combobox as ARIA has it: the field keeps the focus, arrows choose, Enter takes what is chosen or else searches at once, Escape
// closes the list and then ends the search.

import { useSignal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Dialog } from '../../base/dialog.tsx'
import { Icon } from '../../base/icon.tsx'
import { shownName } from '../../base/names.ts'
import { go } from '../../base/router.ts'
import { withWords } from '../addresses.ts'
import { mailTexts } from '../texts/texts.ts'
import { type Suggestion, suggest, tailOf } from './suggest.ts'

const typingMs = 40

/** Suggestions to what is typed, and the one that is chosen; -1 where none is. */
function useSuggestions() {
  const found = useSignal<readonly Suggestion[]>([])
  const chosen = useSignal(-1)
  const last = useRef(0)
  const close = () => {
    last.current += 1
    found.value = []
    chosen.value = -1
  }
  const look = async (typed: string) => {
    last.current += 1
    const asked = last.current
    const suggested = await suggest(typed).catch(() => [])
    if (asked !== last.current) return
    found.value = suggested
    chosen.value = -1
  }
  const step = (by: number) => {
    const places = found.value.length + 1
    chosen.value = ((chosen.value + 1 + by + places) % places) - 1
  }
  return { found, chosen, close, look, step }
}

export function Search({ folder, q }: { readonly folder: string; readonly q: string }) {
  const texts = mailTexts.value
  const [text, setText] = useState(q)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const field = useRef<HTMLInputElement>(null)
  const isExplained = useSignal(false)
  const { found, chosen, close, look, step } = useSuggestions()
  const asked = useRef(q)
  useEffect(() => {
    // What is typed meanwhile stays; an address that was gone to is shown.
    if (q !== asked.current) setText(q)
    asked.current = q
  }, [q])
  const search = (wanted: string, replace: boolean) => {
    clearTimeout(timer.current)
    const words = wanted.trim()
    if (words === q) return
    asked.current = words
    go(withWords(folder, words === '' ? {} : { q: words }), { replace })
  }
  const type = (typed: string) => {
    setText(typed)
    clearTimeout(timer.current)
    const { keyword, value } = tailOf(typed)
    // Nobody looks for `from:` alone.
    if (keyword === '' || value !== '') timer.current = setTimeout(() => search(typed, q !== ''), typingMs)
    void look(typed)
  }
  const take = (one: Suggestion) => {
    const typed = `${text.slice(0, tailOf(text).start)}${one.text}${one.isOpen ? '' : ' '}`
    close()
    type(typed)
    field.current?.focus()
  }
  const isOpen = found.value.length > 0
  const press = (event: KeyboardEvent) => {
    // Keys that write one letter out of several are not for the list.
    if (event.isComposing) return
    const one = found.value[chosen.value]
    if (event.key === 'ArrowDown' && !isOpen) void look(text)
    else if (event.key === 'ArrowDown') step(1)
    else if (event.key === 'ArrowUp' && isOpen) step(-1)
    else if ((event.key === 'Enter' || event.key === 'Tab') && one !== undefined) take(one)
    else if (event.key === 'Enter') {
      close()
      search(text, false)
      document.querySelector<HTMLElement>('.mail-list')?.focus()
    } else if (event.key === 'Escape' && isOpen) close()
    else if (event.key === 'Escape') {
      setText('')
      search('', false)
      field.current?.blur()
    } else return
    event.preventDefault()
  }
  return (
    <search class="mail-search">
      <Icon name="search" />
      <input
        ref={field}
        type="text"
        inputMode="search"
        id="mail-search"
        value={text}
        placeholder={texts.search}
        aria-label={texts.search}
        autocomplete="off"
        spellcheck={false}
        role="combobox"
        aria-expanded={isOpen}
        aria-autocomplete="list"
        aria-controls="mail-search-list"
        aria-activedescendant={chosen.value >= 0 ? `mail-search-${chosen.value}` : undefined}
        onInput={event => type(event.currentTarget.value)}
        onKeyDown={press}
        onBlur={() => setTimeout(close, 150)}
      />
      <button
        type="button"
        class="plain"
        aria-label={texts.searchHelp}
        title={texts.searchHelp}
        onClick={() => {
          isExplained.value = true
        }}
      >
        ?
      </button>
      <div id="mail-search-list" role="listbox" aria-label={texts.searchSuggestions} hidden={!isOpen}>
        {found.value.map((one, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field hears the keys
          <div
            key={one.text}
            id={`mail-search-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === chosen.value}
            onMouseDown={event => event.preventDefault()}
            onClick={() => take(one)}
          >
            <bdi dir="ltr">
              <code>{shownName(one.text)}</code>
            </bdi>{' '}
            <bdi class="hint">{shownName(one.label)}</bdi>
          </div>
        ))}
      </div>
      {isExplained.value && (
        <Explained
          onClose={() => {
            isExplained.value = false
          }}
        />
      )}
    </search>
  )
}

/** The whole language. */
function Explained({ onClose }: { onClose(): void }) {
  const texts = mailTexts.value
  return (
    <Dialog title={texts.searchHelp} onClose={onClose}>
      <p>{texts.searchIntro}</p>
      <dl class="mail-help mail-syntax">
        {texts.searchSyntax.map(([code, meaning]) => (
          <div key={code}>
            <dt>
              <code dir="ltr">{code}</code>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
