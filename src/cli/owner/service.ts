// What an owner sets for the whole service while it runs: `teal cert`, `teal setting`, `teal sender`, `teal audit`; and `teal call`
// for whatever else the API can do.
//
// Keys are read from files and never from the arguments, which every process on the machine can see.

import { readFileSync } from 'node:fs'
import process from 'node:process'
import { pipeline } from 'node:stream/promises'
import { Fault } from '#lib/fault.ts'
import { accountId, type Reach, wholeOf } from '../reach.ts'
import { wholeFile } from '../whole-file.ts'
import { commandOf, group, rowsOf, type TaskOptions, task, timeOf } from './task.ts'

interface Cert extends Record<string, unknown> {
  readonly id: string
  readonly servername: string
  readonly altNames: readonly string[]
  readonly expires?: string
  readonly acme: boolean
  readonly fetching?: { readonly attempts: number; readonly failure?: string; readonly next?: string }
}

const certId = async (to: Reach, name: string) =>
  (await to.call<{ id: string }>('GET', `/certs/resolve/${encodeURIComponent(name)}`)).id

function certLine({ servername, expires, acme, fetching }: Cert): string {
  const how = acme ? 'fetched by itself' : 'given'
  const until = expires === undefined ? 'there is none yet' : `until ${expires}`
  const failure = fetching?.failure === undefined ? '' : `  (last try: ${fetching.failure})`
  return `${servername.padEnd(40)} ${until}  ${how}${failure}`
}

const certs = [
  task({
    name: 'list',
    description: 'List certificates, and how fetching them goes',
    takes: [['[query]', 'part of a name']],
    example: 'teal cert list',
    async run(to, [query], _options, say) {
      const path = `/certs?altNames=true${query === undefined ? '' : `&query=${encodeURIComponent(query)}`}`
      for await (const one of rowsOf<Cert>(to, path)) say(one, certLine(one))
    },
  }),
  task({
    name: 'show',
    description: 'Show the certificate of a host name',
    takes: [['<name>']],
    example: 'teal cert show mail.example.com',
    async run(to, [name = ''], _options, say) {
      const one = await to.call<Cert>('GET', `/certs/${await certId(to, name)}`)
      say(one, [certLine(one), ...one.altNames.map(other => `  also ${other}`)].join('\n'))
    },
  }),
  task<TaskOptions & { readonly cert?: string; readonly key?: string; readonly acme?: boolean }>({
    name: 'add',
    description: 'Give a host name a certificate, or have one fetched; one that is there is replaced',
    takes: [['<name>']],
    options: [
      ['--cert <file>', 'the certificate and those above it (PEM)'],
      ['--key <file>', 'its private key (PEM)'],
      ['--acme', 'have it fetched and renewed instead'],
    ],
    example: 'teal cert add mail.example.com --cert chain.pem --key key.pem',
    async run(to, [name = ''], { cert, key, acme }, say) {
      if ((acme === true) === (cert !== undefined && key !== undefined)) {
        throw new Fault('InputValidationError', { text: 'Give --cert and --key, or --acme' })
      }
      const pair =
        acme === true
          ? { acme }
          : { cert: readFileSync(cert ?? '', 'utf8'), privateKey: readFileSync(key ?? '', 'utf8') }
      const made = await to.call<Cert>('POST', '/certs', { servername: name, ...pair })
      say(made, certLine(made))
    },
  }),
  task({
    name: 'remove',
    description: 'Forget the certificate of a host name',
    takes: [['<name>']],
    example: 'teal cert remove mail.example.com',
    async run(to, [name = ''], _options, say) {
      say(await to.call('DELETE', `/certs/${await certId(to, name)}`), `${name} has none any more.`)
    },
  }),
]

interface Setting extends Record<string, unknown> {
  readonly key: string
  readonly value: string | number | boolean
  readonly description: string
  readonly custom: boolean
}

const settingPath = (key: string) => `/settings/${encodeURIComponent(key)}`

