// Reads exports of another service with the same container: documents in BSON, collection by collection (api-semantics
// 10.3); original-documents.ts writes them.
//
// Ids, hashes and seeds are kept. What cannot be carried over is left out rather than guessed: security keys (their
// owners register them again), and anything of a form that is not known.

import { bson } from '#lib/process/lazy.ts'
import type { AccountEntry } from '#store/accounts/transfer.ts'

type Document = Readonly<Record<string, unknown>>
type Row = Record<string, unknown>

/** The row that a record stands for; null where it is of no known kind or has no owner. */
export function legacyEntry({ client, collection, entry }: Document): AccountEntry | null {
  const take = converters[`${String(client)}.${String(collection)}`]
  if (take === undefined || !(entry instanceof Uint8Array)) return null
  try {
    const document = bson().deserialize(entry, { promoteBuffers: true, promoteLongs: true }) as Document
    const converted = take(document)
    const owner = converted.part === 'user' ? converted.entry.id : converted.entry.user
    return isId(converted.entry.id) && isId(owner) ? converted : null
  } catch {
    return null
  }
}

const converters: Readonly<Record<string, (document: Document) => AccountEntry>> = {
  'users.users': userOf,
  'users.addresses': document => ({
    part: 'address',
    entry: {
      ...identity(document),
      address: text(document.address),
      name: text(document.name),
      tags: JSON.stringify(texts(document.tags)),
      meta: jsonText(document.metaData),
      internal: jsonText(document.internalData),
      created: moment(document.created) ?? 0,
    },
  }),
  'users.asps': document => ({
    part: 'asp',
    entry: {
      ...identity(document),
      // One without its selector is tried whenever an application password is.
      selector: selectorOf(document.prefix),
      hash: text(document.password),
      description: text(document.description),
      scopes: JSON.stringify(texts(document.scopes)),
      ttl: number(document.ttl) * 1000,
      expires: moment(document.expires),
      created: moment(document.created) ?? 0,
    },
  }),
  'database.addressregister': document => ({
    part: 'register',
    entry: {
      ...identity(document),
      address: text(document.address),
      name: text(document.name),
      used: moment(document.updated) ?? 0,
      disabled: document.disabled === true,
    },
  }),
  'database.autoreplies': document => ({
    part: 'autoreply',
    entry: {
      ...identity(document),
      status: document.status === true,
      name: text(document.name),
      subject: text(document.subject),
      text: text(document.text),
      html: text(document.html),
      starts: moment(document.start),
      ends: moment(document.end),
      created: moment(document.created) ?? 0,
    },
  }),
  'database.filters': filterOf,
  'database.mailboxes': document => ({
    part: 'mailbox',
    entry: {
      ...identity(document),
      path: text(document.path),
      specialUse: typeof document.specialUse === 'string' && document.specialUse !== '' ? document.specialUse : null,
      subscribed: document.subscribed !== false,
      hidden: document.hidden === true,
      encrypt: document.encryptMessages === true,
      retention: number(document.retention),
      created: 0,
    },
  }),
}

function userOf(document: Document): AccountEntry {
  const factors = texts(document.enabled2fa).filter(name => name === 'totp' || name === 'custom')
  const seed = text(document.seed)
  const limits: Row = {}
  for (const name of limitNames) if (number(document[name]) > 0) limits[name] = number(document[name])
  const options: Row = {
    spamLevel: typeof document.spamLevel === 'number' ? document.spamLevel : 50,
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(factors.length > 0 && { enabled2fa: factors }),
    ...(seed !== '' && { totp: { seed } }),
  }
  for (const name of plainTexts) if (text(document[name]) !== '') options[name] = text(document[name])
  for (const name of flags) if (typeof document[name] === 'boolean') options[name] = document[name]
  for (const name of textLists) if (texts(document[name]).length > 0) options[name] = texts(document[name])
  for (const name of ['metaData', 'internalData']) {
    const kept = jsonText(document[name])
    if (kept !== null) options[name] = JSON.parse(kept)
  }
  if (isDocument(document.featureFlags)) {
    const given = Object.entries(document.featureFlags).filter(([, value]) => typeof value === 'boolean')
    if (given.length > 0) options.featureFlags = Object.fromEntries(given)
  }
  if (number(document.retention) > 0) options.retention = number(document.retention)
  const targets = list(document.targets).map(target => text(isDocument(target) ? target.value : target))
  if (targets.length > 0) options.targets = targets.filter(value => value !== '')
  return {
    part: 'user',
    entry: {
      id: idText(document._id),
      ...{ username: text(document.username), name: text(document.name), address: text(document.address) },
      ...{ password: text(document.password), temporary: temporaryOf(document.tempPassword) },
      authVersion: number(document.authVersion),
      disabled: document.disabled === true,
      suspended: document.suspended === true,
      activated: document.activated === true,
      quota: number(document.quota),
      tags: JSON.stringify(texts(document.tags)),
      options: JSON.stringify(options),
      created: moment(document.created) ?? 0,
    },
  }
}

