// One domain: what DNS says of it beside what it needs, the keys that sign its mail, its limits, its catch-all and its aliases.
// What DNS says is the service's own look, which it remembers for a moment. Records can be copied whole, also where they are shown in part.
// Closing a domain shuts people out, so it asks first.

import { call, type Reply } from '../base/client.ts'
import { ask } from '../base/dialog.tsx'
import { Form, Submit, TextArea, TextField, useForm } from '../base/form.tsx'
import { bytes, number, relative } from '../base/language.ts'
import { done } from '../base/notice.tsx'
import { Badge, Card, Fact, Facts, IconButton, Loaded, Page, Table } from '../base/parts.tsx'
import { type Resource, useCall } from '../base/resource.ts'
import { at, type Values } from '../base/router.ts'
import { may } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { DnsBadge } from './domains.tsx'
import { act } from './kit/act.tsx'
import { linesOf } from './kit/list.tsx'
import { adminTexts } from './texts/texts.ts'

type Domain = Reply<'GET /domains/:domain'>

export function DomainPage({ values }: { readonly values: Values }) {
  const domain = values.domain ?? ''
  const found = useCall('GET /domains/:domain', { params: { domain } })
  return (
    <Loaded of={found}>
      {data => (
        <Page
          title={data.name}
          lead={data.description === '' ? undefined : data.description}
          actions={<Closing domain={data} of={found} />}
        >
          <Holding domain={data} />
          {may('dkim.read', 'domain') && <Records domain={data.name} />}
          {may('dkim.read', 'domain') && <Keys domain={data.name} />}
          {may('domains.update', 'domain') && <Settings key={data.name} domain={data} of={found} />}
          {may('domainaliases.read', 'domain') && <Aliases domain={data.name} />}
        </Page>
      )}
    </Loaded>
  )
}

interface Part {
  readonly domain: Domain
  readonly of: Resource<Domain>
}

function Closing({ domain: { name, disabled }, of }: Part) {
  const { domains: texts } = adminTexts.value
  if (!may('domains.update', 'any')) return null
  const flip = async () => {
    const question = { title: texts.close, text: texts.closeAsk(name), action: texts.close, danger: true }
    if (!disabled && !(await ask(question))) return
    const change = () => call('PUT /domains/:domain', { params: { domain: name }, body: { disabled: !disabled } })
    await act(change, baseTexts.value.saved, of.reload)
  }
  return (
    <button type="button" class={disabled ? 'primary' : 'danger'} onClick={() => void flip()}>
      {disabled ? texts.reopen : texts.close}
    </button>
  )
}

function Holding({ domain }: { readonly domain: Domain }) {
  const { domains: texts } = adminTexts.value
  const { users, addresses, storageUsed, admins, disabled, disabledReason } = domain
  return (
    <Card>
      <Facts>
        <Fact name={texts.users}>{number(users)}</Fact>
        <Fact name={texts.addresses}>{number(addresses)}</Fact>
        <Fact name={texts.storage}>{bytes(storageUsed)}</Fact>
        {admins.length > 0 && (
          <Fact name={texts.admins}>
            {admins.map(({ id, username }) => (
              <a key={id} href={at(`/service/users/${id}`)}>
                <bdi>{username}</bdi>
              </a>
            ))}
          </Fact>
        )}
        {disabled && (
          <Fact name={texts.disabled}>
            <Badge kind="bad">{disabledReason === '' ? texts.disabled : disabledReason}</Badge>
          </Fact>
        )}
      </Facts>
    </Card>
  )
}

function Records({ domain }: { readonly domain: string }) {
  const { domains: texts } = adminTexts.value
  const asked = useCall('GET /domains/:domain/dns', { params: { domain } })
  const again = () =>
    act(async () => {
      asked.show(await call('GET /domains/:domain/dns', { params: { domain }, query: { again: true } }))
    }, texts.checked(''))
  const button = (
    <button type="button" onClick={() => void again()}>
      {texts.checkAll}
    </button>
  )
  return (
    <Card title={texts.records} actions={button}>
      <Loaded of={asked}>
        {({ records, policy, checked }) => (
          <>
            <Table
              label={texts.records}
              rows={records}
              id={({ name, type, value }) => `${name} ${type} ${value}`}
              columns={[
                {
                  title: texts.record,
                  cell: ({ name, type, optional }) => (
                    <span class="about">
                      <bdi class="code" dir="ltr">
                        {name} {type}
                      </bdi>
                      {optional && <span class="muted">{texts.optional}</span>}
                    </span>
                  ),
                },
                {
                  title: texts.wanted,
                  cell: ({ value, state, found }) => (
                    <span class="about">
                      <Value text={value} />
                      {state === 'wrong' && (
                        <span class="muted">
                          {texts.found}{' '}
                          <bdi class="code value wrong" dir="ltr">
                            {found.join('\n')}
                          </bdi>
                        </span>
                      )}
                    </span>
                  ),
                },
                {
                  title: adminTexts.value.common.state,
                  cell: ({ state, optional }) => <DnsBadge state={state} isOptional={optional} />,
                },
              ]}
            />
            {policy.map(({ ip, result }) => (
              <p key={ip}>
                {texts.policy(ip, result)} <Badge kind={result === 'pass' ? 'good' : 'warn'}>{result}</Badge>
              </p>
            ))}
            <p class="muted">{texts.checked(relative(checked))}</p>
          </>
        )}
      </Loaded>
    </Card>
  )
}

