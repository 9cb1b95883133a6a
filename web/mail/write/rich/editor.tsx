// Where a letter is written with form: bold, lists, links, quotes, a few colours, pictures. What edits is loaded when somebody writes so.
//
// Everything that comes in (what was kept, quoted, pasted, dropped) goes through safe.ts; nothing else is put into the page.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type Squire from 'squire-rte'
import { failed } from '../../../base/notice.tsx'
import { mailTexts } from '../../texts/texts.ts'
import type { Letter } from '../letter.ts'
import { change } from '../writing.ts'
import { pictureOf, richMax } from './pictures.ts'
import { safeFragment } from './safe.ts'
import { Toolbar } from './toolbar.tsx'

/** What is long is not read out of the page with each key. */
const shortMax = 50_000
const waitMs = 400

export function Editor({
  Made,
  letter,
  onFiles,
  isFirst,
}: {
  readonly Made: typeof Squire
  readonly letter: Letter
  /** Files that are no pictures, or too large for the text. */
  onFiles(files: readonly File[]): void
  /** Whether it is where one begins. */
  readonly isFirst: boolean
}) {
  const root = useRef<HTMLDivElement>(null)
  const editor = useSignal<Squire | null>(null)
  useEffect(() => {
    const element = root.current
    if (element === null) return
    const made = new Made(element, {
      sanitizeToDOMFragment: safeFragment,
      addLinks: true,
      didError: failed,
      tagAttributes: {},
    })
    // Its handles for sizes are made with styles that the page's policy refuses.
    made._imageResizer.destroy()
    // Tab leads on, as everywhere; Ctrl and brackets move items of a list.
    made.setKeyHandler('Tab', null).setKeyHandler('Shift-Tab', null)
    made.setHTML(letter.fields.value.html ?? '')
    const { stop } = watch(made, letter)
    made.addEventListener('pasteImage', event => {
      const { clipboardData } = (event as CustomEvent<{ clipboardData: DataTransfer }>).detail
      void put(made, [...clipboardData.files], onFiles).catch(failed)
    })
    made.moveCursorToStart()
    if (isFirst) made.focus()
    editor.value = made
    return () => {
      stop()
      editor.value = null
      made.destroy()
    }
  }, [])
  return (
    <>
      <Toolbar editor={editor.value} />
      <div class="mail-paper">
        {/* biome-ignore lint/a11y/useSemanticElements: no other element takes text with form */}
        <div
          ref={root}
          class="mail-rich"
          role="textbox"
          tabIndex={0}
          aria-multiline="true"
          aria-label={mailTexts.value.body}
          dir="auto"
          onDrop={event => {
            const files = [...(event.dataTransfer?.files ?? [])]
            if (files.length === 0 || editor.value === null) return
            event.preventDefault()
            event.stopPropagation()
            void put(editor.value, files, onFiles).catch(failed)
          }}
        />
      </div>
    </>
  )
}

/** Tells the letter of every change. */
function watch(made: Squire, letter: Letter): { stop(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  // What the editor makes of what it was given is no change.
  let last = made.getHTML()
  const tell = () => {
    clearTimeout(timer)
    timer = undefined
    const html = made.getHTML()
    if (html === last) return
    last = html
    change(letter, { html })
  }
  const flush = () => {
    if (timer !== undefined) tell()
  }
  made.addEventListener('input', () => {
    if ((letter.fields.value.html ?? '').length < shortMax) tell()
    else timer ??= setTimeout(tell, waitMs)
  })
  letter.flush = flush
  addEventListener('pagehide', flush)
  return {
    stop() {
      flush()
      letter.flush = () => {}
      removeEventListener('pagehide', flush)
    },
  }
}

/** Puts pictures into the text; what does not go there becomes a file. */
async function put(made: Squire, files: readonly File[], onFiles: (files: readonly File[]) => void): Promise<void> {
  const beside: File[] = []
  for (const file of files) {
    const data = await pictureOf(file)
    if (data === undefined || made.getHTML().length + data.length > richMax) beside.push(file)
    else made.insertImage(data, { alt: file.name.replace(/\.\w+$/, '') })
  }
  if (beside.length > 0) onFiles(beside)
}
