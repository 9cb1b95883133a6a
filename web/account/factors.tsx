// Second factors: an authenticator with its QR code, security keys and passkeys.
//
// What would lock the owner out or let a stranger stay is asked for with the password where the sign-in was a while ago.

import { useSignal } from '@preact/signals'
import { call, type Reply } from '../base/client.ts'
import { ask, Cancelled, Dialog, withPassword } from '../base/dialog.tsx'
import { Form, SelectField, Submit, TextField, useForm } from '../base/form.tsx'
import { done, failed } from '../base/notice.tsx'
import { Badge, Card, Empty, IconButton, Loaded, Page } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { registerKey } from '../base/security-key.ts'
import { owner, refreshSession } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { accountTexts } from './texts/texts.ts'

type Setup = Reply<'POST /users/:user/2fa/totp/setup'>

/** Somebody who changed their mind is told nothing. */
function unlessCancelled(error: unknown): void {
  if (!(error instanceof Cancelled)) failed(error)
}

export function FactorsPage() {
  const texts = accountTexts.value.factors
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Authenticator />
      <Keys />
    </Page>
  )
}

function Authenticator() {
  const texts = accountTexts.value.factors
  const setup = useSignal<Setup | null>(null)
  const params = { user: owner().id }
  const isOn = owner().factors.includes('totp')
  const begin = async () => {
    setup.value = await withPassword(body => call('POST /users/:user/2fa/totp/setup', { params, body }))
  }
  const end = async () => {
    const asked = { title: `${texts.turnOff}?`, text: texts.turnOffText, action: texts.turnOff, danger: true }
    if (!(await ask(asked))) return
    await withPassword(body => call('DELETE /users/:user/2fa/totp', { params, body }))
    await refreshSession()
    done(texts.turnedOff)
  }
  return (
    <Card
      title={texts.code}
      text={texts.codeText}
      actions={
        <>
          <Badge kind={isOn ? 'good' : 'plain'}>{isOn ? texts.on : texts.off}</Badge>
          <button type="button" onClick={() => void (isOn ? end() : begin()).catch(unlessCancelled)}>
            {isOn ? texts.turnOff : texts.setUp}
          </button>
        </>
      }
    >
      {setup.value !== null && (
        <SetupDialog
          setup={setup.value}
          onClose={() => {
            setup.value = null
          }}
        />
      )}
    </Card>
  )
}

function SetupDialog({ setup, onClose }: { readonly setup: Setup; onClose(): void }) {
  const texts = accountTexts.value.factors
  const form = useForm({ token: '' }, async ({ token }) => {
    const body = { token: token.replaceAll(/\D/g, '') }
    await call('POST /users/:user/2fa/totp/enable', { params: { user: owner().id }, body })
    await refreshSession()
    onClose()
    done(texts.turnedOn)
  })
  return (
    <Dialog title={texts.code} onClose={onClose}>
      <p>{texts.scan}</p>
      <img class="qr" src={setup.qrcode} alt={texts.picture} />
      <p class="hint">
        {texts.seed}:{' '}
        <code dir="ltr" class="secret">
          {setup.seed.replaceAll(/(.{4})(?=.)/g, '$1 ')}
        </code>
      </p>
      <Form of={form}>
        <TextField name="token" label={texts.shown} inputMode="numeric" autocomplete="one-time-code" isCode autofocus />
        <Submit>{texts.turnOn}</Submit>
      </Form>
    </Dialog>
  )
}

function Keys() {
  const texts = accountTexts.value.factors
  const isAdding = useSignal(false)
  const params = { user: owner().id }
  const keys = useCall('GET /users/:user/2fa/webauthn/credentials', { params })
  const changed = async (text: string) => {
    await refreshSession()
    await keys.reload()
    done(text)
  }
  const remove = async (credential: string, name: string) => {
    const asked = {
      title: texts.removeTitle(name),
      text: texts.removeText,
      action: baseTexts.value.remove,
      danger: true,
    }
    if (!(await ask(asked))) return
    const name_ = 'DELETE /users/:user/2fa/webauthn/credentials/:credential'
    await withPassword(body => call(name_, { params: { ...params, credential }, body }))
    await changed(texts.removed)
  }
  const add = (
    <button
      type="button"
      onClick={() => {
        isAdding.value = true
      }}
    >
      {texts.add}
    </button>
  )
  return (
    <Card title={texts.keys} text={texts.keysText} actions={add}>
      <Loaded of={keys}>
        {({ credentials }) =>
          credentials.length === 0 ? (
            <Empty icon="key" title={texts.none} />
          ) : (
            <ul class="lines">
              {credentials.map(({ id, description, authenticatorAttachment }) => (
                <li key={id}>
                  <span class="about">
                    <strong>{description}</strong>
                    <span class="hint">
                      {texts.kinds[authenticatorAttachment === 'platform' ? 'platform' : 'cross-platform']}
                    </span>
                  </span>
                  <IconButton
                    icon="trash"
                    label={`${baseTexts.value.remove}: ${description}`}
                    onClick={() => void remove(id, description).catch(unlessCancelled)}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {isAdding.value && (
        <KeyDialog
          onClose={() => {
            isAdding.value = false
          }}
          onRegistered={() => void changed(texts.registered).catch(failed)}
        />
      )}
    </Card>
  )
}

function KeyDialog({ onClose, onRegistered }: { onClose(): void; onRegistered(): void }) {
  const texts = accountTexts.value.factors
  const initial = { description: '', authenticatorAttachment: 'cross-platform' as 'cross-platform' | 'platform' }
  const form = useForm(initial, async values => {
    const isThere = await withPassword(more => registerKey(owner().id, { ...values, ...more }))
    if (!isThere) throw new Error(texts.cancelled)
    onClose()
    onRegistered()
  })
  return (
    <Dialog title={texts.add} onClose={onClose}>
      <Form of={form}>
        <TextField name="description" label={texts.name} hint={texts.nameHint} autofocus />
        <SelectField name="authenticatorAttachment" label={texts.kind} hint={texts.kindHint} options={texts.kinds} />
        <Submit>{texts.register}</Submit>
      </Form>
    </Dialog>
  )
}
