// A field of a form that names an account: one types part of a name or an address, and picks from what the service finds.
//
// The value is the account, or null while nothing is picked: what was only typed names nobody, and the form says so.

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { call } from '../../base/client.ts'
import { described, useField, Wrapped } from '../../base/form.tsx'
import { Told } from '../../base/parts.tsx'
import { adminTexts } from '../texts/texts.ts'

export interface Account {
  readonly id: string
  /** As it is shown in the field. */
  readonly text: string
}

const typingMs = 150
const shownMax = 8

interface Found {
  readonly id: string
  readonly username: string
  readonly name: string
  readonly address: string
}

/** Asks while somebody types; an answer that comes after the next question is dropped. */
function useFound() {
  const found = useSignal<readonly Found[] | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const last = useRef(0)
  const close = () => {
    clearTimeout(timer.current)
    last.current += 1
    found.value = null
  }
  const look = (text: string) => {
    close()
    const query = text.trim()
    const asked = last.current
    if (query === '') return
    timer.current = setTimeout(() => {
      call('GET /users', { query: { query, limit: shownMax } }).then(
        ({ results }) => {
          if (asked === last.current) found.value = results
        },
        () => {},
      )
    }, typingMs)
  }
  return { found, look, close }
}

export function UserField({
  name,
  label,
  hint = adminTexts.value.users.find,
  autofocus = false,
}: {
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly autofocus?: boolean
}) {
  const { common } = adminTexts.value
  const { form, id, error, value } = useField(name)
  const { found, look, close } = useFound()
  const typed = useSignal('')
  const chosen = useSignal(0)
  const picked = value as Account | null
  const rows = found.value ?? []
  const isOpen = found.value !== null
  const take = (account: Found | undefined) => {
    if (account === undefined) return
    close()
    typed.value = ''
    form.set({ [name]: { id: account.id, text: account.username } })
  }
  const press = (event: KeyboardEvent) => {
    if (!isOpen) return
    if (event.key === 'ArrowDown' && rows.length > 0) chosen.value = (chosen.value + 1) % rows.length
    else if (event.key === 'ArrowUp' && rows.length > 0) chosen.value = (chosen.value + rows.length - 1) % rows.length
    else if (event.key === 'Enter' && rows.length > 0) take(rows[chosen.value])
    else if (event.key === 'Escape') close()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const focus = (input: HTMLInputElement | null) => {
    if (autofocus && input !== null && !input.dataset.met) {
      input.dataset.met = 'yes'
      input.focus()
    }
  }
  return (
    <Wrapped {...{ id, error, label, hint }}>
      <div class="completed">
        <input
          {...{ id, name, ...described(id, error, hint) }}
          ref={focus}
          value={picked === null ? typed.value : picked.text}
          autocomplete="off"
          spellcheck={false}
          dir="ltr"
          role="combobox"
          aria-expanded={isOpen}
          aria-autocomplete="list"
          aria-controls={`${id}-list`}
          aria-activedescendant={rows.length > 0 ? `${id}-${chosen.value}` : undefined}
          onInput={event => {
            typed.value = event.currentTarget.value
            chosen.value = 0
            form.set({ [name]: null })
            look(typed.value)
          }}
          onKeyDown={press}
          onBlur={close}
        />
        <div id={`${id}-list`} class="completions" role="listbox" aria-label={label} hidden={!isOpen}>
          {rows.map((account, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field hears the keys
            <div
              key={account.id}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === chosen.value}
              onMouseDown={event => event.preventDefault()}
              onClick={() => take(account)}
            >
              <Told text={account.username} />{' '}
              <bdi class="hint" dir="ltr">
                {account.name === '' ? account.address : `${account.name} · ${account.address}`}
              </bdi>
            </div>
          ))}
        </div>
        <p class="hint" role="status">
          {isOpen && rows.length === 0 ? common.nothingFound : ''}
        </p>
      </div>
    </Wrapped>
  )
}