const settings = [
  task({
    name: 'list',
    description: 'List what may be set while the service runs; * marks what is not as it comes',
    takes: [['[query]', 'part of a key']],
    example: 'teal setting list sender',
    async run(to, [query], _options, say) {
      const path = `/settings${query === undefined ? '' : `?filter=${encodeURIComponent(query)}`}`
      for (const one of (await to.call<{ settings: readonly Setting[] }>('GET', path)).settings) {
        const value = JSON.stringify(one.value)
        say(one, `${one.custom ? '*' : ' '} ${one.key.padEnd(36)} ${value.padEnd(16)} ${one.description}`)
      }
    },
  }),
  task({
    name: 'set',
    description: 'Set one',
    takes: [['<key>'], ['<value>']],
    example: 'teal setting set const:archive:time 2592000000',
    async run(to, [key = '', value = ''], _options, say) {
      say(await to.call('POST', settingPath(key), { value }), `${key} is ${value}.`)
    },
  }),
  task({
    name: 'reset',
    description: 'Set one back to what it comes with',
    takes: [['<key>']],
    example: 'teal setting reset const:archive:time',
    async run(to, [key = ''], _options, say) {
      say(await to.call('DELETE', settingPath(key)), `${key} is as it comes.`)
    },
  }),
]

interface Sender {
  readonly id: string
  readonly domain: string
  readonly action: string
}

const senderPath = (tag: string, action: string) => `/domainaccess/${encodeURIComponent(tag)}/${action}`

const judged = (action: 'allow' | 'block', description: string, said: string) =>
  task({
    ...{ name: action, description },
    takes: [['<tag>', 'a tag of the users it holds for (teal user change --tag)'], ['<domain>']],
    example: `teal sender ${action} staff example.net`,
    async run(to, [tag = '', domain = ''], _options, say) {
      say(await to.call('POST', senderPath(tag, action), { domain }), `Mail from ${domain} is ${said}.`)
    },
  })

async function sendersOf(to: Reach, tag: string): Promise<readonly Sender[]> {
  const lists = await Promise.all(
    ['allow', 'block'].map(action => to.call<{ results: Sender[] }>('GET', senderPath(tag, action))),
  )
  return lists.flatMap(({ results }) => results)
}

const senders = [
  task({
    name: 'list',
    description: 'List the domains whose mail is always, or never, taken for junk',
    takes: [['<tag>', 'a tag of users']],
    example: 'teal sender list staff',
    async run(to, [tag = ''], _options, say) {
      for (const one of await sendersOf(to, tag)) say(one, `${one.action.padEnd(8)} ${one.domain}`)
    },
  }),
  judged('allow', 'Take mail from a domain never for junk, for users with a tag', 'never junk for them'),
  judged('block', 'Take mail from a domain always for junk, for users with a tag', 'always junk for them'),
  task({
    name: 'remove',
    description: 'Judge mail from a domain as any other',
    takes: [['<tag>', 'a tag of users'], ['<domain>']],
    example: 'teal sender remove staff example.net',
    async run(to, [tag = '', domain = ''], _options, say) {
      const one = (await sendersOf(to, tag)).find(known => known.domain === domain.toLowerCase())
      if (one === undefined) throw new Fault('DomainNotFound', { text: `${domain} is on no list of ${tag}` })
      say(await to.call('DELETE', `/domainaccess/${one.id}`), `Mail from ${domain} is judged as any other.`)
    },
  }),
]

interface Audit extends Record<string, unknown> {
  readonly id: string
  readonly user: string
  readonly username?: string
  readonly expires: string
  readonly audited: number
  readonly import?: { readonly status: string }
}

interface Audited extends TaskOptions {
  readonly since?: string
  readonly until?: string
  readonly expires: string
  readonly notes?: string
}

const auditPath = (id: string) => `/audit/${encodeURIComponent(id)}`
const auditLine = ({ id, user, username = user, expires, audited, import: state }: Audit) =>
  `${id}  ${username.padEnd(32)} ${audited} messages, kept until ${expires}${state === undefined ? '' : `, ${state.status}`}`