/** A value of DNS, to be copied. */
function Value({ text }: { readonly text: string }) {
  const { copy, copied } = baseTexts.value
  return (
    <span class="copied">
      <bdi class="code value" dir="ltr">
        {text}
      </bdi>
      <IconButton
        icon="copy"
        label={`${copy}: ${text.slice(0, 40)}`}
        onClick={() => void act(() => navigator.clipboard.writeText(text), copied)}
      />
    </span>
  )
}

function Keys({ domain }: { readonly domain: string }) {
  const { domains: texts } = adminTexts.value
  const keys = useCall('GET /domainkeys', { query: { domain } })
  const rotate = () => act(() => call('POST /domainkeys/rotate', { body: { domain } }), texts.rotated, keys.reload)
  const check = () =>
    act(() => call('POST /domainkeys/check', { body: { domain } }), baseTexts.value.saved, keys.reload)
  const actions = may('dkim.create', 'domain') && (
    <>
      <button type="button" onClick={() => void check()}>
        {texts.check}
      </button>
      <button type="button" onClick={() => void rotate()}>
        {texts.rotate}
      </button>
    </>
  )
  return (
    <Card title={texts.dkim} actions={actions}>
      <Loaded of={keys}>
        {({ results }) =>
          results.length === 0 ? (
            <p class="muted">{texts.noDkim}</p>
          ) : (
            <Table
              label={texts.dkim}
              rows={results}
              id={({ selector }) => selector}
              columns={[
                {
                  title: texts.selector,
                  cell: ({ selector, algorithm }) => (
                    <bdi class="code" dir="ltr">
                      {selector} ({algorithm})
                    </bdi>
                  ),
                },
                { title: texts.signs, cell: ({ why }) => <span lang="en">{why}</span> },
                {
                  title: adminTexts.value.common.state,
                  cell: ({ state, signs }) => (
                    <Badge kind={signs ? 'good' : 'plain'}>
                      {texts.keyStates[state as keyof typeof texts.keyStates] ?? state}
                    </Badge>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  )
}

const mebi = 1024 ** 2

function Settings({ domain, of }: Part) {
  const { domains: texts, common } = adminTexts.value
  const { catchAll } = domain
  // Who looks after a domain lives within the limits it was given.
  const isLimited = may('domains.update', 'any')
  const initial = {
    description: domain.description,
    maxUsers: String(domain.maxUsers),
    maxAddresses: String(domain.maxAddresses),
    maxForwards: String(domain.maxForwards),
    quotaMb: String(Math.round(domain.quota / mebi)),
    targets: catchAll === false ? '' : (catchAll.targets ?? []).join('\n'),
  }
  const form = useForm(initial, async fields => {
    const targets = linesOf(fields.targets)
    const isCaught = fields.targets !== initial.targets
    const body = {
      description: fields.description,
      ...(isLimited && {
        maxUsers: Number(fields.maxUsers),
        maxAddresses: Number(fields.maxAddresses),
        maxForwards: Number(fields.maxForwards),
        quota: Number(fields.quotaMb) * mebi,
      }),
      ...(isCaught && { catchAll: targets.length === 0 ? (false as const) : { targets } }),
    }
    await call('PUT /domains/:domain', { params: { domain: domain.name }, body })
    done(baseTexts.value.saved)
    await of.reload()
  })
  return (
    <Card title={isLimited ? texts.limits : common.description} text={isLimited ? texts.limitsHint : undefined}>
      <Form of={form}>
        <TextField name="description" label={common.description} autocomplete="off" />
        {isLimited && (
          <div class="pair">
            <TextField name="maxUsers" label={texts.maxUsers} kind="number" />
            <TextField name="maxAddresses" label={texts.maxAddresses} kind="number" />
            <TextField name="maxForwards" label={texts.maxForwards} kind="number" />
            <TextField name="quotaMb" label={texts.quotaMb} kind="number" />
          </div>
        )}
        <TextArea name="targets" label={texts.catchAll} hint={texts.catchAllHint} rows={2} isCode />
        <Submit>{baseTexts.value.save}</Submit>
      </Form>
    </Card>
  )
}

function Aliases({ domain }: { readonly domain: string }) {
  const { domains: texts, common } = adminTexts.value
  const found = useCall('GET /domainaliases', { query: { query: domain, limit: 250 } })
  const form = useForm({ alias: '' }, async ({ alias }) => {
    await call('POST /domainaliases', { body: { alias, domain } })
    form.set({ alias: '' })
    await found.reload()
  })
  const remove = (alias: string) =>
    act(() => call('DELETE /domainaliases/:alias', { params: { alias } }), common.removed, found.reload)
  return (
    <Card title={texts.aliases}>
      <Loaded of={found}>
        {({ results }) => {
          const own = results.filter(one => one.domain === domain)
          if (own.length === 0) return <p class="muted">{common.none}</p>
          return (
            <ul class="lines">
              {own.map(({ id, alias }) => (
                <li key={id}>
                  <bdi>{alias}</bdi>
                  <IconButton
                    icon="trash"
                    label={`${baseTexts.value.remove} ${alias}`}
                    onClick={() => void remove(id)}
                  />
                </li>
              ))}
            </ul>
          )
        }}
      </Loaded>
      {may('domainaliases.create', 'domain') && (
        <Form of={form} label={texts.addAlias}>
          <TextField name="alias" label={texts.alias} isCode autocomplete="off" />
          <Submit>{common.add}</Submit>
        </Form>
      )}
    </Card>
  )
}
