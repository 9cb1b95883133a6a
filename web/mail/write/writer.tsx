// The window in which a letter is written: whom it is for, what it says, files. It stays open beside the list while one looks
// something up; on a phone it takes the whole screen.
//
// It keeps nothing itself: every key is a change of the letter (letter.ts), which is saved as one types.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type Squire from 'squire-rte'
import { Refusal } from '../../base/client.ts'
import { ask } from '../../base/dialog.tsx'
import { Icon } from '../../base/icon.tsx'
import { failed } from '../../base/notice.tsx'
import { mailTexts } from '../texts/texts.ts'
import { rememberRich } from './answer.ts'
import { Files } from './files.tsx'
import { identities, identityOf, withSignature } from './identity.ts'
import { type Letter, subjectMax } from './letter.ts'
import { letters } from './opened.ts'
import { PeopleField } from './people-field.tsx'
import { Editor } from './rich/editor.tsx'
import { htmlOf, textOf } from './rich/text.ts'
import { change, discard, saveAndClose, send, take } from './writing.ts'

export function Writers() {
  const open = letters.value
  const letter = open.at(-1)
  return letter === undefined ? null : <Writer key={letter.key} letter={letter} />
}

function Writer({ letter }: { readonly letter: Letter }) {
  const texts = mailTexts.value
  const wrong = useSignal('')
  const hasMore = useSignal(letter.fields.value.cc !== '' || letter.fields.value.bcc !== '')
  const later = useSignal('')
  const isLater = useSignal(false)
  const isOver = useSignal(false)
  const id = useId()
  const { subject, text, html, to, cc, bcc, from } = letter.fields.value
  const isFirst = useRef(to !== '').current
  // Begins anew where something else than the keys changed what is written with form.
  const fresh = useSignal(0)
  useEffect(() => {
    if (!isFirst) document.getElementById(`${id}-to`)?.focus()
  }, [])
  const submit = async () => {
    const at = later.value === '' ? 0 : new Date(later.value).getTime()
    wrong.value = (await send(letter, at)) ?? ''
  }
  const drop = async () => {
    letter.flush()
    const isEmpty =
      text.trim() === '' && textOf(html ?? '') === '' && to === '' && subject === '' && letter.draft === null
    const question = {
      title: texts.confirmDiscard,
      text: texts.confirmDiscardText,
      action: texts.discard,
      danger: true,
    }
    if (isEmpty || (await ask(question))) await discard(letter)
  }
  return (
    <section
      class={isOver.value ? 'mail-writer over' : 'mail-writer'}
      role="dialog"
      aria-label={subject || texts.write}
      onKeyDown={event => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault()
          void submit()
        } else if (event.key === 'Escape' && !event.defaultPrevented) {
          event.preventDefault()
          void saveAndClose(letter)
        }
      }}
      onDragOver={event => {
        if (event.dataTransfer?.types.includes('Files') !== true) return
        event.preventDefault()
        isOver.value = true
      }}
      onDragLeave={() => {
        isOver.value = false
      }}
      onDrop={event => {
        isOver.value = false
        const files = [...(event.dataTransfer?.files ?? [])]
        // Text that is dragged is for the field it is dropped on.
        if (files.length === 0) return
        event.preventDefault()
        take(letter, files)
      }}
    >
      <header>
        <h2>
          <bdi>{subject || texts.write}</bdi>
        </h2>
        <State letter={letter} />
        <button
          type="button"
          class="plain"
          aria-label={texts.saveAndClose}
          title={texts.saveAndClose}
          onClick={() => void saveAndClose(letter)}
        >
          <Icon name="close" />
        </button>
      </header>
      <div class="mail-fields">
        {identities.value.length > 1 && (
          <div class="mail-field">
            <label for={`${id}-from`}>{texts.from}</label>
            <select
              id={`${id}-from`}
              value={from}
              onChange={event => {
                const next = event.currentTarget.value
                letter.flush()
                change(letter, {
                  from: next,
                  ...withSignature(letter.fields.value, identityOf(from), identityOf(next)),
                })
                fresh.value += 1
              }}
            >
              {identities.value.map(one => (
                <option key={one.id} value={one.address}>
                  {one.name === '' ? one.address : `${one.name} <${one.address}>`}
                </option>
              ))}
            </select>
          </div>
        )}
        <PeopleField id={`${id}-to`} label={texts.to} value={to} onChange={value => change(letter, { to: value })} />
        {hasMore.value ? (
          <>
            <PeopleField
              id={`${id}-cc`}
              label={texts.cc}
              value={cc}
              onChange={value => change(letter, { cc: value })}
            />
            <PeopleField
              id={`${id}-bcc`}
              label={texts.bcc}
              value={bcc}
              onChange={value => change(letter, { bcc: value })}
            />
          </>
        ) : (
          <button
            type="button"
            class="link"
            onClick={() => {
              hasMore.value = true
            }}
          >
            {texts.addCc}
          </button>
        )}
        <div class="mail-field">
          <label for={`${id}-subject`}>{texts.subject}</label>
          <input
            id={`${id}-subject`}
            value={subject}
            dir="auto"
            maxLength={subjectMax}
            onInput={event => change(letter, { subject: event.currentTarget.value })}
          />
        </div>
      </div>
      {html === null ? (
        <Plain letter={letter} isFirst={isFirst} />
      ) : (
        <Rich key={fresh.value} letter={letter} isFirst={isFirst} />
      )}
      <Files letter={letter} />
      <div role="alert">
        {wrong.value !== '' && (
          <p class="failure">
            <bdi>{wrong.value}</bdi>
          </p>
        )}
      </div>
      <footer>
        <button type="button" class="primary" onClick={() => void submit()}>
          {later.value === '' ? texts.send : texts.sendLater}
        </button>
        <label class="mail-attach">
          <input
            type="file"
            multiple
            class="unseen"
            onChange={event => {
              take(letter, [...(event.currentTarget.files ?? [])])
              event.currentTarget.value = ''
            }}
          />
          <Icon name="upload" />
          <span class="word">{texts.attach}</span>
        </label>
        <Later at={later} isOpen={isLater} />
        <span class="gap" />
        <button type="button" class="link" onClick={() => void turn(letter)}>
          {html === null ? texts.withForm : texts.withoutForm}
        </button>
        <button
          type="button"
          class="plain"
          aria-label={texts.discard}
          title={texts.discard}
          onClick={() => void drop()}
        >
          <Icon name="trash" />
        </button>
      </footer>
      {isOver.value && (
        <p class="mail-drop" aria-hidden="true">
          {texts.dropHere}
        </p>
      )}
    </section>
  )
}

