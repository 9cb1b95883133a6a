// Questions in front of the page: a dialog of the browser's own, which keeps the focus inside and gives it back.
//
// `ask` waits for a yes. `withPassword` does something for which the service may want the password once more
// (`FreshLoginRequired`), and then asks for it; nothing keeps what was typed.

import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { baseTexts } from '../texts/texts.ts'
import { Refusal } from './client.ts'
import { FieldErrors, Form, Submit, TextField, useForm } from './form.tsx'
import { Icon } from './icon.tsx'
import { explain } from './notice.tsx'

export function Dialog({
  title,
  children,
  onClose,
  wide = false,
}: {
  readonly title: string
  readonly children: ComponentChildren
  onClose(): void
  readonly wide?: boolean
}) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  // In the step that takes the dialog away: later, the page would have looked for another place (focus.ts) and shown it meanwhile.
  useLayoutEffect(() => {
    const dialog = element.current
    const before = document.activeElement
    if (dialog?.open === false) dialog.showModal()
    // The browser gives the focus to the first button; a field that wants it (form.tsx) comes before.
    dialog?.querySelector<HTMLElement>('[data-met]')?.focus()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={element}
      class={wide ? 'wide' : undefined}
      aria-labelledby={id}
      onCancel={event => {
        event.preventDefault()
        onClose()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="plain" aria-label={baseTexts.value.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="body">{children}</div>
    </dialog>
  )
}

interface Question {
  readonly title: string
  readonly text: string
  /** What the button says that does it. */
  readonly action: string
  readonly danger?: boolean
}

interface Asked extends Question {
  answer(yes: boolean): void
}

const question = signal<Asked | null>(null)
const secret = signal<{ run(password: string): Promise<void>; cancel(): void } | null>(null)

/** Asks before something is done. */
export function ask(asked: Question): Promise<boolean> {
  return new Promise(resolve => {
    const answer = (yes: boolean) => {
      question.value = null
      resolve(yes)
    }
    question.value = { ...asked, answer }
  })
}

/** Somebody changed their mind: nothing is said. */
export class Cancelled extends Error {}

/**
 * Does `run`, with the password where the service wants it once more.
 *
 * @throws Cancelled, and what `run` throws
 */
export async function withPassword<T>(run: (more: { existingPassword?: string }) => Promise<T>): Promise<T> {
  try {
    return await run({})
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'FreshLoginRequired') throw error
  }
  return new Promise((resolve, reject) => {
    const close = () => {
      secret.value = null
    }
    secret.value = {
      async run(password) {
        try {
          const result = await run({ existingPassword: password })
          close()
          resolve(result)
        } catch (error) {
          if (error instanceof Refusal && error.code === 'AuthFail') throw new FieldErrors({ password: explain(error) })
          close()
          reject(error)
        }
      },
      cancel() {
        close()
        reject(new Cancelled())
      },
    }
  })
}

/** Where both are shown; once on the page. */
export function Questions() {
  const asked = question.value
  return (
    <>
      {asked !== null && (
        <Dialog title={asked.title} onClose={() => asked.answer(false)}>
          <p>{asked.text}</p>
          <div class="actions">
            <button
              type="button"
              class={asked.danger === true ? 'primary danger' : 'primary'}
              onClick={() => asked.answer(true)}
            >
              {asked.action}
            </button>
            <button type="button" onClick={() => asked.answer(false)}>
              {baseTexts.value.cancel}
            </button>
          </div>
        </Dialog>
      )}
      {secret.value !== null && <PasswordDialog />}
    </>
  )
}

function PasswordDialog() {
  const texts = baseTexts.value
  const form = useForm({ password: '' }, async ({ password }) => secret.value?.run(password))
  return (
    <Dialog title={texts.confirmTitle} onClose={() => secret.value?.cancel()}>
      <p>{texts.confirmText}</p>
      <Form of={form}>
        <TextField name="password" label={texts.password} kind="password" autocomplete="current-password" autofocus />
        <Submit>{texts.confirm}</Submit>
      </Form>
    </Dialog>
  )
}
