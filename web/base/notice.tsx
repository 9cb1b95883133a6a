// What the page says by itself: short notices that go away, and why something was refused in the language that is shown.
//
// Notices stand in a live region, so that they are read out; an error stays until it is closed.

import { signal } from '@preact/signals'
import { baseTexts } from '../texts/texts.ts'
import { Refusal } from './client.ts'
import { Icon } from './icon.tsx'
import { wrongText } from './wrong.ts'

interface Notice {
  readonly id: number
  readonly kind: 'done' | 'failed'
  readonly text: string
}

const notices = signal<readonly Notice[]>([])
const shownMs = 5000
let last = 0

function add(kind: Notice['kind'], text: string): void {
  last += 1
  const id = last
  notices.value = [...notices.value.slice(-2), { id, kind, text }]
  if (kind === 'done') setTimeout(() => close(id), shownMs)
}

function close(id: number): void {
  notices.value = notices.value.filter(one => one.id !== id)
}

/** Says that something was done. */
export function done(text: string): void {
  add('done', text)
}

/** Says that something failed, and why. */
export function failed(error: unknown): void {
  add('failed', explain(error))
}

/** Why something failed, for people. */
export function explain(error: unknown): string {
  const { faults } = baseTexts.value
  if (!(error instanceof Refusal)) return faults.InternalError
  const known = Object.hasOwn(faults, error.code) ? faults[error.code as keyof typeof faults] : undefined
  const [detail] = Object.entries(error.details)
  if (known !== undefined) return known
  if (detail !== undefined) return `${wrongText(detail[1])} (${detail[0]})`
  // What no service said is in the language of the page.
  return error.status === 0 ? error.message : baseTexts.value.wrong.other(error.message)
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, kind, text }) => (
        <div key={id} class={`notice ${kind}`}>
          <Icon name={kind === 'done' ? 'check' : 'alert'} />
          <span>{text}</span>
          <button type="button" class="plain" aria-label={baseTexts.value.close} onClick={() => close(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  )
}