/** Limits of an account, which stand beside its other fields there. */
export const limitNames = [
  ...['recipients', 'forwards', 'filters', 'imapMaxUpload', 'imapMaxDownload', 'pop3MaxDownload'],
  ...['pop3MaxMessages', 'imapMaxConnections', 'receivedMax'],
]
const plainTexts = ['language', 'mtaRelay', 'pubKey', 'smimeCipher', 'smimeKeyTransport']
const flags = [
  ...['uploadSentMessages', 'encryptMessages', 'encryptForwarded', 'autoreply', 'requirePasswordChange'],
  'require2faEnabled',
]
const textLists = ['fromWhitelist', 'disabledScopes', 'smimeCerts']
/** Settings of an account that have one name and one form on both sides. */
export const optionNames = [...plainTexts, ...flags, ...textLists, 'spamLevel', 'retention', 'featureFlags'] as const

function filterOf(document: Document): AccountEntry {
  const query = isDocument(document.query) ? document.query : {}
  const headers = isDocument(query.headers) ? query.headers : {}
  const action = isDocument(document.action) ? document.action : {}
  const conditions: Row = {}
  for (const name of ['from', 'to', 'subject', 'listId'])
    if (text(headers[name])) conditions[name] = text(headers[name])
  if (text(query.text) !== '') conditions.text = text(query.text)
  if (number(query.ha) !== 0) conditions.ha = number(query.ha) > 0
  if (number(query.size) !== 0) conditions.size = number(query.size)
  const actions: Row = {}
  for (const name of ['seen', 'flag', 'delete', 'spam']) {
    const value = action[name]
    if (typeof value === 'boolean') actions[name] = value
    else if (typeof value === 'number') actions[name] = value > 0
  }
  const targets = list(action.targets).map(target => text(isDocument(target) ? target.value : target))
  if (targets.length > 0) actions.targets = targets.filter(value => value !== '')
  const mailbox = idText(action.mailbox)
  if (mailbox !== '') actions.mailbox = mailbox
  return {
    part: 'filter',
    entry: {
      ...identity(document),
      name: text(document.name) === '' ? null : text(document.name),
      disabled: document.disabled === true,
      query: JSON.stringify(conditions),
      action: JSON.stringify(actions),
      meta: jsonText(document.metaData),
      created: moment(document.created) ?? 0,
    },
  }
}

function temporaryOf(value: unknown): string | null {
  if (!isDocument(value) || text(value.password) === '') return null
  const form = {
    hash: text(value.password),
    validAfter: moment(value.validAfter) ?? moment(value.created) ?? 0,
    expires: moment(value.expires) ?? 0,
  }
  return JSON.stringify(form)
}

function selectorOf(value: unknown): string {
  const given = text(value)
  return /^1?[0-9a-f]$/.test(given) ? given : ''
}

function identity(document: Document): Row {
  return { id: idText(document._id), user: idText(document.user) }
}

/** An id of twelve bytes as text; empty where it is none. */
function idText(value: unknown): string {
  if (typeof value === 'string') return isId(value) ? value : ''
  const shown = isDocument(value) && '_bsontype' in value ? String(value) : ''
  return isId(shown) ? shown : ''
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{24}$/.test(value)
}

function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function texts(value: unknown): string[] {
  return list(value).filter(one => typeof one === 'string')
}

/** Whole numbers of any of the forms a document may hold them in; 0 where it is none. */
function number(value: unknown): number {
  const plain = typeof value === 'number' ? value : Number(value ?? 0)
  return Number.isFinite(plain) ? Math.trunc(plain) : 0
}

function moment(value: unknown): number | null {
  return value instanceof Date && Number.isFinite(value.getTime()) ? value.getTime() : null
}

/** The text of an object, given as text or as itself; null where it is none. */
function jsonText(value: unknown): string | null {
  try {
    const read: unknown = typeof value === 'string' ? JSON.parse(value) : value
    return isDocument(read) ? JSON.stringify(read) : null
  } catch {
    return null
  }
}
