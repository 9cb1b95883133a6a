// `teal queue` and `teal webhook`: what waits to be sent, to people and to programs, and what can be done about it.
//
// Passwords in URLs are masked by the service before they come here.

import { oneLine } from '#lib/journal/harmless.ts'
import { accountId } from '../reach.ts'
import { group, rowsOf, type Task, type TaskOptions, task } from './task.ts'

interface Queued {
  readonly queueId?: string
  readonly id?: string
  readonly from: string
  readonly created?: string
  readonly waiting: number
  readonly attempts: number
  readonly nextAttempt: string | false
  readonly response?: string
  readonly destinations: readonly string[]
}

const idOf = ({ queueId, id }: Queued) => queueId ?? id ?? ''

function shownLine(one: Queued): string {
  const next = one.nextAttempt === false ? 'held' : `next at ${one.nextAttempt}`
  const where = one.destinations.join(', ')
  const said = one.response === undefined ? '' : `  ${oneLine(one.response)}`
  return `${idOf(one)}  <${one.from}>  ${where}  ${one.attempts} attempts, ${next}${said}`
}

/** Something that is done to one message. */
function done(name: string, description: string, call: readonly ['POST' | 'DELETE', string], said: string): Task {
  return task({
    name,
    description,
    takes: [['<id>', 'its id in the queue']],
    example: `teal queue ${name} 0123456789abcdef01`,
    async run(to, [id = ''], _options, say) {
      const [method, path] = call
      say(await to.call(method, `/outbound/messages/${encodeURIComponent(id)}${path}`), said)
    },
  })
}

const queue = [
  task({
    name: 'status',
    description: 'The queue in figures',
    example: 'teal queue status',
    async run(to, _words, _options, say) {
      interface Figures {
        readonly waiting: number
        readonly sending: number
        readonly deferred: number
        readonly oldest: string | false
        readonly destinations: readonly { readonly destination: string; readonly waiting: number }[]
      }
      const figures = await to.call<Figures & Record<string, unknown>>('GET', '/outbound')
      const { waiting, sending, deferred, oldest, destinations } = figures
      const lines = [
        `${waiting} wait, ${deferred} of them were tried before; ${sending} are being sent`,
        ...(oldest === false ? [] : [`the oldest is of ${oldest}`]),
        ...destinations.map(one => `${String(one.waiting).padStart(8)}  ${one.destination}`),
      ]
      say(figures, lines.join('\n'))
    },
  }),
  task<TaskOptions & { readonly all?: boolean; readonly destination?: string; readonly user?: string }>({
    name: 'list',
    description: 'List what waits to be sent, newest first',
    options: [
      ['--all', 'also what was sent, as long as it is kept'],
      ['--destination <name>', 'only what waits for this one (teal queue status)'],
      ['--user <user>', 'only of this account: id, username or address'],
    ],
    example: 'teal queue list --destination example.net',
    async run(to, _words, { all, destination, user }, say) {
      const query = new URLSearchParams({
        ...(all === true && { pending: 'false' }),
        ...(destination !== undefined && { destination }),
        ...(user !== undefined && { user: await accountId(to, user) }),
      })
      for await (const one of rowsOf<Queued>(to, `/outbound/messages?${query}`)) say(one, shownLine(one))
    },
  }),
  task({
    name: 'show',
    description: 'Say how a message of the queue is doing',
    takes: [['<id>', 'its id in the queue']],
    example: 'teal queue show 0123456789abcdef01',
    async run(to, [id = ''], _options, say) {
      const one = await to.call<Record<string, unknown>>('GET', `/outbound/messages/${encodeURIComponent(id)}`)
      say(one, JSON.stringify(one, null, 2))
    },
  }),
  done('retry', 'Try a message now', ['POST', '/retry'], 'It is tried now.'),
  done('hold', 'Hold a message until it is retried', ['POST', '/hold'], 'It is held until it is retried.'),
  done('remove', 'Remove a message that waits', ['DELETE', ''], 'It is not sent any more.'),
  task({
    name: 'route',
    description: 'Send a message by a relay, now',
    takes: [
      ['<id>', 'its id in the queue'],
      ['<relay>', 'smtp://host:port or smtps://user:password@host'],
    ],
    example: 'teal queue route 0123456789abcdef01 smtp://relay.example.net:25',
    async run(to, [id = '', relay = ''], _options, say) {
      say(
        await to.call('POST', `/outbound/messages/${encodeURIComponent(id)}/route`, { relay }),
        'It goes by the relay.',
      )
    },
  }),
  task({
    name: 'paused',
    description: 'List accounts that are held back',
    example: 'teal queue paused',
    async run(to, _words, _options, say) {
      const { results } = await to.call<{ results: readonly Paused[] }>('GET', '/outbound/paused')
      for (const one of results) {
        const why = one.reason === 'manual' ? 'by hand' : `${one.recipients} recipients at once, usually ${one.usual}`
        say(one, `${one.user}  ${one.address}  since ${one.since}  ${why}`)
      }
    },
  }),
  task({
    name: 'pause',
    description: 'Hold an account back: nothing more is taken, what waits is held',
    takes: [['<user>', 'id, username or address']],
    example: 'teal queue pause alice@example.com',
    async run(to, [user = ''], _options, say) {
      say(await to.call('POST', `/users/${await accountId(to, user)}/outbound/pause`), 'It is held back.')
    },
  }),
  task({
    name: 'resume',
    description: 'Let an account go on that was held back',
    takes: [['<user>', 'id, username or address']],
    example: 'teal queue resume alice@example.com',
    async run(to, [user = ''], _options, say) {
      say(await to.call('POST', `/users/${await accountId(to, user)}/outbound/resume`), 'It may send again.')
    },
  }),
]

