// The way in: a name and a password, then a second factor where one is on; or an access token that an operator was given.
//
// The service says what comes next (`pending`). What was typed is in the form alone and gone when it is.

import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { baseTexts } from '../texts/texts.ts'
import { call } from './client.ts'
import { CheckField, Form, Submit, TextField, useForm } from './form.tsx'
import { Icon, Sign } from './icon.tsx'
import { KeyStep } from './key-step.tsx'
import { failed } from './notice.tsx'
import { Preferences } from './preferences.tsx'
import { askPasskey } from './security-key.ts'
import { begin, isEnded, type Pending } from './session.ts'

/** @param onTyping the first sign of somebody who signs in */
export function SignIn({ onTyping }: { onTyping(): void }) {
  const texts = baseTexts.value
  const pending = useSignal<Pending | null>(null)
  const way = useSignal<'password' | 'token'>('password')
  const isTyping = useRef(false)
  const typed = () => {
    if (!isTyping.current) onTyping()
    isTyping.current = true
  }
  useEffect(() => {
    document.title = `${texts.signIn} · Teal`
  }, [texts])
  return (
    <main id="main" class="sign-in" tabIndex={-1} onInput={typed}>
      <div class="card">
        <Sign size={48} />
        <h1>{texts.signInTitle}</h1>
        {navigator.cookieEnabled === false ? (
          <p class="failure" role="alert">
            {texts.cookies}
          </p>
        ) : (
          isEnded.value && <p role="status">{texts.ended}</p>
        )}
        {pending.value !== null ? (
          <SecondFactor
            pending={pending.value}
            onBack={() => {
              pending.value = null
            }}
          />
        ) : way.value === 'password' ? (
          <PasswordStep
            onPending={next => {
              pending.value = next
            }}
          />
        ) : (
          <TokenStep />
        )}
        {pending.value === null && (
          <button
            type="button"
            class="link"
            onClick={() => {
              way.value = way.value === 'password' ? 'token' : 'password'
            }}
          >
            {way.value === 'password' ? texts.useToken : texts.usePassword}
          </button>
        )}
      </div>
      <Preferences />
    </main>
  )
}

function PasswordStep({ onPending }: { onPending(pending: Pending): void }) {
  const texts = baseTexts.value
  const form = useForm(typedEarly(), async body => {
    const entered = await call('POST /session', { body })
    if (entered.pending === undefined) begin(entered, body.keep)
    else onPending({ login: entered.pending, keep: body.keep })
  })
  const isBusy = useSignal(false)
  const show = async () => {
    if (isBusy.value) return
    isBusy.value = true
    try {
      const entered = await askPasskey(form.values.value.keep)
      if (entered !== null) begin(entered, form.values.value.keep)
    } catch (error) {
      failed(error)
    } finally {
      isBusy.value = false
    }
  }
  const passkey = 'PublicKeyCredential' in window && (
    <button type="button" aria-disabled={isBusy.value} onClick={() => void show()}>
      <Icon name="key" />
      {texts.enterPasskey}
    </button>
  )
  return (
    <Form of={form} label={texts.signIn}>
      <TextField name="username" label={texts.username} autocomplete="username" isCode autofocus />
      <TextField name="password" label={texts.password} kind="password" autocomplete="current-password" />
      <CheckField name="keep" label={texts.keep} hint={texts.keepHint} />
      <Submit more={passkey}>{texts.signIn}</Submit>
      <Help question={texts.forgot} answer={texts.forgotText} />
    </Form>
  )
}

/** What stands in the form that came with the page (early.tsx), before it is ours. */
function typedEarly(): { username: string; password: string; keep: boolean } {
  const field = (name: string) => document.querySelector<HTMLInputElement>(`.sign-in [name=${name}]`)
  const [username, password] = ['username', 'password'].map(name => field(name)?.value ?? '')
  return { username: username ?? '', password: password ?? '', keep: field('keep')?.checked === true }
}

/** What to do for whoever cannot go on: nobody but an operator can help, so there is nothing to send. */
function Help({ question, answer }: { readonly question: string; readonly answer: string }) {
  return (
    <details class="help">
      <summary>{question}</summary>
      <p class="hint">{answer}</p>
    </details>
  )
}

function TokenStep() {
  const texts = baseTexts.value
  const form = useForm({ accessToken: '' }, async body => begin(await call('POST /session', { body })))
  return (
    <Form of={form} label={texts.signIn}>
      <TextField
        name="accessToken"
        label={texts.token}
        hint={texts.tokenHint}
        kind="password"
        autocomplete="off"
        isCode
        autofocus
      />
      <Submit>{texts.signIn}</Submit>
    </Form>
  )
}

function SecondFactor({ pending, onBack }: { readonly pending: Pending; onBack(): void }) {
  const texts = baseTexts.value
  const { factors } = pending.login
  const way = useSignal(factors.includes('webauthn') ? 'webauthn' : 'totp')
  return (
    <>
      {way.value === 'webauthn' ? <KeyStep pending={pending} /> : <CodeStep pending={pending} />}
      {factors.includes('webauthn') && factors.includes('totp') && (
        <button
          type="button"
          class="link"
          onClick={() => {
            way.value = way.value === 'totp' ? 'webauthn' : 'totp'
          }}
        >
          {way.value === 'totp' ? texts.useKey : texts.useCode}
        </button>
      )}
      <Help question={texts.lostFactor} answer={texts.lostFactorText} />
      <button type="button" class="link" onClick={onBack}>
        {texts.back}
      </button>
    </>
  )
}

function CodeStep({ pending: { login, keep } }: { readonly pending: Pending }) {
  const texts = baseTexts.value
  const form = useForm({ code: '' }, async ({ code }) => {
    const { user, nonce } = login
    const body = { user, nonce, keep, code: code.replaceAll(/\D/g, '') }
    begin(await call('POST /session/totp', { body }), keep)
  })
  return (
    <Form of={form} label={texts.signIn}>
      <TextField
        name="code"
        label={texts.code}
        hint={texts.codeHint}
        inputMode="numeric"
        autocomplete="one-time-code"
        maxLength={8}
        isCode
        autofocus
      />
      <Submit>{texts.signIn}</Submit>
    </Form>
  )
}
