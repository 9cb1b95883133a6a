// An account on another IMAP server, to be read from: its folders, and their messages one after the other.
//
// A piece of what the other server sends is bounded, how many pieces it sends is not, nor what it costs to read them: in a service it
// is read on a thread of its own (workers/mail-source.ts). Nothing it says gets into a text or a log, and neither does the password.
// Nothing is changed there. A message that it refuses, or that a connection ends over, stands in the way of no other: the connection is
// opened anew behind it.

import { createHash } from 'node:crypto'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { imapFlow } from '#lib/process/lazy.ts'
import { isKeyword, parseFlags } from '../flags.ts'
import { mendPlain } from '../mime/line-end.ts'
import { normalizePath, pathProblem, takenPath } from '../path.ts'
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

/** Why a message is not had: `gone` or empty there, `large` beyond what is taken, or one that the other server does not hand over. */
export type Withheld = 'gone' | 'large' | 'refused'

export type SourceClient = InstanceType<ReturnType<typeof imapFlow>['ImapFlow']>

const uses = ['\\Sent', '\\Trash', '\\Drafts', '\\Junk', '\\Archive']
const { transfer } = limits

export class ImapSource {
  readonly #connect: () => Promise<SourceClient>
  readonly #messageBytesMax: number
  #client: SourceClient
  /** The folder that is open. */
  #open: { readonly remote: string; readonly validity: string } | undefined
  /** Messages, one after the other, that a connection ended over. */
  #endings = 0

  private constructor(connect: () => Promise<SourceClient>, client: SourceClient, messageBytesMax: number) {
    this.#connect = connect
    this.#client = client
    this.#messageBytesMax = messageBytesMax
  }

  /** @param connect makes a connection that is logged in, also later in the place of one that ended */
  static async from(connect: () => Promise<SourceClient>, messageBytesMax: number): Promise<ImapSource> {
    return new ImapSource(connect, await connect(), messageBytesMax)
  }

  /** Connects and logs in. @throws Fault SourceRefused; else what the client failed with */
  static open(
    address: string,
    account: ImapAccount,
    { messageBytesMax }: { readonly messageBytesMax: number },
  ): Promise<ImapSource> {
    return ImapSource.from(() => connected(address, account, messageBytesMax), messageBytesMax)
  }

  /** Whether the connection is there. */
  get usable(): boolean {
    return this.#client.usable
  }

