// One user: how the account does, its limits, addresses and forwarding, what happened around its logins, and what is done to it.
// What shuts somebody out asks first and takes effect at once. What helps somebody back in is in recovery.tsx; fields that were not changed are not
// sent, so that what the service gives everybody stays so.

import { useSignal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { call, type Reply } from '../base/client.ts'
import { ask } from '../base/dialog.tsx'
import { Form, Submit, TextArea, TextField, useForm } from '../base/form.tsx'
import { bytes, list, moment, number } from '../base/language.ts'
import { done } from '../base/notice.tsx'
import { Badge, Card, Fact, Facts, IconButton, Loaded, Located, Meter, Page, Table, Told } from '../base/parts.tsx'
import { type Resource, useCall } from '../base/resource.ts'
import { go, type Values } from '../base/router.ts'
import { may } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { Impersonate } from './impersonate.tsx'
import { act } from './kit/act.tsx'
import { linesOf, Pager, useCursor } from './kit/list.tsx'
import { GivePassword, ResetDialog, turnFactorsOff } from './recovery.tsx'
import { adminTexts } from './texts/texts.ts'
import { UserState } from './users.tsx'

type User = Reply<'GET /users/:user'>

export function UserPage({ values }: { readonly values: Values }) {
  const user = values.user ?? ''
  const account = useCall('GET /users/:user', { params: { user } })
  return (
    <Loaded of={account} page={adminTexts.value.pages.users}>
      {data => (
        <Page
          title={data.username}
          lead={
            <>
              {data.name !== '' && <Told text={data.name} />}
              {data.name !== '' && data.address !== '' && ' · '}
              <Located text={data.address} />
            </>
          }
        >
          <Standing user={data} of={account} />
          {may('users.update', 'domain') && <Limits key={`limits ${data.id}`} user={data} of={account} />}
          {may('addresses.read', 'domain') && <Addresses user={data.id} />}
          {may('users.update', 'any') && <Forwarding key={`targets ${data.id}`} user={data} of={account} />}
          {may('authentication.read', 'any') && <AuthLog user={data.id} />}
        </Page>
      )}
    </Loaded>
  )
}

interface Part {
  readonly user: User
  readonly of: Resource<User>
}

function Standing({ user, of }: Part) {
  const { users: texts } = adminTexts.value
  const { quota } = user.limits
  return (
    <Card title={texts.status} actions={<UserState user={user} />}>
      <Facts>
        <Fact name={texts.address}>
          <Located text={user.address} />
        </Fact>
        <Fact name={texts.factors}>
          {user.enabled2fa.length === 0
            ? baseless()
            : list(user.enabled2fa.map(one => texts.factor[one as keyof typeof texts.factor] ?? one))}
        </Fact>
        <Fact name={texts.quota}>
          <Meter used={quota.used} allowed={quota.allowed} label={texts.quota} />
          <span class="muted">{texts.used(bytes(quota.used), bytes(quota.allowed))}</span>
        </Fact>
      </Facts>
      {user.passwordPwned && <Badge kind="bad">{texts.pwned}</Badge>}
      <Doings user={user} of={of} />
    </Card>
  )
}

function baseless(): string {
  return adminTexts.value.common.none
}

function Doings({ user, of }: Part) {
  const { users: texts } = adminTexts.value
  const [front, setFront] = useState<'acting' | 'reset' | 'give'>()
  const params = { user: user.id }
  const suspend = async () => {
    const isOn = !user.suspended
    const text = texts.suspendAsk(user.username)
    if (isOn && !(await ask({ title: texts.suspend, text, action: texts.suspend, danger: true }))) return
    const change = () => call('PUT /users/:user', { params, body: { suspended: isOn } })
    await act(change, baseTexts.value.saved, of.reload)
  }
  const remove = async () => {
    const text = texts.deleteAsk(user.username)
    if (!(await ask({ title: texts.delete, text, action: texts.delete, danger: true }))) return
    await act(
      () => call('DELETE /users/:user', { params }),
      texts.deleted,
      () => go('/service/users'),
    )
  }
  const close = () => setFront(undefined)
  const about = {
    ...{ user: user.id, username: user.username },
    onClose: (isDone: boolean) => {
      close()
      if (isDone) void of.reload()
    },
  }
  const logout = () => act(() => call('PUT /users/:user/logout', { params, body: {} }), texts.loggedOut)
  const buttons = [
    may('impersonation.create', 'any') && ([texts.impersonate, () => setFront('acting'), false] as const),
    may('users.update', 'any') && ([texts.logout, logout, false] as const),
    may('users.update', 'any') && ([texts.reset, () => setFront('reset'), false] as const),
    may('users.update', 'domain') && ([texts.give, () => setFront('give'), false] as const),
    user.enabled2fa.length > 0 &&
      may('credentials.update', 'any') &&
      ([texts.factorsOff, () => turnFactorsOff(user.id, user.username, of.reload), true] as const),
    may('users.update', 'domain') &&
      ([user.suspended ? texts.resume : texts.suspend, suspend, !user.suspended] as const),
    may('users.delete', 'domain') && ([texts.delete, remove, true] as const),
  ]
  return (
    <>
      <div class="actions">
        {buttons.map(
          (one, place) =>
            one !== false && (
              <button key={place} type="button" class={one[2] ? 'danger' : undefined} onClick={() => void one[1]()}>
                {one[0]}
              </button>
            ),
        )}
      </div>
      {front === 'reset' && <ResetDialog {...about} />}
      {front === 'give' && <GivePassword {...about} />}
      {front === 'acting' && <Impersonate user={user.id} username={user.username} onClose={close} />}
    </>
  )
}

const mebi = 1024 ** 2

function Limits({ user, of }: Part) {
  const { users: texts } = adminTexts.value
  const { quota, recipients, forwards, received, filters, imapMaxConnections } = user.limits
  const initial = {
    quotaMb: String(Math.round(quota.allowed / mebi)),
    recipients: String(recipients.allowed),
    forwards: String(forwards.allowed),
    receivedMax: String(received.allowed),
    filters: String(filters.allowed),
    imapMaxConnections: String(imapMaxConnections.allowed),
  }
  const shown = useSignal<Record<string, string>>(initial)
  const form = useForm(initial, async values => {
    const changed = Object.entries(values).filter(([name, value]) => value !== shown.value[name])
    const body = Object.fromEntries(
      changed.map(([name, value]) => (name === 'quotaMb' ? ['quota', Number(value) * mebi] : [name, Number(value)])),
    )
    await call('PUT /users/:user', { params: { user: user.id }, body })
    shown.value = values
    done(baseTexts.value.saved)
    await of.reload()
  })
  // What others changed meanwhile is shown where nobody has written, and never put back.
  useEffect(() => {
    const values: Readonly<Record<string, string>> = form.values.value
    const fresh = Object.entries(initial).filter(([name]) => values[name] === shown.value[name])
    shown.value = { ...shown.value, ...Object.fromEntries(fresh) }
    form.set(Object.fromEntries(fresh))
  }, [JSON.stringify(initial)])
  return (
    <Card title={texts.limits} text={texts.limitsHint}>
      <Form of={form}>
        <div class="pair">
          <TextField name="quotaMb" label={texts.quotaMb} kind="number" hint={texts.today(bytes(quota.used))} />
          <TextField
            name="recipients"
            label={texts.recipients}
            kind="number"
            hint={texts.today(number(recipients.used))}
          />
          <TextField name="forwards" label={texts.forwards} kind="number" hint={texts.today(number(forwards.used))} />
          <TextField
            name="receivedMax"
            label={texts.received}
            kind="number"
            hint={texts.today(number(received.used))}
          />
          <TextField name="filters" label={texts.filters} kind="number" hint={texts.today(number(filters.used))} />
          <TextField
            name="imapMaxConnections"
            label={texts.imapMaxConnections}
            kind="number"
            hint={texts.today(number(imapMaxConnections.used))}
          />
        </div>
        <Submit>{baseTexts.value.save}</Submit>
      </Form>
    </Card>
  )
}

function Addresses({ user }: { readonly user: string }) {
  const { users: texts } = adminTexts.value
  const params = { user }
  const addresses = useCall('GET /users/:user/addresses', { params })
  const form = useForm({ address: '' }, async ({ address }) => {
    await call('POST /users/:user/addresses', { params, body: { address } })
    form.set({ address: '' })
    await addresses.reload()
  })
  const remove = (address: string) =>
    act(
      () => call('DELETE /users/:user/addresses/:address', { params: { user, address } }),
      adminTexts.value.common.removed,
      addresses.reload,
    )
  return (
    <Card title={texts.addresses}>
      <Loaded of={addresses}>
        {({ results }) => (
          <ul class="lines">
            {results.map(({ id, address, main }) => (
              <li key={id}>
                <Located text={address} />
                {main ? (
                  <Badge kind="good">{texts.main}</Badge>
                ) : (
                  <IconButton
                    icon="trash"
                    label={`${baseTexts.value.remove} ${address}`}
                    onClick={() => void remove(id)}
                  />
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {may('addresses.create', 'domain') && (
        <Form of={form} label={texts.addAddress}>
          <TextField name="address" label={texts.addAddress} isCode autocomplete="off" />
          <Submit>{adminTexts.value.common.add}</Submit>
        </Form>
      )}
    </Card>
  )
}

function Forwarding({ user, of }: Part) {
  const { users: texts } = adminTexts.value
  const form = useForm({ targets: user.targets.join('\n') }, async ({ targets }) => {
    await call('PUT /users/:user', { params: { user: user.id }, body: { targets: linesOf(targets) } })
    done(baseTexts.value.saved)
    await of.reload()
  })
  return (
    <Card title={texts.forwarding}>
      <Form of={form}>
        <TextArea name="targets" label={texts.targets} rows={3} isCode />
        <Submit>{baseTexts.value.save}</Submit>
      </Form>
    </Card>
  )
}

function AuthLog({ user }: { readonly user: string }) {
  const { users: texts, common, happened: words } = adminTexts.value
  const [cursor, goTo] = useCursor(user)
  const log = useCall('GET /users/:user/authlog', { params: { user }, query: { limit: 10, ...cursor } })
  return (
    <Card title={texts.log}>
      <Loaded of={log}>
        {data =>
          data.results.length === 0 ? (
            <p class="muted">{common.nothing}</p>
          ) : (
            <>
              <Table
                label={texts.log}
                rows={data.results}
                id={row => row.id}
                columns={[
                  { title: texts.when, cell: ({ last }) => <time dateTime={last}>{moment(last)}</time> },
                  {
                    title: texts.what,
                    cell: ({ action, aname, target = aname }) => (
                      <>
                        {words.actions[action] ?? action}
                        {target !== undefined && (
                          <>
                            : <Told text={target} />
                          </>
                        )}
                      </>
                    ),
                  },
                  { title: texts.result, cell: ({ result, events }) => <Outcome result={result} events={events} /> },
                  {
                    title: texts.from,
                    cell: ({ protocol = '', ip = '' }) => <Told text={`${protocol} ${ip}`.trim()} />,
                  },
                ]}
              />
              <Pager of={data} go={goTo} />
            </>
          )
        }
      </Loaded>
    </Card>
  )
}

function Outcome({ result, events }: { readonly result?: string; readonly events: number }) {
  const { happened: words } = adminTexts.value
  if (result === undefined || result === '') return null
  const said = words.result[result as keyof typeof words.result] ?? result
  return <Badge kind={result === 'success' ? 'good' : 'bad'}>{events > 1 ? `${said} × ${number(events)}` : said}</Badge>
}
