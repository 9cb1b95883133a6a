// Tells of new mail by the browser's own notices, where somebody wants that and looks at something else.
//
// What a browser allows it asks for itself; one that knows no notices, or was told no, is not asked again. Of a flood one notice is shown.

import { signal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { local } from '../base/browser.ts'
import { ask, type Lines } from './rest.ts'
import { devTexts } from './texts/texts.ts'

const kept = 'teal.dev.notify'
const isKnown = 'Notification' in window
const isWanted = signal(isKnown && local.get(kept) === 'yes' && Notification.permission === 'granted')
const isRefused = signal(isKnown && Notification.permission === 'denied')

async function want(wanted: boolean): Promise<void> {
  const granted = wanted && (await Notification.requestPermission()) === 'granted'
  isRefused.value = Notification.permission === 'denied'
  isWanted.value = granted
  local.set(kept, granted ? 'yes' : 'no')
}

/** Tells of the newest mail, unless the page is before somebody's eyes. */
export async function tellNewest(): Promise<void> {
  if (!isWanted.value || document.hasFocus()) return
  const { lines } = await ask<Lines>('GET', '/lines?limit=1')
  const [line] = lines
  if (line === undefined) return
  const { subject, envelope } = line
  const body = `${envelope.from || '<>'} → ${envelope.to.join(', ')}`
  const notice = new Notification(subject || devTexts.value.noSubject, { body, tag: 'teal-dev' })
  notice.onclick = () => {
    window.focus()
    notice.close()
  }
}

export function NotifyField() {
  const texts = devTexts.value
  const id = useId()
  if (!isKnown) return null
  return (
    <div class="field check">
      <input
        id={id}
        type="checkbox"
        checked={isWanted.value}
        disabled={isRefused.value}
        aria-describedby={`${id}-hint`}
        onChange={event => void want(event.currentTarget.checked)}
      />
      <div>
        <label for={id}>{texts.notify}</label>
        <p class="hint" id={`${id}-hint`}>
          {isRefused.value ? texts.notifyRefused : texts.notifyHint}
        </p>
      </div>
    </div>
  )
}
