// The key with which mail is encrypted before it is kept or sent on: given, shown by its fingerprint, taken away.
//
// Public keys and certificates alone: a private key that is given by mistake is refused here and leaves the browser for nowhere.

import { useSignal } from '@preact/signals'
import { call, Refusal, type Reply } from '../base/client.ts'
import { ask } from '../base/dialog.tsx'
import { CheckField, FieldErrors, Form, Submit, TextArea, useForm } from '../base/form.tsx'
import { done, failed } from '../base/notice.tsx'
import { Badge, Card, Fact, Facts, Loaded, Page, Told } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { owner } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { accountTexts } from './texts/texts.ts'

type Account = Reply<'GET /users/:user'>

interface Part {
  readonly account: Account
  onChanged(text: string): Promise<void>
}

const keyBytesMax = 64 * 1024

export function EncryptionPage() {
  const texts = accountTexts.value.encryption
  const account = useCall('GET /users/:user', { params: { user: owner().id } })
  const changed = async (text: string) => {
    await account.reload()
    done(text)
  }
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Loaded of={account}>
        {kept => {
          const part = { account: kept, onChanged: changed }
          const hasKey = kept.keyInfo !== false || kept.smimeCertInfo.length > 0
          return (
            <>
              {hasKey && <Present {...part} />}
              <Fresh {...part} hasKey={hasKey} />
              {hasKey && <Uses {...part} key={`${kept.encryptMessages} ${kept.encryptForwarded}`} />}
            </>
          )
        }}
      </Loaded>
    </Page>
  )
}

/** In fours, as people compare them. */
const grouped = (fingerprint: string) =>
  (fingerprint.replaceAll(/[^0-9a-f]/gi, '').match(/.{1,4}/g) ?? []).join(' ').toUpperCase()

function Present({ account, onChanged }: Part) {
  const texts = accountTexts.value.encryption
  const { keyInfo, smimeCertInfo } = account
  const remove = async () => {
    const asked = { title: texts.removeTitle, text: texts.removeText, action: baseTexts.value.remove, danger: true }
    if (!(await ask(asked))) return
    const body = { pubKey: '', smimeCerts: [], encryptMessages: false, encryptForwarded: false }
    await call('PUT /users/:user', { params: { user: owner().id }, body })
    await onChanged(texts.removed)
  }
  const button = (
    <button type="button" class="danger" onClick={() => void remove().catch(failed)}>
      {texts.remove}
    </button>
  )
  return (
    <Card title={texts.present} text={texts.presentText} actions={button}>
      {keyInfo !== false && (
        <Facts>
          <Fact name={texts.kind}>OpenPGP</Fact>
          {(keyInfo.name !== '' || keyInfo.address !== '') && (
            <Fact name={texts.whose}>
              <Told text={[keyInfo.name, keyInfo.address].filter(Boolean).join(' · ')} />
            </Fact>
          )}
          <Fact name={texts.fingerprint}>
            <code dir="ltr">{grouped(keyInfo.fingerprint)}</code>
          </Fact>
        </Facts>
      )}
      {smimeCertInfo.map(({ subject, fingerprint }) => (
        <Facts key={fingerprint}>
          <Fact name={texts.kind}>S/MIME</Fact>
          <Fact name={texts.whose}>
            <Told text={subject} />
          </Fact>
          <Fact name={texts.fingerprint}>
            <code dir="ltr">{grouped(fingerprint)}</code>
          </Fact>
        </Facts>
      ))}
    </Card>
  )
}

const certificates = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g

/** As the API takes what was pasted. @throws FieldErrors */
function keyOf(text: string): { pubKey: string } | { smimeCerts: string[] } {
  const { refused } = accountTexts.value.encryption
  if (text.trim() === '') throw new FieldErrors({ key: refused.none })
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY/.test(text)) throw new FieldErrors({ key: refused.secret })
  const smimeCerts = text.match(certificates)
  return smimeCerts === null ? { pubKey: text } : { smimeCerts: [...smimeCerts] }
}

function Fresh({ account, onChanged, hasKey }: Part & { readonly hasKey: boolean }) {
  const texts = accountTexts.value.encryption
  const isOver = useSignal(false)
  const form = useForm({ key: '' }, async ({ key }) => {
    const given = keyOf(key)
    // What a first key is for is what was asked for with it, and can be changed below.
    const uses = hasKey ? {} : { encryptMessages: true, encryptForwarded: account.encryptForwarded }
    try {
      await call('PUT /users/:user', { params: { user: owner().id }, body: { ...given, ...uses } })
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'InputValidationError') throw error
      throw new FieldErrors({ key: 'pubKey' in given ? texts.refused.key : texts.refused.certificate })
    }
    form.set({ key: '' })
    await onChanged(hasKey ? texts.replaced : texts.set)
  })
  const take = async (file: File | undefined) => {
    if (file === undefined) return
    if (file.size > keyBytesMax) form.errors.value = { key: texts.refused.large }
    else form.set({ key: await file.text() })
  }
  return (
    <Card title={hasKey ? texts.other : texts.give} text={hasKey ? undefined : texts.giveText}>
      <fieldset
        class={isOver.value ? 'drop over' : 'drop'}
        aria-label={texts.key}
        onDragOver={event => {
          event.preventDefault()
          isOver.value = true
        }}
        onDragLeave={() => {
          isOver.value = false
        }}
        onDrop={event => {
          isOver.value = false
          if (event.dataTransfer?.files.length === 0) return
          event.preventDefault()
          void take(event.dataTransfer?.files[0]).catch(failed)
        }}
      >
        <Form of={form} label={hasKey ? texts.other : texts.give}>
          <TextArea name="key" label={texts.key} hint={texts.keyHint} rows={6} isCode />
          <div class="field">
            <label for="key-file">{texts.file}</label>
            <input
              id="key-file"
              type="file"
              accept=".asc,.pgp,.gpg,.pem,.crt,.cer,.txt"
              onChange={event => void take(event.currentTarget.files?.[0]).catch(failed)}
            />
          </div>
          <Submit>{texts.save}</Submit>
        </Form>
      </fieldset>
    </Card>
  )
}

function Uses({ account: { encryptMessages, encryptForwarded }, onChanged }: Part) {
  const texts = accountTexts.value.encryption
  const form = useForm({ encryptMessages, encryptForwarded }, async body => {
    await call('PUT /users/:user', { params: { user: owner().id }, body })
    await onChanged(baseTexts.value.saved)
  })
  return (
    <Card title={texts.uses} text={texts.usesText}>
      <p class="what">
        <Badge kind={encryptMessages ? 'good' : 'warn'}>{encryptMessages ? texts.on : texts.off}</Badge>
      </p>
      <Form of={form} label={texts.uses}>
        <CheckField name="encryptMessages" label={texts.arriving} hint={texts.arrivingHint} />
        <CheckField name="encryptForwarded" label={texts.forwarded} hint={texts.forwardedHint} />
        <Submit>{baseTexts.value.save}</Submit>
      </Form>
    </Card>
  )
}
