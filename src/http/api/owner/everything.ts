// Everything of an account as one archive, for its owner to take along: mail, and each thing beside it as the API shows it.
//
// The archive is made as the client reads it: held are a page of rows and a piece of a message. Parts are what other calls answer to
// the same caller, so nothing is in it that they do not show: no password, no key, no hash. What the caller may not read is left out,
// and README.txt in it says what is there and what can be taken in again.

import { exportMbox } from '#actors/view/mbox-export.ts'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { FileNames, type ZipFile, zip } from '#mail/exchange/zip.ts'
import { comparePaths } from '#mail/path.ts'
import { listMailboxes } from '#store/mailboxes/mailboxes.ts'
import { Binary, binary } from '../../answer.ts'
import { decodeCursor } from '../../cursor.ts'
import { type Context, type Endpoint, endpoint, type Request } from '../../endpoint.ts'
import { decide, filterOutput } from '../../guard/access.ts'
import { userId } from '../../schema.ts'
import type { AuthLogDeps } from '../auth/authlog.ts'
import { originOf } from '../auth/factor-fields.ts'
import { requireUser } from '../messages/mailboxes.ts'
import type { MessageDeps } from '../messages/message-deps.ts'
import { readme } from './everything-readme.ts'

type Sources = Pick<MessageDeps, 'system' | 'bodies'> & AuthLogDeps
type Row = Readonly<Record<string, unknown>>
type Call = Context<Record<string, unknown>>

/** Files that hold one answer, or all rows of a list: which call, and what it is asked. */
const answers = [
  ['account.json', '/users/:user', {}],
  ['addresses.json', '/users/:user/addresses', { metaData: true }],
  ['folders.json', '/users/:user/mailboxes', { showHidden: true, counters: true, sizes: true }],
  ['autoreply.json', '/users/:user/autoreply', {}],
  ['correspondents.json', '/users/:user/addressregister', { query: '', limit: limits.addressBook.entriesMax }],
  ['application-passwords.json', '/users/:user/asps', { showAll: true }],
  ['security-keys.json', '/users/:user/2fa/webauthn/credentials', {}],
] as const

/** @param others what else can be called; its answers are the parts */
export function everythingEndpoints({ system, bodies, authLog }: Sources, others: readonly Endpoint[]): Endpoint[] {
  const { read } = system
  const everything = endpoint({
    method: 'GET',
    path: '/users/:user/export.zip',
    tag: 'Users',
    summary: 'Get everything of an account as one archive',
    description:
      'A zip with an mbox for each folder, contacts as vCard, stored files, and the account, its addresses, folders, filters, autoreply, ' +
      'correspondents, names of application passwords and security keys, and log as JSON in the form that other calls answer. It has no ' +
      'secrets. `README.txt` in it says what each file is and what can be taken in again. An archive that breaks off has no list of its ' +
      'files, so that programs refuse it.',
    allow: 'messages.read',
    params: { user: userId },
    replyType: 'application/zip',
    faults: ['UserNotFound'],
    async run(context) {
      const user = await requireUser(read, context.input.user)
      const { caller, input, request } = context
      await authLog.addAll(user.num, [{ action: 'export' }], originOf({ input, caller, request }))
      const parts = new Parts(context as unknown as Call, others)
      const name = user.username.replace(/[^\w.@-]/g, '_')
      const headers = {
        'content-type': 'application/zip',
        'content-disposition': `attachment; filename="${name}.zip"`,
      }
      return binary({ headers, body: zip(files({ read, bodies }, parts, user)) })
    },
  })
  return [everything]
}

type MailSources = Parameters<typeof exportMbox>[0]

async function* files(
  sources: MailSources,
  parts: Parts,
  user: { readonly num: number; readonly username: string },
): AsyncGenerator<ZipFile> {
  const time = now()
  const names = new FileNames()
  const file = (name: string, bytes: ZipFile['bytes'] | string): ZipFile => ({
    name: names.take([name]),
    time,
    bytes: typeof bytes === 'string' ? once(bytes) : bytes,
  })
  const closed = [...answers.map(([, path]) => path), ...lists].filter(path => !parts.has(path))
  yield file('README.txt', readme(user.username, time, closed))
  for (const [name, path, input] of answers) {
    if (parts.has(path)) yield file(name, pretty(await parts.ask(path, input)))
  }
  if (parts.has(filters)) yield file('filters.json', filtersOf(parts))
  if (parts.has(contacts)) yield file('contacts.vcf', parts.bytes(contacts, { version: '4.0' }))
  if (parts.has(log)) yield file('log.jsonl', logLines(parts))
  if (parts.has(storage)) yield* stored(parts, names)
  for (const mailbox of (await listMailboxes(sources.read, user.num)).sort(comparePaths)) {
    const name = names.take(['mail', ...mailbox.path.split('/')], '.mbox')
    yield { name, time, bytes: exportMbox(sources, user.num, mailbox) }
  }
}

