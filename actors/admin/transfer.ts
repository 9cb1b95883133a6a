// Accounts on their way out and in: everything of them but their mail (api-semantics 10.3).
//
// An export is streamed, account by account, each as it is at one moment: documents as another service has them, so that
// one can leave as one can come, or our own rows, which lack nothing and end with a checksum. An import is read twice from a
// scratch file: first to the end, where a foreign, shortened or changed file is refused before anything is written; then
// each account is one unit. What is there already stays as it is, so that an import may be run again. One-time code seeds
// and passwords in URLs leave unsealed, as the hashes beside them do, and are sealed anew by the service they come to.

import { ContainerWriter, type Frame, kinds, readContainer } from '#lib/bytes/container.ts'
import { Fault } from '#lib/fault.ts'
import type { SecretBox } from '#lib/secret/secret-box.ts'
import {
  type AccountEntry,
  type AccountFilter,
  type AccountPart,
  accountEntries,
  accountNumbers,
  accountParts,
} from '#store/accounts/transfer.ts'
import type { UserOptions } from '#store/accounts/users.ts'
import { Spool } from '#store/bodies/spool.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { ActorSystem } from '../kernel/system.ts'
import { importAccount } from '../user/import.ts'
import { originalRecord } from './original-documents.ts'
import { legacyEntry } from './original-export.ts'

const ownType = 'teal_data_export'
const otherType = 'wildduck_data_export'
/** Rises when what is exported cannot be read by older services any more. */
const ownVersion = 1
const pageAccounts = 50

/** `documents` is what other services take, too; `rows` is ours, whole and with a checksum. */
export const exportForms = ['documents', 'rows'] as const
export type ExportForm = (typeof exportForms)[number]

export interface TransferCounts {
  entries: number
  imported: number
  failed: number
  existing: number
}

export interface TransferOptions {
  readonly dataDir: string
  readonly system: ActorSystem
  /** Of one-time code seeds. */
  readonly seal: SecretBox
}

export class Transfer {
  readonly #options: TransferOptions

  constructor(options: TransferOptions) {
    this.#options = options
  }

  /** An export of the accounts that fit. */
  async *export(filter: AccountFilter, created: number, form: ExportForm): AsyncGenerator<Buffer> {
    const { read } = this.#options.system
    const writer = new ContainerWriter()
    const { users, tags } = filter
    yield writer.record(kinds.header, {
      ...(form === 'rows' ? { type: ownType, version: ownVersion } : { type: otherType }),
      ...(users !== null && { users }),
      ...(tags !== null && { tags }),
      created: new Date(created),
    })
    for (let after = 0; ; ) {
      const page = await accountNumbers(read, filter, after, pageAccounts)
      for (const num of page) yield await this.#account(read, num, writer, form)
      after = page.at(-1) ?? 0
      if (page.length < pageAccounts) break
    }
    if (form === 'rows') yield writer.end()
  }

  async #account(read: Reader, num: number, writer: ContainerWriter, form: ExportForm): Promise<Buffer> {
    const records: Buffer[] = []
    for (const { part, entry } of await accountEntries(read, num)) {
      const shown = (await this.#turned({ part, entry }, 'open')).entry
      const own = { client: 'teal', collection: part, entry: shown }
      const data = form === 'rows' ? own : originalRecord({ part, entry: shown })
      if (data !== null) records.push(writer.record(kinds.entry, data))
    }
    return Buffer.concat(records)
  }

