// Webhooks, and of each what is not delivered: waiting, retried, given up; sent again one by one or all together.
//
// Those that are paused by their failures go on when somebody says so. What is removed takes its deliveries along, so it asks first.

import { useState } from 'preact/hooks'
import { call, type Reply } from '../../base/client.ts'
import { ask, Dialog } from '../../base/dialog.tsx'
import { Form, Submit, TextField, useForm } from '../../base/form.tsx'
import { moment, number, relative } from '../../base/language.ts'
import { done } from '../../base/notice.tsx'
import { Badge, Card, type Column, Empty, Loaded, Page, Table } from '../../base/parts.tsx'
import { useCall } from '../../base/resource.ts'
import { at, go, type Values } from '../../base/router.ts'
import { may } from '../../base/session.ts'
import { baseTexts } from '../../texts/texts.ts'
import { act } from '../kit/act.tsx'
import { Choice, linesOf, Pager, useCursor } from '../kit/list.tsx'
import { adminTexts } from '../texts/texts.ts'

type Listed = Reply<'GET /webhooks'>['results'][number]
type Delivery = Reply<'GET /webhooks/:webhook/deliveries'>['results'][number]
type State = Delivery['state']

const pageRows = 50

export function WebhooksPage() {
  const { pages, webhooks: texts, common } = adminTexts.value
  const [cursor, goTo] = useCursor('')
  const [isAdding, setAdding] = useState(false)
  const found = useCall('GET /webhooks', { query: { limit: pageRows, ...cursor } })
  const close = () => {
    setAdding(false)
    void found.reload()
  }
  const add = may('webhooks.create', 'any') && (
    <button type="button" class="primary" onClick={() => setAdding(true)}>
      {texts.add}
    </button>
  )
  return (
    <Page title={pages.webhooks} actions={add}>
      <Card>
        <Loaded of={found}>
          {data =>
            data.results.length === 0 ? (
              <Empty icon="upload" title={common.nothing} />
            ) : (
              <>
                <Table label={pages.webhooks} columns={columns()} rows={data.results} id={row => row.id} />
                <Pager of={data} go={goTo} />
              </>
            )
          }
        </Loaded>
      </Card>
      {isAdding && <AddWebhook onClose={close} />}
    </Page>
  )
}

function columns(): Column<Listed>[] {
  const { webhooks: texts, common } = adminTexts.value
  return [
    {
      title: texts.url,
      cell: ({ id, url }) => (
        <a href={at(`/service/webhooks/${id}`)}>
          <bdi dir="ltr">{url}</bdi>
        </a>
      ),
    },
    { title: texts.events, cell: ({ type }) => <bdi>{type.join(', ')}</bdi> },
    { title: common.created, cell: ({ created }) => moment(created) },
  ]
}

function AddWebhook({ onClose }: { onClose(): void }) {
  const { webhooks: texts } = adminTexts.value
  const form = useForm({ url: '', type: '*', secret: '' }, async ({ url, type, secret }) => {
    await call('POST /webhooks', { body: { url, type: linesOf(type), ...(secret !== '' && { secret }) } })
    done(baseTexts.value.saved)
    onClose()
  })
  return (
    <Dialog title={texts.add} onClose={onClose}>
      <Form of={form}>
        <TextField name="url" label={texts.url} kind="url" isCode autofocus autocomplete="off" />
        <TextField name="type" label={texts.events} hint={texts.eventsHint} isCode autocomplete="off" />
        <TextField name="secret" label={texts.secret} kind="password" autocomplete="new-password" />
        <Submit>{texts.add}</Submit>
      </Form>
    </Dialog>
  )
}

