// A message's whole way: how it came, what was decided, where it lies, each attempt to send it on and what was answered.
//
// Found by its Message-ID or its id in the queue; the address of the page holds it, so that it can be sent on.

import { call, type Reply } from '../base/client.ts'
import { Form, Submit, TextField, useForm } from '../base/form.tsx'
import { bytes, moment, number } from '../base/language.ts'
import { Badge, Card, Fact, Facts, Loaded, Page, Table, Told } from '../base/parts.tsx'
import { useResource } from '../base/resource.ts'
import { at, go, type Values } from '../base/router.ts'
import { adminTexts } from './texts/texts.ts'

type Trace = Reply<'GET /outbound/trace/:id'>
type Arrival = Trace['arrivals'][number]
type Sent = Trace['results'][number]

export function TracePage({ values }: { readonly values: Values }) {
  const { pages, trace: texts } = adminTexts.value
  const id = values.id ?? ''
  const form = useForm({ id }, async given => go(`/service/trace/${encodeURIComponent(given.id.trim())}`))
  return (
    <Page title={pages.trace}>
      <Card>
        <Form of={form} label={pages.trace}>
          <TextField name="id" label={texts.id} isCode autocomplete="off" autofocus />
          <Submit>{texts.find}</Submit>
        </Form>
      </Card>
      {id !== '' && <Way id={id} />}
    </Page>
  )
}

/** What is known of one message of the queue, by its id there. */
export function QueuedPage({ values }: { readonly values: Values }) {
  const { pages } = adminTexts.value
  return (
    <Page
      title={values.id ?? ''}
      actions={
        <a class="button" href={at('/service/queue')}>
          {pages.queue}
        </a>
      }
    >
      <Way id={values.id ?? ''} />
    </Page>
  )
}

function Way({ id }: { readonly id: string }) {
  const { trace: texts } = adminTexts.value
  const found = useResource(signal => call('GET /outbound/trace/:id', { params: { id }, signal }), `trace ${id}`)
  return (
    <Loaded of={found}>
      {({ arrivals, results }) => (
        <>
          {arrivals.length + results.length === 0 && <p class="callout">{texts.nobody}</p>}
          {arrivals.map(one => (
            <Came key={`${one.user} ${one.recipient} ${one.at}`} arrival={one} />
          ))}
          {results.map(one => (
            <Went key={one.queueId} sent={one} />
          ))}
        </>
      )}
    </Loaded>
  )
}

function Came({ arrival }: { readonly arrival: Arrival }) {
  const { trace: texts, queue, users } = adminTexts.value
  const { user, recipient, from, at: time, origin, helo, protocol, spam, decided, path } = arrival
  const stored = decided === undefined ? (path ?? '') : (decided.stored ?? texts.notStored)
  const by = [protocol, helo, origin].filter(one => one !== undefined).join(' ')
  return (
    <Card title={texts.arrived}>
      <Facts>
        <Fact name={users.when}>{moment(time)}</Fact>
        <Fact name={queue.from}>
          <Told text={from} />
        </Fact>
        <Fact name={texts.recipient}>
          <a href={at(`/service/users/${user}`)}>
            <Told text={recipient} />
          </a>
        </Fact>
        {by !== '' && (
          <Fact name={users.from}>
            <Told text={by} />
          </Fact>
        )}
        <Fact name={texts.stored}>
          <Told text={stored} />
        </Fact>
        {spam !== undefined && <Fact name={texts.score}>{number(spam.score)}</Fact>}
        {decided !== undefined && decided.filters.length > 0 && (
          <Fact name={texts.filters}>
            <Told text={decided.filters.join(', ')} />
          </Fact>
        )}
      </Facts>
    </Card>
  )
}

function Went({ sent }: { readonly sent: Sent }) {
  const { trace: texts, queue, users } = adminTexts.value
  return (
    <Card title={texts.left} text={`${queue.origin[sent.origin]} · ${bytes(sent.size)} · ${moment(sent.created)}`}>
      <ul class="lines">
        {sent.targets.map(({ seq, value, state, nextAttempt }) => (
          <li key={seq}>
            <Told text={value} />
            <span class="badges">
              <Badge kind={state === 'delivered' ? 'good' : state === 'failed' ? 'bad' : 'plain'}>
                {queue.states[state]}
              </Badge>
              {nextAttempt !== false && <span class="muted">{moment(nextAttempt)}</span>}
            </span>
          </li>
        ))}
      </ul>
      {sent.steps.length > 0 && (
        <Table
          label={texts.steps}
          rows={sent.steps.map((step, index) => ({ ...step, index }))}
          id={({ index }) => index}
          columns={[
            { title: users.when, cell: ({ at: time }) => moment(time) },
            {
              title: users.what,
              cell: ({ step, target }) => (
                <>
                  {texts.outcomes[step as keyof typeof texts.outcomes] ?? step} <Told text={target} />
                </>
              ),
            },
            {
              title: queue.destination,
              cell: ({ host = '', security = '' }) => <Told text={`${host} ${security}`.trim()} />,
            },
            {
              title: queue.answer,
              cell: ({ response, failure = '' }) => <Told class="answer" text={response === '' ? failure : response} />,
            },
          ]}
        />
      )}
    </Card>
  )
}
