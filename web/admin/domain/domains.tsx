// The domains that have mail here, with what they hold and what DNS says of those that are shown.
//
// A page has few of them, and their looks at DNS go one after the other: they may take seconds where nobody answers.

import { useState } from 'preact/hooks'
import { call, type Reply } from '../../base/client.ts'
import { Dialog } from '../../base/dialog.tsx'
import { Form, Submit, TextField, useForm } from '../../base/form.tsx'
import { bytes, number } from '../../base/language.ts'
import { Badge, Card, type Column, Loaded, Located, Page, Table } from '../../base/parts.tsx'
import { useCall, useResource } from '../../base/resource.ts'
import { at, go } from '../../base/router.ts'
import { may } from '../../base/session.ts'
import { baseTexts } from '../../texts/texts.ts'
import { Pager, Search, useCursor } from '../kit/list.tsx'
import { adminTexts } from '../texts/texts.ts'
import { DnsBadge } from './value.tsx'

type Listed = Reply<'GET /domains'>['results'][number]

/** Each asks DNS: few on a page. */
const pageRows = 20

export function DomainsPage() {
  const { pages, domains: texts, common } = adminTexts.value
  const [query, setQuery] = useState('')
  const [cursor, goTo] = useCursor(query)
  const [isAdding, setAdding] = useState(false)
  const found = useCall('GET /domains', { query: { limit: pageRows, ...(query !== '' && { query }), ...cursor } })
  const add = may('domains.create', 'domain') && (
    <button type="button" class="primary" onClick={() => setAdding(true)}>
      {texts.add}
    </button>
  )
  return (
    <Page title={pages.domains} actions={add}>
      <Card>
        <Search label={texts.find} onSearch={setQuery} />
        <Loaded of={found}>
          {data => (
            <>
              {data.results.length === 0 ? (
                <p class="muted">{query === '' ? common.nothing : common.nothingFound}</p>
              ) : (
                <Table label={pages.domains} columns={columns()} rows={data.results} id={row => row.name} />
              )}
              <Pager of={data} go={goTo} />
            </>
          )}
        </Loaded>
      </Card>
      {isAdding && <AddDomain onClose={() => setAdding(false)} />}
    </Page>
  )
}

function columns(): Column<Listed>[] {
  const { domains: texts } = adminTexts.value
  return [
    {
      title: texts.domain,
      cell: ({ name, disabled }) => (
        <span class="badges">
          <Located text={name} href={at(`/service/domains/${encodeURIComponent(name)}`)} />
          {disabled && <Badge kind="bad">{texts.disabled}</Badge>}
        </span>
      ),
    },
    { title: texts.users, cell: ({ users }) => number(users), atEnd: true },
    { title: texts.addresses, cell: ({ addresses }) => number(addresses), atEnd: true },
    { title: texts.storage, cell: ({ storageUsed }) => bytes(storageUsed), atEnd: true },
    ...(may('dkim.read', 'domain') ? [{ title: texts.dns, cell: ({ name }: Listed) => <Dns domain={name} /> }] : []),
  ]
}

/** One look after the other, so that the page's other calls find a connection. */
let looks: Promise<unknown> = Promise.resolve()

function look(domain: string, signal: AbortSignal) {
  const asked = looks.then(() => {
    signal.throwIfAborted()
    return call('GET /domains/:domain/dns', { params: { domain }, signal })
  })
  looks = asked.catch(() => {})
  return asked
}

function Dns({ domain }: { readonly domain: string }) {
  const asked = useResource(signal => look(domain, signal), `dns ${domain}`)
  if (asked.data === undefined)
    return <span class="muted">{asked.error === undefined ? '…' : adminTexts.value.domains.states.unknown}</span>
  return <DnsBadge state={asked.data.state} />
}

function AddDomain({ onClose }: { onClose(): void }) {
  const { domains: texts, common } = adminTexts.value
  const form = useForm({ name: '', description: '' }, async body => {
    const { name } = await call('POST /domains', { body })
    go(`/service/domains/${encodeURIComponent(name)}`)
  })
  return (
    <Dialog title={texts.add} onClose={onClose}>
      <Form of={form}>
        <TextField name="name" label={texts.domain} isCode autofocus autocomplete="off" />
        <TextField name="description" label={common.description} autocomplete="off" />
        <Submit
          more={
            <button type="button" onClick={onClose}>
              {baseTexts.value.cancel}
            </button>
          }
        >
          {texts.add}
        </Submit>
      </Form>
    </Dialog>
  )
}
