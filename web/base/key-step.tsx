// Finishing a login with a security key or a passkey.

import { useSignal } from '@preact/signals'
import { baseTexts } from '../texts/texts.ts'
import { failed } from './notice.tsx'
import { askKey } from './security-key.ts'
import { begin, type Pending } from './session.ts'

export function KeyStep({ pending: { login, keep } }: { readonly pending: Pending }) {
  const texts = baseTexts.value
  const isBusy = useSignal(false)
  const show = async (attachment: 'platform' | 'cross-platform') => {
    isBusy.value = true
    try {
      const entered = await askKey(login, keep, attachment)
      if (entered !== null) begin(entered, keep)
    } catch (error) {
      failed(error)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <div class="form">
      <p>{texts.keyText}</p>
      <div class="actions column">
        <button type="button" class="primary" aria-disabled={isBusy.value} onClick={() => void show('cross-platform')}>
          {texts.showKey}
        </button>
        <button type="button" aria-disabled={isBusy.value} onClick={() => void show('platform')}>
          {texts.showPasskey}
        </button>
      </div>
    </div>
  )
}