/** The moment at which it is to go, for who wants another one than now. */
function Later({ at, isOpen }: { readonly at: Signal<string>; readonly isOpen: Signal<boolean> }) {
  const texts = mailTexts.value
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isOpen.value) field.current?.focus()
  }, [isOpen.value])
  return (
    <div class="mail-later">
      <button
        type="button"
        class="plain"
        title={texts.chooseTime}
        aria-label={texts.chooseTime}
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value
          at.value = ''
        }}
      >
        <Icon name="clock" />
      </button>
      {isOpen.value && (
        <input
          ref={field}
          type="datetime-local"
          aria-label={texts.sendAt}
          min={nowText()}
          value={at.value}
          onInput={event => {
            at.value = event.currentTarget.value
          }}
        />
      )}
    </div>
  )
}

/** Now, as fields for a moment have it. */
function nowText(): string {
  const now = new Date()
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

interface BodyProps {
  readonly letter: Letter
  readonly isFirst: boolean
}

function Plain({ letter, isFirst }: BodyProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    field.current?.setSelectionRange(0, 0)
    if (isFirst) field.current?.focus()
  }, [])
  return (
    <textarea
      ref={field}
      class="mail-text-field"
      aria-label={mailTexts.value.body}
      dir="auto"
      value={letter.fields.value.text}
      onInput={event => change(letter, { text: event.currentTarget.value })}
      onPaste={event => {
        const files = [...(event.clipboardData?.files ?? [])]
        if (files.length === 0) return
        event.preventDefault()
        take(letter, files)
      }}
    />
  )
}

/** The editor, which is loaded when somebody needs it; where it cannot be, what was written is shown and kept. */
function Rich({ letter, isFirst }: BodyProps) {
  const [loaded, show] = useState<{ readonly Made: typeof Squire }>()
  useEffect(() => {
    import('squire-rte').then(
      found => show({ Made: found.default }),
      () => failed(new Refusal(0, 'Unreachable', '')),
    )
  }, [])
  return loaded === undefined ? (
    <div class="mail-text-field" role="status">
      {mailTexts.value.opening}
    </div>
  ) : (
    <Editor Made={loaded.Made} letter={letter} onFiles={files => take(letter, files)} isFirst={isFirst} />
  )
}

/** Goes on with form, or without. */
async function turn(letter: Letter): Promise<void> {
  const texts = mailTexts.value
  letter.flush()
  const { html, text } = letter.fields.value
  if (html === null) change(letter, { html: htmlOf(text), text: '' })
  else {
    const hasForm = /<(?!\/|div|br|p[ >]|blockquote)/.test(html)
    const question = { title: texts.loseForm, text: texts.loseFormText, action: texts.withoutForm, danger: true }
    if (hasForm && !(await ask(question))) return
    letter.flush()
    change(letter, { html: null, text: textOf(letter.fields.value.html ?? '') })
  }
  rememberRich(html === null)
}

function State({ letter }: { readonly letter: Letter }) {
  const texts = mailTexts.value
  const kept = letter.kept.value
  const said = {
    same: letter.draft === null ? '' : texts.saved,
    changed: texts.notSaved,
    saving: texts.saving,
    here: letter.refused.value === '' ? texts.keptHere : texts.keptFor(letter.refused.value),
  }
  return (
    <span class="hint" role="status">
      {said[kept]}
    </span>
  )
}