const filters = '/users/:user/filters'
const contacts = '/users/:user/contacts.vcf'
const log = '/users/:user/authlog'
const storage = '/users/:user/storage'
const lists = [filters, contacts, log, storage]

/** As they are given when one is made, in the order in which they are evaluated. */
async function* filtersOf(parts: Parts): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const { id } of parts.rows(filters, { metaData: false })) {
    const one = await parts.ask(`${filters}/:filter`, { filter: id })
    yield Buffer.from(`${isFirst ? '[\n' : ',\n'}${JSON.stringify(one, null, 2)}`)
    isFirst = false
  }
  yield Buffer.from(isFirst ? '[]\n' : '\n]\n')
}

async function* logLines(parts: Parts): AsyncGenerator<Buffer> {
  for await (const row of parts.rows(log, {})) yield Buffer.from(`${JSON.stringify(row)}\n`)
}

async function* stored(parts: Parts, names: FileNames): AsyncGenerator<ZipFile> {
  for await (const { id, filename, created } of parts.rows(storage, {})) {
    const bytes = parts.bytes(`${storage}/:file`, { file: id })
    yield { name: names.take(['files', String(filename)]), time: Date.parse(String(created)), bytes }
  }
}

/** Other calls, asked in the name of the same caller. */
class Parts {
  readonly #call: Call
  readonly #user: string
  readonly #byPath: ReadonlyMap<string, Endpoint>

  constructor(call: Call, others: readonly Endpoint[]) {
    this.#call = call
    this.#user = String(call.input.user)
    this.#byPath = new Map(others.filter(({ method }) => method === 'GET').map(one => [one.path, one]))
  }

  /** Whether the caller may read it. */
  has(path: string): boolean {
    return this.#granted(path) !== null
  }

  #granted(path: string) {
    const found = this.#byPath.get(path)
    if (found === undefined) throw new Error(`${path} does not exist`)
    const { allow } = found
    if (allow === null || allow === 'public') return null
    const grant = decide(this.#call.caller, allow, this.#user, false)
    return grant && { endpoint: found, grant }
  }

  async #run(path: string, input: Row) {
    const { caller, signal } = this.#call
    const granted = this.#granted(path)
    if (granted === null) throw new Error(`${path} is not for this caller`)
    signal.throwIfAborted()
    const context = {
      ...{ caller, signal, onlyUser: null, onlyDomains: null },
      input: { ...input, user: this.#user },
      // What the call itself was asked with, a range say, is not meant for them.
      request: { header: () => '' } as unknown as Request,
    }
    return { answer: await granted.endpoint.run(context), grant: granted.grant }
  }

  async ask(path: string, input: Row): Promise<Row> {
    const { answer, grant } = await this.#run(path, input)
    return filterOutput(grant, answer as Record<string, unknown>)
  }

  /** All rows of a list, page by page. */
  async *rows(path: string, input: Row): AsyncGenerator<Row> {
    for (let next: string | false | undefined = ''; next !== false && next !== undefined; ) {
      const cursor = next === '' ? {} : { next: decodeCursor(next) ?? undefined }
      const page = await this.ask(path, { ...input, ...cursor, page: 1, limit: limits.http.pageSizeMax })
      yield* page.results as Row[]
      next = page.nextCursor as string | false | undefined
    }
  }

  async *bytes(path: string, input: Row): AsyncGenerator<Uint8Array> {
    const { answer } = await this.#run(path, input)
    if (!(answer instanceof Binary)) throw new Error(`${path} does not answer bytes`)
    const { body } = answer
    if (typeof body === 'string') yield Buffer.from(body)
    else if (body instanceof Uint8Array) yield body
    else yield* body
  }
}

function pretty(answer: Row): string {
  return `${JSON.stringify(answer, null, 2)}\n`
}

async function* once(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}
