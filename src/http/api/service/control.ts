// What the command line asks of the process that holds the data directory, beside the ordinary API.
//
// These are served on the socket in the data directory only (control.ts), which its owner alone can open. Messages come
// many in one body, each as a line of JSON with its size and then its bytes, so that an import is not a call a message;
// each is streamed into the store, whatever its size.

import { Type } from 'typebox'
import type { Imported, Importer, ImportItem } from '#actors/admin/import.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { Pace } from '#lib/pace.ts'
import { keepHeapSmall } from '#lib/process/heap.ts'
import { isKeyword, systemFlags } from '#mail/flags.ts'
import { checkPath } from '#mail/path.ts'
import { endpoint } from '../../endpoint.ts'
import { bool, list, mailboxId, oneOf, optional, text, userId } from '../../schema.ts'

const { transfer } = limits

/** All calls that bring messages share one: what has come already would else be worked on in one go, whoever waits. */
const pace = new Pace()
pace.turnKey = 'imports'

export interface ControlDeps {
  readonly importer: Importer
  readonly messageBytesMax: number
}

export function controlEndpoints({ importer, messageBytesMax }: ControlDeps) {
  const source = text({ max: 512, description: 'Kind of source' })

  const accounts = endpoint({
    method: 'POST',
    path: '/control/accounts',
    tag: 'Control',
    summary: 'Find accounts by id, username or address',
    allow: null,
    body: { identifiers: list(text({ max: 512 }), { min: 1, max: transfer.identifiersMax }) },
    reply: {
      results: Type.Array(Type.Union([Type.Object({ id: Type.String(), username: Type.String() }), Type.Null()])),
    },
    async run({ input }) {
      const results = []
      for (const identifier of input.identifiers) results.push(await importer.account(identifier))
      return { results }
    },
  })

  const folder = endpoint({
    method: 'POST',
    path: '/control/users/:user/folders',
    tag: 'Control',
    summary: 'Find or make the folder that mail is moved into',
    allow: null,
    params: { user: userId },
    body: {
      path: text({ max: 10_000 }),
      specialUse: optional(oneOf(['\\Sent', '\\Trash', '\\Drafts', '\\Junk', '\\Archive'])),
      subscribed: bool({ default: true }),
    },
    reply: { id: mailboxId, path: Type.String() },
    faults: ['UserNotFound', 'MailboxExistsError', 'DisallowedMailboxMethod'],
    async run({ input, signal }) {
      const { subscribed, specialUse = null } = input
      return importer.folder(input.user, { path: checkPath(input.path), specialUse, subscribed }, signal)
    },
  })

  const missing = endpoint({
    method: 'POST',
    path: '/control/users/:user/missing',
    tag: 'Control',
    summary: 'Say which messages of a source were not moved into a folder',
    allow: null,
    params: { user: userId },
    body: { mailbox: mailboxId, source, keys: list(text({ max: transfer.keyLengthMax }), { max: transfer.keysMax }) },
    reply: { keys: Type.Array(Type.String()) },
    faults: ['NoSuchMailbox'],
    async run({ input }) {
      return { keys: await importer.missing(input.user, input.mailbox, input.source, input.keys) }
    },
  })

  const messages = endpoint({
    method: 'POST',
    path: '/control/users/:user/messages',
    tag: 'Control',
    summary: 'Move messages in',
    description: 'The body holds for each message a line of JSON (key, size, flags, keywords, idate) and its bytes.',
    allow: null,
    bodyKind: 'raw',
    bodyBytesMax: messageBytesMax + 2 * transfer.batchBytes + transfer.batchMessages * transfer.headBytesMax,
    answerMs: transfer.callMs,
    params: { user: userId },
    query: { mailbox: mailboxId, source },
    reply: {
      results: Type.Array(Type.Union([Type.String(), Type.Object({ error: Type.String(), code: Type.String() })])),
    },
    faults: [
      'UserNotFound',
      'NoSuchMailbox',
      'MessageTooLarge',
      'Overloaded',
      'StorageUnavailable',
      'Stopping',
      'TimedOut',
    ],
    async run({ input, request }) {
      const release = keepHeapSmall()
      try {
        return { results: await take(input, request.stream()) }
      } finally {
        release()
      }
    },
  })

  /** Takes messages in as they come: what each met, in their order. */
  async function take(to: { user: string; mailbox: string; source: string }, chunks: AsyncIterable<Buffer>) {
    const { user, mailbox, source } = to
    const results: Promise<Imported | { error: string; code: string }>[] = []
    const records = new Records(chunks)
    for (;;) {
      if (pace.spent) await pace.turn()
      const head = await records.head()
      if (head === null) break
      const { size, ...item } = readHead(head)
      const received = await importer.receive(records.bytes(size), messageBytesMax)
      const stored = importer.store(user, { ...item, mailbox, source }, received).catch(refusal)
      // Heard of when all are awaited, which may be after it failed.
      stored.catch(() => {})
      results.push(stored)
      if (results.length % transfer.storingMax === 0) await Promise.all(results)
    }
    return Promise.all(results)
  }

  return [accounts, folder, missing, messages]
}

