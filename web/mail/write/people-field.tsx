// A field for addresses, several with commas between them, that is completed from whom the account has written to or heard from.
//
// What does not read as an address stays as it was typed; whoever sends says so.

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { call } from '../../base/client.ts'
import { type Person, personText, shownName } from '../../base/names.ts'
import { user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'

const typingMs = 120
const shownMax = 6

interface Props {
  readonly id: string
  readonly label: string
  readonly value: string
  onChange(value: string): void
}

export function PeopleField({ id, label, value, onChange }: Props) {
  const texts = mailTexts.value
  const found = useSignal<readonly Person[]>([])
  const chosen = useSignal(0)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const last = useRef(0)
  const look = (typed: string) => {
    clearTimeout(timer.current)
    const query = lastOf(typed).trim()
    last.current += 1
    const asked = last.current
    if (query === '') {
      found.value = []
      return
    }
    timer.current = setTimeout(() => {
      call('GET /users/:user/addressregister', { params: { user: user() }, query: { query, limit: shownMax } }).then(
        ({ results }) => {
          if (asked !== last.current) return
          found.value = results
          chosen.value = 0
        },
        () => {},
      )
    }, typingMs)
  }
  const take = (person: Person | undefined) => {
    if (person === undefined) return
    last.current += 1
    onChange(`${value.slice(0, value.length - lastOf(value).length)}${personText(person)}, `)
    found.value = []
  }
  const isOpen = found.value.length > 0
  const press = (event: KeyboardEvent) => {
    // Keys that write one letter out of several are not for the list.
    if (!isOpen || event.isComposing) return
    if (event.key === 'ArrowDown') chosen.value = (chosen.value + 1) % found.value.length
    else if (event.key === 'ArrowUp') chosen.value = (chosen.value + found.value.length - 1) % found.value.length
    else if (event.key === 'Enter' || event.key === 'Tab') take(found.value[chosen.value])
    else if (event.key === 'Escape') found.value = []
    else return
    event.preventDefault()
  }
  return (
    <div class="mail-field">
      <label for={id}>{label}</label>
      <div class="mail-complete">
        <input
          id={id}
          value={value}
          dir="auto"
          autocomplete="off"
          role="combobox"
          aria-expanded={isOpen}
          aria-autocomplete="list"
          aria-controls={`${id}-list`}
          aria-activedescendant={isOpen ? `${id}-${chosen.value}` : undefined}
          onInput={event => {
            onChange(event.currentTarget.value)
            look(event.currentTarget.value)
          }}
          onKeyDown={press}
          onBlur={() =>
            setTimeout(() => {
              found.value = []
            }, 150)
          }
        />
        <div id={`${id}-list`} class="mail-completions" role="listbox" aria-label={texts.suggestions} hidden={!isOpen}>
          {found.value.map((person, at) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field hears the keys
            <div
              key={person.address}
              id={`${id}-${at}`}
              role="option"
              tabIndex={-1}
              aria-selected={at === chosen.value}
              onMouseDown={event => event.preventDefault()}
              onClick={() => take(person)}
            >
              <bdi>{shownName(person.name ?? '')}</bdi>{' '}
              <bdi class="hint" dir="ltr">
                {shownName(person.address)}
              </bdi>
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}

/** What stands behind the last comma. */
function lastOf(text: string): string {
  return text.slice(Math.max(text.lastIndexOf(','), text.lastIndexOf(';')) + 1)
}