const audits = [
  task({
    name: 'list',
    description: 'List audits, the newest first',
    example: 'teal audit list',
    async run(to, _words, _options, say) {
      for await (const one of rowsOf<Audit>(to, '/audit', 'audit')) say(one, auditLine(one))
    },
  }),
  task<Audited>({
    name: 'begin',
    description: 'Copy the mail of an account, what is there and what comes, where its owner does not see it',
    takes: [['<user>', 'id, username or address']],
    options: [
      ['--expires <time>', 'when the copies are deleted; needed'],
      ['--since <time>', 'nothing received before'],
      ['--until <time>', 'nothing received after'],
      ['--notes <text>', 'what for'],
    ],
    example: 'teal audit begin alice@example.com --expires 2027-03-01 --notes "case 42"',
    async run(to, [user = ''], { since, until, expires, notes }, say) {
      if (expires === undefined)
        throw new Fault('InputValidationError', { text: 'Say until when it is kept: --expires' })
      const form = {
        ...{ user: await accountId(to, user), expires: timeOf(expires), notes },
        ...(since !== undefined && { start: timeOf(since) }),
        ...(until !== undefined && { end: timeOf(until) }),
      }
      const made = await to.call<{ id: string }>('POST', '/audit', form, 'audit')
      say(made, made.id)
    },
  }),
  task({
    name: 'show',
    description: 'Say how far an audit is',
    takes: [['<id>']],
    example: 'teal audit show 0123456789abcdef01234567',
    async run(to, [id = ''], _options, say) {
      const one = await to.call<Audit>('GET', auditPath(id), undefined, 'audit')
      say(one, auditLine(one))
    },
  }),
  task({
    name: 'export',
    description: 'Write the messages of an audit into a file (mbox)',
    takes: [['<id>'], ['<file>']],
    example: 'teal audit export 0123456789abcdef01234567 case-42.mbox',
    async run(to, [id = '', file = ''], _options, say) {
      const bytes = await wholeFile(file, await to.take('GET', `${auditPath(id)}/export.mbox`, undefined, 'audit'))
      say({ file, bytes }, `${file}: ${bytes} bytes`)
    },
  }),
]

const methods = ['GET', 'POST', 'PUT', 'DELETE'] as const

const call = task<TaskOptions & { readonly data?: string }>({
  name: 'call',
  takes: [
    ['<method>', methods.join(', ')],
    ['<path>', 'as /openapi.json has it'],
  ],
  options: [['--data <json>', 'body, as JSON; @file reads a file, @- standard input']],
  example: 'teal call PUT /addresses/renameDomain --data \'{"oldDomain": "example.net", "newDomain": "example.com"}\'',
  async run(to, [word = '', path = ''], { data }, say) {
    const method = methods.find(one => one === word.toUpperCase())
    if (method === undefined || !path.startsWith('/')) {
      throw new Fault('InputValidationError', { text: `It is called as: teal call GET /users (${methods.join(', ')})` })
    }
    const text = data?.startsWith('@') === true ? readFileSync(data === '@-' ? 0 : data.slice(1), 'utf8') : data
    const body = text === undefined ? undefined : bodyOf(text)
    const answer = await to.take(method, path, body)
    const type = answer.headers['content-type'] ?? ''
    if (/^application\/json\b/.test(type)) {
      const value = await wholeOf(answer)
      say(value, JSON.stringify(value, null, 2))
    } else if (process.stdout.isTTY) {
      // What strangers wrote may tell a terminal what to do.
      answer.destroy()
      throw new Fault('InputValidationError', {
        text: `The answer is no JSON (${type}): have it written to a file, > file`,
      })
    } else await pipeline(answer, process.stdout)
  },
})

function bodyOf(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Said below.
  }
  throw new Fault('InputValidationError', { text: 'The body is no object in JSON' })
}

export const serviceCommands = () => [
  group('cert', certs),
  group('setting', settings),
  group('sender', senders),
  group('audit', audits),
  commandOf(call),
]