interface Paused {
  readonly user: string
  readonly address: string
  readonly since: string
  readonly reason: string
  readonly recipients: number
  readonly usual: number
}

interface Delivery {
  readonly id: string
  readonly event: string
  readonly created: string
  readonly state: string
  readonly attempts: number
  readonly failure?: string
  readonly status?: number
}

interface Webhook {
  readonly id: string
  readonly url: string
  readonly type: readonly string[]
}

const webhooks = [
  task({
    name: 'list',
    description: 'List webhooks',
    example: 'teal webhook list',
    async run(to, _words, _options, say) {
      for await (const one of rowsOf<Webhook>(to, '/webhooks')) say(one, `${one.id}  ${one.url}  ${one.type.join(',')}`)
    },
  }),
  task({
    name: 'show',
    description: 'Say how a webhook is doing',
    takes: [['<id>']],
    example: 'teal webhook show 0123456789abcdef01234567',
    async run(to, [id = ''], _options, say) {
      const one = await to.call<Record<string, unknown>>('GET', `/webhooks/${encodeURIComponent(id)}`)
      say(one, JSON.stringify(one, null, 2))
    },
  }),
  task({
    name: 'add',
    description: 'Have events told to a URL',
    takes: [['<url>'], ['<types...>', 'message.received, user.*, * and the like']],
    example: "teal webhook add https://example.net/hook message.received 'user.*'",
    async run(to, [url = '', ...type], _options, say) {
      const made = await to.call<{ id: string }>('POST', '/webhooks', { url, type })
      say(made, made.id)
    },
  }),
  task({
    name: 'remove',
    description: 'End a webhook and what waits for it',
    takes: [['<id>']],
    example: 'teal webhook remove 0123456789abcdef01234567',
    async run(to, [id = ''], _options, say) {
      say(await to.call('DELETE', `/webhooks/${encodeURIComponent(id)}`), 'It is told nothing any more.')
    },
  }),
  task({
    name: 'resume',
    description: 'Let a paused webhook run again',
    takes: [['<id>']],
    example: 'teal webhook resume 0123456789abcdef01234567',
    async run(to, [id = ''], _options, say) {
      say(await to.call('POST', `/webhooks/${encodeURIComponent(id)}/resume`), 'It runs again.')
    },
  }),
  task<TaskOptions & { readonly off?: boolean }>({
    name: 'secret',
    description: 'Make a new secret that deliveries are signed with, and print it',
    takes: [['<id>']],
    options: [['--off', 'sign them no longer']],
    example: 'teal webhook secret 0123456789abcdef01234567',
    async run(to, [id = ''], { off }, say) {
      const path = `/webhooks/${encodeURIComponent(id)}/secret`
      if (off === true) return say(await to.call('DELETE', path), 'They are signed no longer.')
      const made = await to.call<{ secret: string }>('PUT', path, {})
      say(made, made.secret)
    },
  }),
  task({
    name: 'deliveries',
    description: 'List what has not arrived at a webhook',
    takes: [['<id>']],
    example: 'teal webhook deliveries 0123456789abcdef01234567',
    async run(to, [id = ''], _options, say) {
      for await (const one of rowsOf<Delivery>(to, `/webhooks/${encodeURIComponent(id)}/deliveries`)) {
        const why = [one.status, one.failure].filter(Boolean).join(' ')
        say(one, `${one.id}  ${one.created}  ${one.event.padEnd(24)} ${one.state}, ${one.attempts} attempts  ${why}`)
      }
    },
  }),
  task({
    name: 'replay',
    description: 'Try what was given up again: all of a webhook, or one',
    takes: [['<id>'], ['[delivery]']],
    example: 'teal webhook replay 0123456789abcdef01234567',
    async run(to, [id = '', delivery], _options, say) {
      const which = delivery === undefined ? '' : `/deliveries/${encodeURIComponent(delivery)}`
      say(await to.call('POST', `/webhooks/${encodeURIComponent(id)}${which}/replay`, {}), 'It is tried again.')
    },
  }),
]

export const queueCommands = () => [group('queue', queue), group('webhook', webhooks)]
