// The window in which a letter is written: whom it is for, what it says, files. It stays open beside the list while one looks
// something up; on a phone it takes the whole screen.
//
// It keeps nothing itself: every key is a change of the letter (letter.ts), which is saved as one types.

import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { ask } from '../../base/dialog.tsx'
import { Icon } from '../../base/icon.tsx'
import { bytes, percent } from '../../base/language.ts'
import { failed } from '../../base/notice.tsx'
import { mailTexts } from '../texts/texts.ts'
import type { Letter } from './letter.ts'
import { PeopleField } from './people-field.tsx'
import { attach } from './upload.ts'
import { change, discard, identities, letters, saveAndClose, send } from './writing.ts'

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
  const isOver = useSignal(false)
  const body = useRef<HTMLTextAreaElement>(null)
  const id = useId()
  const { subject, text, to, cc, bcc, from } = letter.fields.value
  useEffect(() => {
    const field = to === '' ? document.getElementById(`${id}-to`) : body.current
    field?.focus()
    body.current?.setSelectionRange(0, 0)
  }, [])
  const submit = async () => {
    const at = later.value === '' ? 0 : new Date(later.value).getTime()
    wrong.value = (await send(letter, at)) ?? ''
  }
  const drop = async () => {
    const isEmpty = text.trim() === '' && to === '' && subject === '' && letter.draft === null
    const question = {
      title: texts.confirmDiscard,
      text: texts.confirmDiscardText,
      action: texts.discard,
      danger: true,
    }
    if (isEmpty || (await ask(question))) await discard(letter)
  }
  const take = (files: readonly File[]) => {
    const add = (file: Letter['fields']['value']['files'][number]) =>
      change(letter, { files: [...letter.fields.value.files, file] })
    attach(letter, files, add).catch(failed)
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
        event.preventDefault()
        isOver.value = false
        take([...(event.dataTransfer?.files ?? [])])
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
              onChange={event => change(letter, { from: event.currentTarget.value })}
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
            maxLength={2000}
            onInput={event => change(letter, { subject: event.currentTarget.value })}
          />
        </div>
      </div>
      <textarea
        ref={body}
        class="mail-text-field"
        aria-label={texts.body}
        dir="auto"
        value={text}
        onInput={event => change(letter, { text: event.currentTarget.value })}
        onPaste={event => {
          const files = [...(event.clipboardData?.files ?? [])]
          if (files.length === 0) return
          event.preventDefault()
          take(files)
        }}
      />
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
              take([...(event.currentTarget.files ?? [])])
              event.currentTarget.value = ''
            }}
          />
          <Icon name="upload" />
          <span>{texts.attach}</span>
        </label>
        <label class="mail-later">
          <span>{texts.sendLater}</span>
          <input
            type="datetime-local"
            value={later.value}
            onInput={event => {
              later.value = event.currentTarget.value
            }}
          />
        </label>
        <span class="gap" />
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

function State({ letter }: { readonly letter: Letter }) {
  const texts = mailTexts.value
  const kept = letter.kept.value
  const said = {
    same: letter.draft === null ? '' : texts.saved,
    changed: texts.notSaved,
    saving: texts.saving,
    here: texts.keptHere,
  }
  return (
    <span class="hint" role="status">
      {said[kept]}
    </span>
  )
}

function Files({ letter }: { readonly letter: Letter }) {
  const texts = mailTexts.value
  const { files } = letter.fields.value
  const uploads = letter.uploads.value
  if (files.length === 0 && uploads.length === 0) return null
  return (
    <ul class="mail-files" aria-label={texts.attachments}>
      {files.map(file => (
        <li key={file.id}>
          <bdi>{file.name}</bdi> <span class="hint">{bytes(file.size)}</span>
          <button
            type="button"
            class="plain"
            aria-label={texts.removeFile(file.name)}
            onClick={() => change(letter, { files: files.filter(one => one !== file) })}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
      {uploads.map(({ name, part }) => (
        <li key={name}>
          <span>{texts.uploading(name)}</span> <progress value={part} max={1} aria-label={texts.uploading(name)} />{' '}
          <span class="hint">{percent(part)}</span>
        </li>
      ))}
    </ul>
  )
}