export function WebhookPage({ values }: { readonly values: Values }) {
  const { webhooks: texts } = adminTexts.value
  const webhook = values.webhook ?? ''
  const params = { webhook }
  const found = useCall('GET /webhooks/:webhook', { params })
  const remove = async () => {
    const question = {
      title: baseTexts.value.remove,
      text: texts.removeAsk,
      action: baseTexts.value.remove,
      danger: true,
    }
    if (!(await ask(question))) return
    await act(
      () => call('DELETE /webhooks/:webhook', { params }),
      adminTexts.value.common.removed,
      () => go('/service/webhooks'),
    )
  }
  const actions = may('webhooks.delete', 'any') && (
    <button type="button" class="danger" onClick={() => void remove()}>
      {baseTexts.value.remove}
    </button>
  )
  return (
    <Loaded of={found} page={adminTexts.value.pages.webhooks}>
      {({ url, type }) => (
        <Page title={url} lead={<bdi>{type.join(', ')}</bdi>} actions={actions}>
          <Deliveries webhook={webhook} />
        </Page>
      )}
    </Loaded>
  )
}

function Deliveries({ webhook }: { readonly webhook: string }) {
  const { webhooks: texts, common } = adminTexts.value
  const [state, setState] = useState<State | ''>('')
  const [cursor, goTo] = useCursor(state)
  const params = { webhook }
  const query = { limit: pageRows, ...(state !== '' && { state }), ...cursor }
  const found = useCall('GET /webhooks/:webhook/deliveries', { params, query })
  const all = () =>
    act(
      async () => {
        const { replayed } = await call('POST /webhooks/:webhook/replay', { params })
        done(texts.replayed(number(replayed)))
      },
      baseTexts.value.saved,
      found.reload,
    )
  const resume = () => act(() => call('POST /webhooks/:webhook/resume', { params }), texts.resumed, found.reload)
  const actions = may('webhooks.update', 'any') && (
    <>
      <button type="button" onClick={() => void resume()}>
        {texts.resume}
      </button>
      <button type="button" onClick={() => void all()}>
        {texts.replayAll}
      </button>
    </>
  )
  return (
    <Card title={texts.deliveries} actions={actions}>
      <Choice
        label={texts.filter}
        value={state}
        options={{ '': texts.all, ...texts.states }}
        onChoose={chosen => setState(chosen as State | '')}
      />
      <Loaded of={found}>
        {data =>
          data.results.length === 0 ? (
            <p class="muted">{common.nothing}</p>
          ) : (
            <>
              <Table
                label={texts.deliveries}
                columns={deliveryColumns()}
                rows={data.results}
                id={row => row.id}
                actions={row => row.state === 'dead' && <Replay webhook={webhook} of={row} reload={found.reload} />}
              />
              <Pager of={data} go={goTo} />
            </>
          )
        }
      </Loaded>
    </Card>
  )
}

function deliveryColumns(): Column<Delivery>[] {
  const { webhooks: texts, common, queue } = adminTexts.value
  return [
    { title: texts.event, cell: ({ event }) => <bdi>{event}</bdi> },
    { title: common.created, cell: ({ created }) => moment(created) },
    {
      title: common.state,
      cell: ({ state }) => (
        <Badge kind={state === 'dead' ? 'bad' : state === 'retrying' ? 'warn' : 'plain'}>{texts.states[state]}</Badge>
      ),
    },
    { title: queue.attempts, cell: ({ attempts }) => number(attempts), atEnd: true },
    { title: queue.next, cell: ({ nextAttempt }) => (nextAttempt === false ? '' : relative(nextAttempt)) },
    { title: texts.failure, cell: ({ failure = '', status }) => `${failure} ${status ?? ''}`.trim() },
  ]
}

function Replay({
  webhook,
  of: { id, event },
  reload,
}: {
  readonly webhook: string
  readonly of: Delivery
  reload(): Promise<void>
}) {
  const { webhooks: texts } = adminTexts.value
  const params = { webhook, delivery: id }
  const again = () =>
    act(() => call('POST /webhooks/:webhook/deliveries/:delivery/replay', { params }), texts.replayed('1'), reload)
  return (
    <button type="button" aria-label={`${texts.replay}: ${event}`} onClick={() => void again()}>
      {texts.replay}
    </button>
  )
}
