// Files of a letter, and what is done to each: those that go along from the message that is sent on, those that are there, and those on
// their way, with how far they are.
//
// It shows and removes; bringing them is upload.ts.

import { Icon } from '../../base/icon.tsx'
import { bytes, percent } from '../../base/language.ts'
import { shownName } from '../../base/names.ts'
import { mailTexts } from '../texts/texts.ts'
import type { Letter, LetterFile } from './letter.ts'
import { change } from './writing.ts'

export function Files({ letter }: { readonly letter: Letter }) {
  const texts = mailTexts.value
  const { files, carried } = letter.fields.value
  const uploads = letter.uploads.value
  if (files.length === 0 && carried.length === 0 && uploads.length === 0) return null
  return (
    <ul class="mail-files" aria-label={texts.attachments}>
      {carried.map(file => (
        <Attached
          key={`carried ${file.id}`}
          file={file}
          remove={() => change(letter, { carried: carried.filter(one => one !== file) })}
        />
      ))}
      {files.map(file => (
        <Attached
          key={file.id}
          file={file}
          remove={() => change(letter, { files: files.filter(one => one !== file) })}
        />
      ))}
      {uploads.map(({ id, file: { name }, part, isKept, control }) => (
        <li key={id}>
          <span>{texts.uploading(shownName(name))}</span>{' '}
          <progress value={part} max={1} aria-label={texts.uploading(shownName(name))} />{' '}
          <span class="hint">{percent(part)}</span>
          <button
            type="button"
            class="plain"
            aria-label={texts.removeFile(shownName(name))}
            onClick={() => {
              letter.uploads.value = letter.uploads.value.filter(one => one.control !== control)
              control.abort()
            }}
          >
            <Icon name="close" />
          </button>
          {isKept === false && <p class="failure">{texts.noRoomHere}</p>}
        </li>
      ))}
    </ul>
  )
}

function Attached({ file: { name, size }, remove }: { readonly file: LetterFile; remove(): void }) {
  return (
    <li>
      <bdi>{shownName(name)}</bdi> <span class="hint">{bytes(size)}</span>
      <button type="button" class="plain" aria-label={mailTexts.value.removeFile(shownName(name))} onClick={remove}>
        <Icon name="close" />
      </button>
    </li>
  )
}