  async folders(): Promise<SourceFolder[]> {
    const listed = await this.#client.list()
    const folders: SourceFolder[] = []
    for (const { flags, path: remote, delimiter, specialUse, subscribed } of listed.slice(0, transfer.foldersMax)) {
      if (flags.has('\\Noselect') || flags.has('\\NonExistent')) continue
      const path = remote.toUpperCase() === 'INBOX' ? 'INBOX' : takenPath(remote.split(delimiter || '/').join('/'))
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
   * @returns null where the other server refuses, or names none of those it said there are
   */
  async select(folder: SourceFolder): Promise<{ validity: string; uids: number[] } | null> {
    // The last message of the folder before may have ended it.
    if (!this.#client.usable) this.#client = await this.#connect()
    try {
      const opened = await this.#client.mailboxOpen(folder.remote, { readOnly: true })
      const validity = String(opened.uidValidity)
      this.#open = { remote: folder.remote, validity }
      if (opened.exists === 0) return { validity, uids: [] }
      const uids = await this.#uids()
      return uids.length > 0 || this.#exists === 0 ? { validity, uids } : null
    } catch (error) {
      if (isRefusal(error)) return null
      throw error
    }
  }

  /** How many messages the folder that is open has by now. */
  get #exists(): number {
    const { mailbox } = this.#client
    return mailbox === false ? 0 : mailbox.exists
  }

  /** Numbers of all messages there. A server whose search names fewer than it said there are is asked for each. */
  async #uids(): Promise<number[]> {
    const found = await this.#client.search({ all: true }, { uid: true })
    const uids = new Set(Array.isArray(found) ? found : [])
    if (uids.size >= this.#exists) return [...uids]
    for await (const { uid } of this.#client.fetch('1:*', { uid: true })) uids.add(uid)
    return [...uids].sort((one, other) => one - other)
  }

  /**
   * A message of the folder that is open, or why there is none. What a connection ends over is asked for once more on another
   * one; where that ends, too, the other server cannot hand it over.
   *
   * @throws Fault SourceUnreachable, SourceRefused, or what the client failed with, where there is no other connection; what ended it where one
   *   message after the other does
   */
  async message(uid: number): Promise<SourceMessage | Withheld> {
    for (let again = false; ; again = true) {
      if (!this.#client.usable) await this.#reopen()
      try {
        const message = await this.#fetch(uid)
        this.#endings = 0
        return message
      } catch (error) {
        if (this.#client.usable && isRefusal(error)) return 'refused'
        if (this.#client.usable) throw error
        if (!again) continue
        this.#endings += 1
        if (this.#endings >= transfer.endingsMax) throw error
        return 'refused'
      }
    }
  }

  async #fetch(uid: number): Promise<SourceMessage | Withheld> {
    const about = { size: true, flags: true, internalDate: true }
    const told = await this.#client.fetchOne(String(uid), about, { uid: true })
    if (told === false || told === undefined) return 'gone'
    const { size = 0 } = told
    if (size > this.#messageBytesMax) return 'large'
    const brought = await this.#client.fetchOne(String(uid), { source: true }, { uid: true })
    const source = brought === false ? undefined : brought?.source
    // In the place of a text there may be NIL.
    if (!Buffer.isBuffer(source) || source.length === 0) return size > 0 ? 'refused' : 'gone'
    const flags = parseFlags([...(told.flags ?? [])].filter(name => name.startsWith('\\') || isKeyword(name)))
    const idate = told.internalDate === undefined ? Number.NaN : new Date(told.internalDate).getTime()
    return {
      content: mendPlain(source),
      ...{ flags: flags?.bits ?? 0, keywords: flags?.keywords ?? [] },
      idate: Number.isFinite(idate) ? idate : null,
    }
  }

  /** Another connection in the place of one that ended, at the folder where that was. */
  async #reopen(): Promise<void> {
    this.#client = await this.#connect()
    if (this.#open === undefined) return
    const { remote, validity } = this.#open
    const opened = await this.#client.mailboxOpen(remote, { readOnly: true }).catch(error => {
      if (isRefusal(error)) return undefined
      throw error
    })
    // Other numbers stand for other messages: whoever asks again asks for those.
    if (opened !== undefined && String(opened.uidValidity) === validity) return
    throw new Fault('SourceUnreachable', {
      text: 'The other server has another folder in the place of one that was open',
    })
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

/** A connection that is logged in. @throws Fault SourceRefused; else what the client failed with */
async function connected(address: string, account: ImapAccount, messageBytesMax: number): Promise<SourceClient> {
  const { host, port, security, login, password } = account
  const client = sourceClient(
    {
      ...{ host: address, port, ...(address !== bare(host) && { servername: host }) },
      secure: security === 'tls',
      ...(security !== 'tls' && { doSTARTTLS: security === 'starttls' }),
      auth: { user: login, pass: password },
    },
    messageBytesMax,
  )
  try {
    await client.connect()
    return client
  } catch (error) {
    client.close()
    throw (error as { authenticationFailed?: boolean }).authenticationFailed === true
      ? new Fault('SourceRefused')
      : error
  }
}

type ClientOptions = ConstructorParameters<ReturnType<typeof imapFlow>['ImapFlow']>[0]

/** A client for reading that is not connected yet, with the bounds of what the other server may send and take. */
export function sourceClient(options: ClientOptions, messageBytesMax: number): SourceClient {
  const client = new (imapFlow().ImapFlow)({
    ...{ logger: false, disableAutoIdle: true, socketTimeout: transfer.sourceIdleMs },
    ...{ connectionTimeout: limits.outward.connectMs, greetingTimeout: limits.outward.connectMs },
    ...{ maxLineLength: transfer.sourceLineBytesMax, maxLiteralSize: messageBytesMax },
    maxResponseSize: 2 * messageBytesMax,
    ...options,
  })
  // Also said by what is under way, which then fails.
  client.on('error', () => {})
  // What went there is nobody's to hear of: of a range of millions, in one short line, each number would be told.
  return Object.assign(client, { untaggedVanished: async () => {} })
}

function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}