/** What one message met; what meets every message ends the call. */
function refusal(error: unknown): { error: string; code: string } {
  const own =
    error instanceof Fault && error.status < 500 && error.code !== 'UserNotFound' && error.code !== 'NoSuchMailbox'
  if (own) return { error: error.message, code: error.code }
  throw error
}

type Head = Omit<ImportItem, 'mailbox' | 'source'> & { readonly size: number }

function readHead(line: Buffer): Head {
  let given: Partial<Record<keyof Head, unknown>> = {}
  try {
    given = JSON.parse(line.toString()) as typeof given
  } catch {
    throw invalid('messages', 'must begin with a line of JSON')
  }
  const { key, size, flags, keywords, idate } = given
  const known = Array.isArray(keywords) && keywords.every(word => typeof word === 'string' && isKeyword(word))
  const whole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
  if (typeof key !== 'string' || key === '' || key.length > transfer.keyLengthMax) throw invalid('key', 'is not valid')
  if (!whole(size) || size === 0) throw invalid('size', 'must be a positive number')
  if (!whole(flags) || flags > systemFlags) throw invalid('flags', 'is not valid')
  if (!known || keywords.length > limits.name.keywordsMax) throw invalid('keywords', 'is not valid')
  if (idate !== null && !(Number.isSafeInteger(idate) && Math.abs(Number(idate)) < 8.64e15)) {
    throw invalid('idate', 'is not valid')
  }
  return { key, size, flags, keywords: keywords as string[], idate: idate as number | null }
}

/** Lines and bytes of a stream. */
class Records {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** The next line without its end; null at the end of the stream. */
  async head(): Promise<Buffer | null> {
    for (;;) {
      const end = this.#rest.indexOf(10)
      if (end >= 0) {
        const line = this.#rest.subarray(0, end)
        this.#rest = this.#rest.subarray(end + 1)
        return line
      }
      if (this.#rest.length > transfer.headBytesMax) throw invalid('messages', 'has too long a line')
      const next = await this.#chunks.next()
      if (next.done === true) {
        if (this.#rest.length > 0) throw invalid('messages', 'ends within a line')
        return null
      }
      this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value])
    }
  }

  /** The next `size` bytes. */
  async *bytes(size: number): AsyncGenerator<Buffer> {
    let left = size
    while (left > 0) {
      if (this.#rest.length === 0) {
        const next = await this.#chunks.next()
        if (next.done === true) throw invalid('messages', 'ends within a message')
        this.#rest = next.value
      }
      const part = this.#rest.subarray(0, left)
      this.#rest = this.#rest.subarray(part.length)
      left -= part.length
      if (part.length > 0) yield part
    }
  }
}
