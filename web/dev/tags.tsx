// A line in which tags are written, with commas between them; set when it is sent, by Enter or the button.

import { useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import { baseTexts } from '../texts/texts.ts'

export function TagField({
  label,
  tags,
  set,
}: {
  readonly label: string
  readonly tags: readonly string[]
  set(tags: readonly string[]): Promise<unknown>
}) {
  const id = useId()
  const written = tags.join(', ')
  const text = useSignal(written)
  useEffect(() => {
    text.value = written
  }, [written])
  const send = (event: Event) => {
    event.preventDefault()
    void set(text.value.split(',').flatMap(tag => tag.trim() || []))
  }
  return (
    <form class="tag-field" onSubmit={send}>
      <label for={id}>{label}</label>
      <input id={id} value={text.value} onInput={event => (text.value = event.currentTarget.value)} />
      <button type="submit" disabled={text.value === written}>
        {baseTexts.value.save}
      </button>
    </form>
  )
}
