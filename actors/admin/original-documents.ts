// Rows of an account as documents of the service whose container exports share (api-semantics 10.3): what
// original-export.ts reads.
//
// So that an account can leave as it could come: ids, hashes and seeds are kept. Only what is known there is written, under
// the names it has there; security keys stay behind, which their owners register again, and so does the way of a message.
// What that service derives from a value and looks things up by (names without dots, tags in lower case) is written, too.

import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { bson } from '#lib/process/lazy.ts'
import { normalizeAddress, normalizeUsername } from '#mail/address/address.ts'
import { fold } from '#mail/text/fold.ts'
import type { AccountEntry, AccountPart } from '#store/accounts/transfer.ts'
import { limitNames, optionNames } from './original-export.ts'

type Row = Readonly<Record<string, unknown>>
type Document = Record<string, unknown>

/** The data of a record of the container. */
export interface OriginalRecord {
  readonly [name: string]: unknown
  readonly client: 'users' | 'database'
  readonly collection: string
  /** BSON. */
  readonly entry: Uint8Array
}

/** The record that a row becomes, its seed opened; null for what the other service keeps nowhere. */
export function originalRecord({ part, entry }: AccountEntry): OriginalRecord | null {
  const form = forms[part]
  if (form === undefined) return null
  const [client, collection, make] = form
  const owner = part === 'user' ? {} : { user: id(entry.user) }
  const document: Document = { _id: id(entry.id), ...owner, ...make(entry) }
  return { client, collection, entry: bson().serialize(document, { ignoreUndefined: true }) }
}

type Form = readonly [OriginalRecord['client'], string, (row: Row) => Document]

const forms: Readonly<Partial<Record<AccountPart, Form>>> = {
  user: ['users', 'users', userOf],
  address: [
    'users',
    'addresses',
    row => ({
      ...{ ...addressOf(row), ...tagsOf(row.tags), created: moment(row.created) },
      ...{ metaData: row.meta ?? undefined, internalData: row.internal ?? undefined },
    }),
  ],
  asp: [
    'users',
    'asps',
    row => ({
      ...{ password: row.hash, prefix: row.selector || undefined, description: row.description },
      ...{ scopes: json(row.scopes), ttl: Math.round(Number(row.ttl) / 1000) || undefined },
      ...{ expires: moment(row.expires), created: moment(row.created) },
    }),
  ],
  register: [
    'database',
    'addressregister',
    row => ({ ...addressOf(row), updated: moment(row.used), disabled: truth(row.disabled) }),
  ],
  autoreply: [
    'database',
    'autoreplies',
    row => ({
      ...{ status: truth(row.status), name: row.name, subject: row.subject, text: row.text, html: row.html },
      ...{ start: moment(row.starts) ?? false, end: moment(row.ends) ?? false, created: moment(row.created) },
    }),
  ],
  filter: ['database', 'filters', filterOf],
  mailbox: [
    'database',
    'mailboxes',
    // Mail stays behind, so a mailbox begins anew.
    row => ({
      ...{ path: row.path, specialUse: row.specialUse ?? undefined, uidValidity: row.uidValidity, uidNext: 1 },
      ...{ modifyIndex: 1, subscribed: truth(row.subscribed), hidden: truth(row.hidden) },
      ...{ encryptMessages: truth(row.encrypt), retention: row.retention, flags: [] },
    }),
  ],
}

function userOf(row: Row): Document {
  const options = json(row.options) as Document
  const own = Object.fromEntries(optionNames.map(name => [name, options[name]]))
  const bounds = (options.limits ?? {}) as Document
  const factors = (options.enabled2fa ?? []) as readonly string[]
  return {
    ...{ username: row.username, unameview: normalizeUsername(text(row.username)), name: row.name },
    ...{ address: row.address || undefined, password: row.password, authVersion: row.authVersion },
    ...{ disabled: truth(row.disabled), suspended: truth(row.suspended), activated: truth(row.activated) },
    ...{ quota: row.quota, storageUsed: 0, ...tagsOf(row.tags), created: moment(row.created), ...own },
    ...Object.fromEntries(limitNames.map(name => [name, bounds[name]])),
    // Security keys stay behind: who has nothing else would be kept out by a factor that is not there.
    enabled2fa: factors.filter(name => name !== 'webauthn'),
    seed: (options.totp as Row | undefined)?.seed,
    targets: targetsOf(options.targets),
    metaData: options.metaData && JSON.stringify(options.metaData),
    internalData: options.internalData && JSON.stringify(options.internalData),
    tempPassword: temporaryOf(row.temporary),
  }
}

/** There it is good for a day from when it was made, whatever `expires` says. */
function temporaryOf(value: unknown): Document | undefined {
  if (value === null) return undefined
  const { hash, validAfter, expires } = json(value) as Row
  const created = moment(Number(expires) - limits.credential.temporaryMs)
  return { password: hash, created, validAfter: moment(validAfter), expires: moment(expires) }
}

function filterOf(row: Row): Document {
  const { from, to, subject, listId, text: words, ha, size } = json(row.query) as Document
  const { mailbox, targets, seen, flag, delete: remove, spam } = json(row.action) as Document
  return {
    name: row.name ?? undefined,
    query: {
      headers: { from, to, subject, listId },
      text: words,
      ha: ha === undefined ? undefined : ha ? 1 : -1,
      size,
    },
    action: {
      ...{ seen, flag, delete: remove, spam, targets: targetsOf(targets) },
      mailbox: mailbox === undefined ? undefined : id(mailbox),
    },
    ...{ disabled: truth(row.disabled), metaData: row.meta ?? undefined, created: moment(row.created) },
  }
}

/** Where mail is sent on to, with what each is (api-semantics 6.1). */
function targetsOf(value: unknown): Document[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  return value.map(target => {
    const type = /^smtps?:/i.test(target) ? 'relay' : /^https?:/i.test(target) ? 'http' : 'mail'
    return { id: id(newId()), type, value: target }
  })
}

function addressOf({ address, name }: Row): Document {
  return { address, addrview: normalizeAddress(text(address)).key, name }
}

function tagsOf(value: unknown): Document {
  const tags = json(value) as string[]
  return { tags, tagsview: tags.map(fold) }
}

function id(value: unknown): unknown {
  return bson().ObjectId.createFromHexString(text(value))
}

function json(value: unknown): unknown {
  return JSON.parse(text(value))
}

function text(value: unknown): string {
  return String(value)
}

function truth(value: unknown): boolean {
  return value === true || value === 1
}

function moment(value: unknown): Date | undefined {
  return typeof value === 'number' || typeof value === 'bigint' ? new Date(Number(value)) : undefined
}
