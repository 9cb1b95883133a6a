// What is done at once by a button: it is said how it went; and what is shown this once, to be copied.

import { Dialog } from '../../base/dialog.tsx'
import { done, failed } from '../../base/notice.tsx'
import { baseTexts } from '../../texts/texts.ts'

/** Does something and says how it went; `after` follows where it went well. */
export async function act(task: () => Promise<unknown>, said: string, after?: () => unknown): Promise<void> {
  try {
    await task()
    done(said)
    await after?.()
  } catch (error) {
    failed(error)
  }
}

export function Shown({
  title,
  hint,
  text,
  onClose,
}: {
  readonly title: string
  readonly hint: string
  readonly text: string
  onClose(): void
}) {
  const texts = baseTexts.value
  const copy = () => void act(() => navigator.clipboard.writeText(text), texts.copied)
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{hint}</p>
      <output class="once">{text}</output>
      <div class="actions">
        <button type="button" class="primary" onClick={copy}>
          {texts.copy}
        </button>
        <button type="button" onClick={onClose}>
          {texts.close}
        </button>
      </div>
    </Dialog>
  )
}
