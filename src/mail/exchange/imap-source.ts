// An account on another IMAP server, to be read from: its folders, and their messages one after the other.
//
// A piece of what the other server sends is bounded, how many pieces it sends is not, nor what it costs to read them: in a service it
// is read on a thread of its own (workers/mail-source.ts). Nothing it says gets into a text or a log, and neither does the password.
// Nothing is changed there.

import { createHash } from 'node:crypto'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { imapFlow } from '#lib/process/lazy.ts'
import { isKeyword, parseFlags } from '../flags.ts'
import { mendPlain } from '../mime/line-end.ts'
import { normalizePath, pathProblem } from '../path.ts'
import { usualUse } from './maildir.ts'

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
    // What went there is nobody's to hear of: of a range of millions, in one short line, each number would be told.
    Object.assign(client, { untaggedVanished: async () => {} })
  }

  /** Connects and logs in. @throws Fault SourceRefused; else what the client failed with */
  static async open(
    address: string,
    account: ImapAccount,
    { messageBytesMax }: { readonly messageBytesMax: number },
  ): Promise<ImapSource> {
    const client = clientOf(address, account, messageBytesMax)
    const source = new ImapSource(client, messageBytesMax)
    try {
      await client.connect()
      return source
    } catch (error) {
      client.close()
      throw (error as { authenticationFailed?: boolean }).authenticationFailed === true
        ? new Fault('SourceRefused')
        : error
    }
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
    ...{ maxLineLength: transfer.sourceLineBytesMax, maxLiteralSize: messageBytesMax },
    maxResponseSize: 2 * messageBytesMax,
    auth: { user: login, pass: password },
  })
}

function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}
