// The addresses of an account: which there are, which one stands in what is written, and what stands below it.
//
// An owner takes addresses in the domains the account is in already; every other one an operator gives. A signature is written as plain
// letters; its form for HTML is made from that.

import { useSignal } from '@preact/signals'
import { call, Refusal, type Reply } from '../base/client.ts'
import { ask, Dialog } from '../base/dialog.tsx'
import { FieldErrors, Form, SelectField, Submit, TextArea, TextField, useForm } from '../base/form.tsx'
import { Icon } from '../base/icon.tsx'
import { done, failed } from '../base/notice.tsx'
import { Badge, Card, Empty, IconButton, Loaded, Page } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { may, owner, refreshSession } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { accountTexts } from './texts/texts.ts'

type Address = Reply<'GET /users/:user/addresses'>['results'][number]

export function AddressesPage() {
  const texts = accountTexts.value.addresses
  const addresses = useCall('GET /users/:user/addresses', { params: { user: owner().id } })
  const edited = useSignal<Address | 'new' | null>(null)
  const domains = [...new Set((addresses.data?.results ?? []).map(one => domainOf(one.address)))]
  const show = (address: Address | 'new' | null) => {
    edited.value = address
  }
  const changed = async (text: string) => {
    show(null)
    await Promise.all([addresses.reload(), refreshSession()])
    done(text)
  }
  const add = may('addresses.create') && domains.length > 0 && (
    <button type="button" class="primary" onClick={() => show('new')}>
      <Icon name="plus" />
      {texts.add}
    </button>
  )
  return (
    <Page title={texts.title} lead={texts.lead} actions={add}>
      <Card>
        <Loaded of={addresses}>
          {({ results }) =>
            results.length === 0 ? (
              <Empty icon="mail" title={texts.none}>
                <p>{texts.noneText}</p>
              </Empty>
            ) : (
              <ul class="lines">
                {results.map(one => (
                  <Line key={one.id} address={one} onChanged={changed} onEdit={() => show(one)} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </Card>
      {edited.value === 'new' && <AddDialog domains={domains} onClose={() => show(null)} onAdded={changed} />}
      {edited.value !== null && edited.value !== 'new' && (
        <EditDialog address={edited.value} onClose={() => show(null)} onSaved={changed} />
      )}
    </Page>
  )
}

const domainOf = (address: string) => address.slice(address.lastIndexOf('@') + 1)

interface LineProps {
  readonly address: Address
  onChanged(text: string): Promise<void>
  onEdit(): void
}

function Line({ address: { id, name, address, main, signature }, onChanged, onEdit }: LineProps) {
  const texts = accountTexts.value.addresses
  const params = { user: owner().id }
  const isPattern = address.includes('*')
  const makeMain = async () => {
    await call('PUT /users/:user/addresses/:address', { params: { ...params, address: id }, body: { main: true } })
    await onChanged(texts.mainNow(address))
  }
  const remove = async () => {
    const asked = { title: texts.removeTitle(address), text: texts.removeText, action: baseTexts.value.remove }
    if (!(await ask({ ...asked, danger: true }))) return
    await call('DELETE /users/:user/addresses/:address', { params: { ...params, address: id } })
    await onChanged(texts.removed)
  }
  return (
    <li>
      <span class="about grow">
        <span class="what">
          <strong>
            <bdi>{address}</bdi>
          </strong>
          {main && <Badge kind="good">{texts.main}</Badge>}
        </span>
        {name !== '' && (
          <span class="hint">
            <bdi>{name}</bdi>
          </span>
        )}
        {signature !== undefined && <span class="hint">{texts.hasSignature}</span>}
      </span>
      <span class="actions">
        {!main && !isPattern && may('addresses.update') && (
          <button
            type="button"
            aria-label={`${texts.makeMain}: ${address}`}
            onClick={() => void makeMain().catch(failed)}
          >
            {texts.makeMain}
          </button>
        )}
        {may('addresses.update') && (
          <IconButton icon="edit" label={`${baseTexts.value.edit}: ${address}`} onClick={onEdit} />
        )}
        {!main && may('addresses.delete') && (
          <IconButton
            icon="trash"
            label={`${baseTexts.value.remove}: ${address}`}
            onClick={() => void remove().catch(failed)}
          />
        )}
      </span>
    </li>
  )
}

/** What the service says against an address, where it is entered. */
async function saying(field: string, run: () => Promise<void>): Promise<void> {
  const { refused } = accountTexts.value.addresses
  try {
    await run()
  } catch (error) {
    const code = error instanceof Refusal ? error.code : ''
    const isForm = error instanceof Refusal && error.details.address !== undefined
    const text = isForm ? refused.form : refused[code as keyof typeof refused]
    if (text === undefined) throw error
    throw new FieldErrors({ [field]: text })
  }
}

interface AddProps {
  readonly domains: readonly string[]
  onClose(): void
  onAdded(text: string): Promise<void>
}

function AddDialog({ domains, onClose, onAdded }: AddProps) {
  const texts = accountTexts.value.addresses
  const form = useForm({ local: '', domain: domains[0] ?? '', name: '' }, async ({ local, domain, name }) => {
    const part = local.trim()
    if (part === '' || /[@*+\s]/.test(part)) throw new FieldErrors({ local: texts.refused.form })
    const address = `${part}@${domain}`
    await saying('local', async () => {
      await call('POST /users/:user/addresses', { params: { user: owner().id }, body: { address, name } })
      await onAdded(texts.added(address))
    })
  })
  return (
    <Dialog title={texts.add} onClose={onClose}>
      <Form of={form}>
        <TextField name="local" label={texts.local} hint={texts.localHint} isCode autofocus />
        <SelectField
          name="domain"
          label={texts.domain}
          options={Object.fromEntries(domains.map(domain => [domain, `@${domain}`]))}
        />
        <TextField name="name" label={texts.name} hint={texts.nameHint} />
        <Submit>{texts.add}</Submit>
      </Form>
    </Dialog>
  )
}

interface EditProps {
  readonly address: Address
  onClose(): void
  onSaved(text: string): Promise<void>
}

function EditDialog({ address: { id, address, name, signature }, onClose, onSaved }: EditProps) {
  const texts = accountTexts.value.addresses
  const { text = '', html = '' } = signature ?? {}
  const form = useForm({ name, signature: text }, async values => {
    // What was written elsewhere, with pictures perhaps, stays where nothing was changed here.
    const isSame = values.signature === text
    const written = { text: values.signature, html: htmlOf(values.signature) }
    const body = { name: values.name, ...(!isSame && { signature: written }) }
    await call('PUT /users/:user/addresses/:address', { params: { user: owner().id, address: id }, body })
    await onSaved(baseTexts.value.saved)
  })
  const isFormed = html !== '' && html !== htmlOf(text)
  return (
    <Dialog title={address} onClose={onClose}>
      <Form of={form}>
        <TextField name="name" label={texts.name} hint={texts.nameHint} autofocus />
        <TextArea
          name="signature"
          label={texts.signature}
          hint={isFormed ? texts.signatureFormed : texts.signatureHint}
          rows={6}
        />
        <Submit>{baseTexts.value.save}</Submit>
      </Form>
    </Dialog>
  )
}

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** The same letters, line by line, where HTML is written. */
function htmlOf(text: string): string {
  const safe = text.replaceAll(/[&<>"]/g, mark => marks[mark] ?? '')
  return safe.split(/\r?\n/).join('<br>')
}
