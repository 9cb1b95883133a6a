// One domain: what it holds, who looks after it, what DNS says of it, the keys that sign its mail, what others report, its limits and its aliases.
//
// Each part is a card of its own file. Closing a domain shuts people out, so it asks first and may say why.

import { useState } from 'preact/hooks'
import { call, type Reply } from '../../base/client.ts'
import { ask, Dialog } from '../../base/dialog.tsx'
import { Form, Submit, TextField, useForm } from '../../base/form.tsx'
import { bytes, moment, number } from '../../base/language.ts'
import { plainDomain, shownSigns } from '../../base/names.ts'
import { done } from '../../base/notice.tsx'
import { Badge, Card, Fact, Facts, Loaded, Page, Told } from '../../base/parts.tsx'
import { type Resource, useCall } from '../../base/resource.ts'
import { go, type Values } from '../../base/router.ts'
import { may } from '../../base/session.ts'
import { baseTexts } from '../../texts/texts.ts'
import { act } from '../kit/act.tsx'
import { adminTexts } from '../texts/texts.ts'
import { Admins } from './admins.tsx'
import { Aliases } from './aliases.tsx'
import { CatchAll } from './catch-all.tsx'
import { Defaults, Settings } from './limits.tsx'
import { DnsAndKeys } from './records.tsx'
import { Reported } from './reported.tsx'

type Domain = Reply<'GET /domains/:domain'>

/** What a card of a domain gets. */
export interface DomainPart {
  readonly domain: Domain
  readonly of: Resource<Domain>
}

export function DomainPage({ values }: { readonly values: Values }) {
  const name = values.domain ?? ''
  const of = useCall('GET /domains/:domain', { params: { domain: name } })
  return (
    <Loaded of={of} page={name}>
      {domain => (
        <Page title={domain.name} lead={<Lead domain={domain} />} actions={<Doings domain={domain} of={of} />}>
          <Holding domain={domain} />
          {may('domains.update', 'any') && <Admins domain={domain} of={of} />}
          {may('dkim.read', 'domain') && <DnsAndKeys domain={domain.name} />}
          {may('settings.read', 'any') && <Reported key={`reports ${domain.name}`} domain={domain.name} />}
          {may('domains.update', 'domain') && (
            <>
              <Settings key={`settings ${domain.name}`} domain={domain} of={of} />
              <CatchAll key={`catch-all ${domain.name}`} domain={domain} of={of} />
            </>
          )}
          {may('domains.update', 'any') && <Defaults key={`defaults ${domain.name}`} domain={domain} of={of} />}
          {may('domainaliases.read', 'domain') && <Aliases domain={domain.name} />}
        </Page>
      )}
    </Loaded>
  )
}

function Lead({ domain: { name, description } }: { readonly domain: Domain }) {
  const plain = plainDomain(name)
  return (
    <>
      {plain !== null && (
        <bdi class="code" dir="ltr">
          {plain}
        </bdi>
      )}
      {plain !== null && description !== '' && ' · '}
      <Told text={description} />
    </>
  )
}

function Doings({ domain, of }: DomainPart) {
  const { domains: texts } = adminTexts.value
  const [isClosing, setClosing] = useState(false)
  const { name, disabled } = domain
  const open = () =>
    act(
      () => call('PUT /domains/:domain', { params: { domain: name }, body: { disabled: false, disabledReason: '' } }),
      baseTexts.value.saved,
      of.reload,
    )
  const forget = async () => {
    const question = { title: texts.forget, text: texts.forgetAsk(name), action: texts.forget, danger: true }
    if (!(await ask(question))) return
    await act(
      () => call('DELETE /domains/:domain', { params: { domain: name } }),
      adminTexts.value.common.removed,
      () => go('/service/domains'),
    )
  }
  return (
    <>
      {may('domains.update', 'any') && (
        <button
          type="button"
          class={disabled ? 'primary' : 'danger'}
          onClick={() => (disabled ? void open() : setClosing(true))}
        >
          {disabled ? texts.reopen : texts.close}
        </button>
      )}
      {may('domains.delete', 'any') && domain.created !== false && (
        <button type="button" class="danger" onClick={() => void forget()}>
          {texts.forget}
        </button>
      )}
      {isClosing && <Closing domain={domain} of={of} onClose={() => setClosing(false)} />}
    </>
  )
}

function Closing({ domain: { name, disabledReason }, of, onClose }: DomainPart & { onClose(): void }) {
  const { domains: texts } = adminTexts.value
  const form = useForm({ disabledReason }, async fields => {
    await call('PUT /domains/:domain', { params: { domain: name }, body: { disabled: true, ...fields } })
    onClose()
    done(baseTexts.value.saved)
    await of.reload()
  })
  return (
    <Dialog title={texts.close} onClose={onClose}>
      <p>{texts.closeAsk(name)}</p>
      <Form of={form}>
        <TextField
          name="disabledReason"
          label={adminTexts.value.users.reason}
          hint={texts.reasonHint}
          autocomplete="off"
        />
        <Submit
          danger
          more={
            <button type="button" onClick={onClose}>
              {baseTexts.value.cancel}
            </button>
          }
        >
          {texts.close}
        </Submit>
      </Form>
    </Dialog>
  )
}

function Holding({ domain }: { readonly domain: Domain }) {
  const { domains: texts, common } = adminTexts.value
  const { users, addresses, forwards, storageUsed, quota, quotaGiven, disabled, disabledReason, created, tags } = domain
  return (
    <Card>
      <Facts>
        <Fact name={texts.users}>{number(users)}</Fact>
        <Fact name={texts.addresses}>{number(addresses)}</Fact>
        <Fact name={texts.forwards}>{number(forwards)}</Fact>
        <Fact name={texts.storage}>{bytes(storageUsed)}</Fact>
        <Fact name={texts.given}>
          {quota === 0 ? bytes(quotaGiven) : adminTexts.value.users.used(bytes(quotaGiven), bytes(quota))}
        </Fact>
        {created !== false && <Fact name={common.created}>{moment(created)}</Fact>}
        {tags.length > 0 && (
          <Fact name={texts.tags}>
            <span class="badges">
              {tags.map(tag => (
                <Badge key={tag}>{shownSigns(tag)}</Badge>
              ))}
            </span>
          </Fact>
        )}
        {disabled && (
          <Fact name={texts.disabled}>
            <Badge kind="bad">{disabledReason === '' ? texts.disabled : shownSigns(disabledReason)}</Badge>
          </Fact>
        )}
      </Facts>
    </Card>
  )
}