  /**
   * Takes an export in, ours or that of a service whose exports have the same container.
   *
   * @throws Fault INVALID_SEQUENCE, INVALID_DATA, ExportInvalid before anything is written
   */
  async import(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<TransferCounts> {
    const spool = await Spool.fill(this.#options.dataDir, chunks)
    try {
      const type = await checked(spool.read())
      return await this.#take(spool.read(), type, signal)
    } finally {
      await spool.close()
    }
  }

  async #take(chunks: AsyncIterable<Uint8Array>, type: string, signal: AbortSignal): Promise<TransferCounts> {
    const counts = { entries: 0, imported: 0, failed: 0, existing: 0 }
    let account: { id: string; entries: AccountEntry[] } | undefined
    const settle = async () => {
      if (account !== undefined) await this.#settle(account, counts, signal)
      account = undefined
    }
    for await (const { kind, data } of readContainer(chunks)) {
      if (kind !== kinds.entry) continue
      counts.entries += 1
      const entry = type === ownType ? ownEntry(data) : legacyEntry(data)
      if (entry === null) {
        counts.failed += 1
        continue
      }
      const id = String(entry.part === 'user' ? entry.entry.id : entry.entry.user)
      if (account?.id !== id) {
        await settle()
        account = { id, entries: [] }
      }
      account.entries.push(entry)
    }
    await settle()
    return counts
  }

  async #settle(
    account: { id: string; entries: readonly AccountEntry[] },
    counts: TransferCounts,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted()
    try {
      const entries = await Promise.all(account.entries.map(one => this.#turned(one, 'seal')))
      const { imported, existing, failed } = await this.#options.system
        .handle(account.id)
        .run(importAccount, { entries }, signal)
      counts.imported += imported
      counts.existing += existing
      counts.failed += failed
    } catch (error) {
      // A name that is taken meanwhile, or a form that is none, is this account's alone.
      if (!(error instanceof Fault) || error.status >= 500) throw error
      counts.failed += account.entries.length
    }
  }

  /** An entry with its secrets opened or sealed. */
  async #turned(one: AccountEntry, how: 'open' | 'seal'): Promise<AccountEntry> {
    const { part, entry } = one
    if (part === 'filter') return { part, entry: { ...entry, action: await this.#urls(entry.action, how) } }
    if (part !== 'user') return one
    return { part, entry: { ...entry, options: await this.#urls(await this.#seeds(entry.options, how), how) } }
  }

  /** Options of an account or an action of a filter (JSON) with the passwords of their URLs opened or sealed. */
  async #urls(text: unknown, how: 'open' | 'seal'): Promise<unknown> {
    const options = optionsOf(text)
    if (typeof options !== 'object' || options === null) return text
    const { secrets } = this.#options.system
    const turn = async (url: unknown) => {
      if (typeof url !== 'string') return url
      return how === 'open' ? secrets.open(url).catch(() => url) : secrets.seal(await secrets.open(url))
    }
    const { mtaRelay, targets } = options
    if (mtaRelay === undefined && targets === undefined) return text
    return JSON.stringify({
      ...options,
      ...(mtaRelay !== undefined && { mtaRelay: await turn(mtaRelay) }),
      ...(Array.isArray(targets) && { targets: await Promise.all(targets.map(turn)) }),
    })
  }

  /** The options of an account (JSON) with its seed opened or sealed; what cannot be opened or read stays as it is. */
  async #seeds(text: unknown, how: 'open' | 'seal'): Promise<string> {
    const options = optionsOf(text)
    const seed = options?.totp?.seed
    if (options === null || typeof seed !== 'string') return String(text)
    const { seal } = this.#options
    const sealed = how === 'open' ? await seal.open(seed).catch(() => seed) : await this.#sealAnew(seed)
    return JSON.stringify({ ...options, totp: { ...options.totp, seed: sealed } })
  }

  /** A seed that is sealed still must be one that this service can open. */
  async #sealAnew(seed: string): Promise<string> {
    const { seal } = this.#options
    return seal.seal(await seal.open(seed))
  }
}

/** What is no JSON is nothing: whoever takes the account in says so. */
function optionsOf(text: unknown): UserOptions | null {
  try {
    return JSON.parse(String(text)) as UserOptions | null
  } catch {
    return null
  }
}

/** Looks through a whole container. @returns the type its header names */
async function checked(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let type = ''
  let ended = false
  const counts: Record<string, number> = {}
  for await (const frame of readContainer(chunks)) {
    if (ended) throw new Fault('ExportInvalid', { text: 'The export goes on behind its end' })
    if (type === '') type = headerType(frame)
    else if (frame.kind === kinds.entry) {
      const name = String(frame.data.collection)
      counts[name] = (counts[name] ?? 0) + 1
    } else if (frame.kind === kinds.end && type === ownType) {
      checkEnd(frame, frame.before, counts)
      ended = true
    } else throw new Fault('ExportInvalid')
  }
  if (type === ownType && !ended) throw new Fault('ExportInvalid', { text: 'The export is cut short' })
  return type
}

function headerType({ kind, data }: Frame): string {
  if (kind !== kinds.header) throw new Fault('INVALID_DATA')
  if (data.type === otherType) return otherType
  if (data.type !== ownType) throw new Fault('INVALID_DATA')
  if (typeof data.version !== 'number' || data.version > ownVersion) {
    throw new Fault('ExportInvalid', { text: 'The export was made by a later version' })
  }
  return ownType
}

function checkEnd({ data }: Frame, before: Buffer, counts: Readonly<Record<string, number>>): void {
  const { sha256 } = data
  const said = data.counts as Readonly<Record<string, number>> | undefined
  const names = new Set([...Object.keys(counts), ...Object.keys(said ?? {})])
  const same = sha256 instanceof Uint8Array && before.equals(sha256)
  if (!same || [...names].some(name => counts[name] !== said?.[name])) {
    throw new Fault('ExportInvalid', { text: 'The export was changed or damaged: its checksum is wrong' })
  }
}

function ownEntry({ client, collection, entry }: Readonly<Record<string, unknown>>): AccountEntry | null {
  const part = accountParts.find(one => one === collection)
  if (client !== 'teal' || part === undefined || typeof entry !== 'object' || entry === null) return null
  const row = entry as Record<string, unknown>
  const owner = part === 'user' ? row.id : row.user
  if (!isId(row.id) || !isId(owner)) return null
  return { part: part satisfies AccountPart, entry: row }
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{24}$/.test(value)
}
