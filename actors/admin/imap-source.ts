// An account on another IMAP server, to be read from: its folders, and their messages one after the other.
//
// Connections go to checked addresses only (net/outward/outward.ts), and a password in clear only into networks that may be reached
// although they are private. What the other server sends is bounded; nothing it says gets into a text or a log, and
// neither does the password. Nothing is changed there.

import { createHash } from 'node:crypto'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { imapFlow } from '#lib/process/lazy.ts'
import { usualUse } from '#mail/exchange/maildir.ts'
import { isKeyword, parseFlags } from '#mail/flags.ts'
import { mendPlain } from '#mail/mime/line-end.ts'
import { normalizePath, pathProblem } from '#mail/path.ts'
import { type Outward, outwardFailure } from '#net/outward/outward.ts'

export interface ImapAccount {
  readonly host: string
  readonly port: number
  /** `tls` from the start, `starttls`, or `none`, which is for networks of one's own. */
  readonly security: 'tls' | 'starttls' | 'none'
  readonly login: string
  readonly password: string
}

/** What tells the messages of one folder there from those of every other, which may have the same numbers. */
export function sourceName({ host, login }: Pick<ImapAccount, 'host' | 'login'>, folder: SourceFolder): string {
  const whole = JSON.stringify([host.toLowerCase(), login, folder.remote])
  return `imap ${createHash('sha256').update(whole).digest('base64url')}`
}

export interface SourceFolder {
  /** As it is called there. */
  readonly remote: string
  /** As it is called here; null where it cannot be. */
  readonly path: string | null
  readonly specialUse: string | null
  readonly subscribed: boolean
}

export interface SourceMessage {
  readonly content: Buffer
  readonly flags: number
  readonly keywords: readonly string[]
  readonly idate: number | null
}

type Client = InstanceType<ReturnType<typeof imapFlow>['ImapFlow']>

const uses = ['\\Sent', '\\Trash', '\\Drafts', '\\Junk', '\\Archive']
const { transfer } = limits

export class ImapSource {
  readonly #client: Client
  readonly #messageBytesMax: number

  /** @param client of an account that may be logged in to */
  constructor(client: Client, messageBytesMax: number) {
    this.#client = client
    this.#messageBytesMax = messageBytesMax
    // Also said by what is under way, which then fails.
    client.on('error', () => {})
  }

  /** Connects and logs in. @throws Fault SourceRefused, SourceUnreachable */
  static async open(
    outward: Outward,
    account: ImapAccount,
    options: { readonly messageBytesMax: number; readonly signal: AbortSignal },
  ): Promise<ImapSource> {
    const found = await addresses(outward, account)
    let failure: unknown
    for (const address of found) {
      options.signal.throwIfAborted()
      const source = new ImapSource(clientOf(address, account, options.messageBytesMax), options.messageBytesMax)
      const stop = () => source.#client.close()
      options.signal.addEventListener('abort', stop, { once: true })
      try {
        await source.#client.connect()
        return source
      } catch (error) {
        source.#client.close()
        if ((error as { authenticationFailed?: boolean }).authenticationFailed === true) {
          throw new Fault('SourceRefused')
        }
        failure = error
      }
    }
    options.signal.throwIfAborted()
    throw unreachable(failure)
  }

  async folders(): Promise<SourceFolder[]> {
    const listed = await this.#client.list()
    const folders: SourceFolder[] = []
    for (const { flags, path: remote, delimiter, specialUse, subscribed } of listed.slice(0, transfer.foldersMax)) {
      if (flags.has('\\Noselect') || flags.has('\\NonExistent')) continue
      const path = remote.toUpperCase() === 'INBOX' ? 'INBOX' : remote.split(delimiter || '/').join('/')
      if (pathProblem(path) !== undefined) {
        folders.push({ remote, path: null, subscribed, specialUse: null })
        continue
      }
      const stated = uses.find(use => use === specialUse)
      folders.push({
        ...{ remote, path: normalizePath(path), subscribed },
        specialUse: path === 'INBOX' ? null : (stated ?? usualUse(path)),
      })
    }
    return folders
  }

  /**
   * Opens a folder for reading: which messages it has. The validity tells them from others that had the same numbers.
   *
   * @returns null where the other server refuses
   */
  async select(folder: SourceFolder): Promise<{ validity: string; uids: number[] } | null> {
    try {
      const opened = await this.#client.mailboxOpen(folder.remote, { readOnly: true })
      const validity = String(opened.uidValidity)
      if (opened.exists === 0) return { validity, uids: [] }
      const uids = await this.#client.search({ all: true }, { uid: true })
      return Array.isArray(uids) ? { validity, uids } : null
    } catch (error) {
      if (isRefusal(error)) return null
      throw error
    }
  }

  /** A message of the folder that is open; null where it is empty or gone. @throws Fault MessageTooLarge */
  async message(uid: number): Promise<SourceMessage | null> {
    const told = await this.#client.fetchOne(
      String(uid),
      { size: true, flags: true, internalDate: true },
      { uid: true },
    )
    if (told === false || told === undefined) return null
    if ((told.size ?? 0) > this.#messageBytesMax) throw new Fault('MessageTooLarge')
    const brought = await this.#client.fetchOne(String(uid), { source: true }, { uid: true })
    if (brought === false || brought?.source === undefined || brought.source.length === 0) return null
    const flags = parseFlags([...(told.flags ?? [])].filter(name => name.startsWith('\\') || isKeyword(name)))
    const idate = told.internalDate === undefined ? Number.NaN : new Date(told.internalDate).getTime()
    return {
      content: mendPlain(brought.source),
      ...{ flags: flags?.bits ?? 0, keywords: flags?.keywords ?? [] },
      idate: Number.isFinite(idate) ? idate : null,
    }
  }

  async close(): Promise<void> {
    await this.#client.logout().catch(() => this.#client.close())
  }
}

/** It answered NO or BAD, and is still there. */
function isRefusal(error: unknown): boolean {
  const { responseStatus } = error as { responseStatus?: string }
  return responseStatus === 'NO' || responseStatus === 'BAD'
}

async function addresses(outward: Outward, { host, security }: ImapAccount): Promise<readonly string[]> {
  const found = await outward.addresses(host).catch((error: unknown) => {
    throw unreachable(error)
  })
  const clear = security === 'none'
  if (clear && !found.every(address => outward.permitsPrivate(address))) throw new Fault('SourceInsecure')
  return found
}

function clientOf(address: string, account: ImapAccount, messageBytesMax: number): Client {
  const { host, port, security, login, password } = account
  return new (imapFlow().ImapFlow)({
    ...{
      host: address,
      port,
      ...(address !== bare(host) && { servername: host }),
      secure: security === 'tls',
      logger: false,
    },
    ...(security !== 'tls' && { doSTARTTLS: security === 'starttls' }),
    ...{
      disableAutoIdle: true,
      connectionTimeout: limits.outward.connectMs,
      greetingTimeout: limits.outward.connectMs,
    },
    socketTimeout: transfer.sourceIdleMs,
    ...{ maxLiteralSize: messageBytesMax, maxResponseSize: 2 * messageBytesMax },
    auth: { user: login, pass: password },
  })
}

function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

/** What does not pass by itself is told at once; the rest is tried again. */
function unreachable(error: unknown): Fault {
  if (error instanceof Fault) return error
  const word = outwardFailure(error)
  const final = word === 'blocked' || word === 'unresolved' || word === 'tls'
  const text = `The other server could not be reached (${word})`
  return new Fault('SourceUnreachable', final ? { text, status: 400 } : { text })
}
