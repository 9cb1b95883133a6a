// Taking an exported account in, row by row in one unit. What is there already stays as it is; a row that is not of the
// form it should have counts as failed and hinders no other.
//
// The form of every row is looked at before the first write.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { isAddress, normalizeAddress, normalizeUsername } from '#mail/address/address.ts'
import { type Card, emptyCard } from '#mail/contact/card.ts'
import type { FilterAction, FilterQuery } from '#mail/filter/filter.ts'
import { checkPath } from '#mail/path.ts'
import { addressInsert, findAddressByKey, type Signature } from '#store/accounts/address.ts'
import { addressBookInsert, isInAddressBook } from '#store/accounts/address-book.ts'
import { contactInsert, contactWords, findContactByUid } from '#store/accounts/contact.ts'
import { aspInsert, credentialInsert, listCredentials } from '#store/accounts/credentials.ts'
import { type AccountEntry, hasEntry } from '#store/accounts/transfer.ts'
import {
  findUserByKey,
  type TemporaryPassword,
  type User,
  type UserOptions,
  userInsert,
  userUpdate,
} from '#store/accounts/users.ts'
import { mailboxInsert } from '#store/mailboxes/mailboxes.ts'
import { autoreplyPut, hasAutoreply } from '#store/rules/autoreply.ts'
import { filterInsert } from '#store/rules/filter.ts'
import {
  findSuppression,
  suppressionKey,
  suppressionPut,
  suppressionRow,
  suppressionSources,
} from '#store/sending/suppression.ts'
import { newMailbox } from './account.ts'
import { mailboxAt, requireUser, type UserCommand, type UserTurn } from './user.ts'

export type ImportCounts = Record<'imported' | 'existing' | 'failed', number>

type Row = Readonly<Record<string, unknown>>

/** Takes the rows of one account in. */
export const importAccount: UserCommand<{ entries: readonly AccountEntry[] }, ImportCounts> = {
  name: 'user.import',
  async run(turn, { entries }) {
    const counts = { imported: 0, existing: 0, failed: 0 }
    // The form of every row is looked at before the first write, which must not be followed by a fault.
    const known = new Set<string>()
    const taken = new Taken()
    for (const { part, entry } of entries) {
      const name = `${part} ${String(entry.id)}`
      if (known.has(name)) {
        counts.existing += 1
        continue
      }
      known.add(name)
      counts[await takeRow(turn, part, entry, taken)] += 1
    }
    const { user } = turn.state
    if (user !== undefined && counts.imported > 0) await finish(turn, user, entries)
    return counts
  },
}

/** What a store has once, as far as this unit brings it: the other service may have it twice, in letters that are the same here. */
class Taken {
  readonly #names = new Set<string>()

  has(part: AccountEntry['part'], name: string): boolean {
    return this.#names.has(`${part} ${name}`)
  }

  add(part: AccountEntry['part'], name: string): void {
    this.#names.add(`${part} ${name}`)
  }
}

async function takeRow(
  turn: UserTurn,
  part: AccountEntry['part'],
  row: Row,
  taken: Taken,
): Promise<keyof ImportCounts> {
  try {
    if (part === 'user') return await takeUser(turn, row)
    if (turn.state.user === undefined) return 'failed'
    requireUser(turn)
    if (await hasEntry(turn.read, part, text(row.id))) return 'existing'
    return await takers[part](turn, row, taken)
  } catch (error) {
    if (error instanceof Malformed || error instanceof Fault || error instanceof SyntaxError) return 'failed'
    throw error
  }
}

async function takeUser(turn: UserTurn, row: Row): Promise<keyof ImportCounts> {
  const { state } = turn
  if (state.user !== undefined) return 'existing'
  const username = text(row.username)
  const key = normalizeUsername(username)
  if (key === '') throw new Malformed()
  if ((await findUserByKey(turn.read, key)) !== undefined) return 'existing'
  const user: User = {
    ...{ num: state.num, id: state.id, username, key, deleted: null },
    name: text(row.name),
    address: text(row.address),
    password: text(row.password),
    temporary: row.temporary === null ? null : temporaryOf(text(row.temporary)),
    authVersion: whole(row.authVersion),
    disabled: truth(row.disabled),
    suspended: truth(row.suspended),
    activated: truth(row.activated),
    quota: whole(row.quota),
    tags: texts(row.tags),
    options: formed(row.options, optionForms),
    created: moment(row.created),
  }
  turn.write(userInsert, user, 1000)
  state.user = user
  return 'imported'
}

type Taker = (turn: UserTurn, row: Row, taken: Taken) => keyof ImportCounts | Promise<keyof ImportCounts>

const takers: Readonly<Record<Exclude<AccountEntry['part'], 'user'>, Taker>> = {
  async address(turn, row, taken) {
    const given = text(row.address)
    if (!given.includes('*') && !isAddress(given)) throw new Malformed()
    const { key, address, domain } = normalizeAddress(given)
    if (taken.has('address', key) || (await findAddressByKey(turn.read, key)) !== undefined) return 'existing'
    const base = { id: text(row.id), key, address, domain, user: turn.state.id, name: text(row.name) }
    const tags = texts(row.tags)
    const more = { metaData: anything(row.meta), internalData: anything(row.internal), forward: null }
    const signature = row.signature == null ? undefined : formed(row.signature, signatureForms)
    turn.write(addressInsert, { ...base, tags, ...more, signature, created: moment(row.created) })
    taken.add('address', key)
    return 'imported'
  },
  asp(turn, row) {
    turn.write(aspInsert, {
      ...{ id: text(row.id), user: turn.state.num, selector: text(row.selector), hash: text(row.hash) },
      ...{
        description: text(row.description),
        scopes: texts(row.scopes),
        ttl: Math.min(whole(row.ttl), limits.credential.aspTtlMax),
      },
      ...{ expires: orNull(row.expires), created: moment(row.created) },
    })
    return 'imported'
  },
  async credential(turn, row, taken) {
    const rawId = text(row.rawId)
    const there = await listCredentials(turn.read, turn.state.num)
    if (taken.has('credential', rawId) || there.some(one => one.rawId === rawId)) return 'existing'
    turn.write(credentialInsert, {
      ...{ id: text(row.id), user: turn.state.num, rawId, publicKey: text(row.publicKey) },
      ...{ counter: whole(row.counter), description: text(row.description), attachment: text(row.attachment) },
      created: moment(row.created),
    })
    taken.add('credential', rawId)
    return 'imported'
  },
  async register(turn, row, taken) {
    const key = normalizeAddress(text(row.address)).key
    if (taken.has('register', key) || (await isInAddressBook(turn.read, turn.state.num, key))) return 'existing'
    turn.write(addressBookInsert, {
      ...{ id: text(row.id), user: turn.state.num, key, address: text(row.address), name: text(row.name) },
      ...{ used: moment(row.used), disabled: truth(row.disabled), known: truth(row.known) },
    })
    taken.add('register', key)
    return 'imported'
  },
  async contact(turn, row, taken) {
    const card: Card = { ...emptyCard, ...formed(row.card, cardForms) }
    const { uid } = card
    if (uid === '' || card.name === '') throw new Malformed()
    if (taken.has('contact', uid) || (await findContactByUid(turn.read, turn.state.num, uid))) return 'existing'
    turn.write(contactInsert, {
      ...{ id: text(row.id), user: turn.state.num, ...contactWords(card), card },
      ...{ created: moment(row.created), changed: moment(row.changed) },
    })
    taken.add('contact', uid)
    return 'imported'
  },
  async suppression(turn, row) {
    const { id: user } = turn.state
    const address = suppressionKey(text(row.address))
    if (!isAddress(address)) throw new Malformed()
    if ((await findSuppression(turn.read, user, address)) !== undefined) return 'existing'
    const source = suppressionSources.find(one => one === row.source)
    if (source === undefined) throw new Malformed()
    const until = Math.min(moment(row.until), turn.now + limits.suppression.longestMs)
    const said = { status: text(row.status).slice(0, 20), response: text(row.response).slice(0, 1000) }
    const given = { user, address, created: moment(row.created), until, failures: whole(row.failures), ...said, source }
    turn.write(suppressionPut, { row: suppressionRow(given), user, rowsMax: limits.suppression.accountMax })
    return 'imported'
  },
  async autoreply(turn, row, taken) {
    if (taken.has('autoreply', '') || (await hasAutoreply(turn.read, turn.state.num))) return 'existing'
    const { num: user } = turn.state
    turn.write(autoreplyPut, {
      ...{ user, id: text(row.id), status: truth(row.status), name: text(row.name) },
      ...{ subject: text(row.subject), text: text(row.text), html: text(row.html) },
      ...{ start: orNull(row.starts), end: orNull(row.ends), created: moment(row.created) },
    })
    taken.add('autoreply', '')
    return 'imported'
  },
  filter(turn, row) {
    turn.write(filterInsert, {
      ...{ num: turn.sequence.next('filter'), id: text(row.id), user: turn.state.num },
      ...{ name: row.name === null ? null : text(row.name), disabled: truth(row.disabled) },
      ...{ query: formed(row.query, queryForms), action: formed(row.action, actionForms) },
      ...{ metaData: row.meta === null ? undefined : object(row.meta), offences: null },
      created: moment(row.created),
    })
    return 'imported'
  },
  async mailbox(turn, row) {
    const path = checkPath(text(row.path))
    if (mailboxAt(turn.state, { path }) !== undefined) return 'existing'
    const specialUse = row.specialUse === null ? null : text(row.specialUse)
    const taken = specialUse !== null && mailboxAt(turn.state, { specialUse }) !== undefined
    const retention = Math.min(Math.max(duration(row.retention), 0), limits.user.retentionMsMax)
    const mailbox = { ...(await newMailbox(turn, path, taken ? null : specialUse)), id: text(row.id), retention }
    mailbox.subscribed = truth(row.subscribed)
    mailbox.hidden = truth(row.hidden)
    mailbox.encrypt = truth(row.encrypt)
    turn.write(mailboxInsert, mailbox)
    turn.state.mailboxes.set(mailbox.num, mailbox)
    return 'imported'
  },
}

/** What an account must have whatever the file lacked: INBOX, a main address that is its own, factors that are there. */
async function finish(turn: UserTurn, user: User, entries: readonly AccountEntry[]): Promise<void> {
  if (mailboxAt(turn.state, { path: 'INBOX' }) === undefined) {
    const mailbox = await newMailbox(turn, 'INBOX', null)
    turn.write(mailboxInsert, mailbox)
    turn.state.mailboxes.set(mailbox.num, mailbox)
  }
  const main = user.address === '' ? undefined : await findAddressByKey(turn.read, normalizeAddress(user.address).key)
  const brought = entries.some(({ part, entry }) => part === 'address' && entry.address === user.address)
  if (main?.user !== user.id && !(brought && main === undefined)) user.address = ''
  const credentials = entries.some(({ part }) => part === 'credential')
  const factors = user.options.enabled2fa
  if (factors !== undefined && !credentials && (await listCredentials(turn.read, user.num)).length === 0) {
    user.options.enabled2fa = factors.filter(name => name === 'totp' || name === 'custom')
  }
  // Whoever keeps compiled filters of the account compiles them anew.
  user.options.rules = (user.options.rules ?? 0) + 1
  turn.write(userUpdate, user, 1000)
}

class Malformed extends Error {}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new Malformed()
  return value
}

function whole(value: unknown): number {
  const number = Number(value)
  if ((typeof value !== 'number' && typeof value !== 'bigint') || !Number.isSafeInteger(number)) throw new Malformed()
  return number
}

function moment(value: unknown): number {
  const ms = whole(value)
  if (ms < limits.date.msMin || ms > limits.date.msMax) throw new Malformed()
  return ms
}

/** A duration, which the API takes with a fraction. */
function duration(value: unknown): number {
  return whole(typeof value === 'number' ? Math.round(value) : value)
}

function orNull(value: unknown): number | null {
  return value === null ? null : moment(value)
}

function truth(value: unknown): boolean {
  return value === true || value === 1
}

function object(value: unknown): Record<string, unknown> {
  const read: unknown = JSON.parse(text(value))
  if (typeof read !== 'object' || read === null || Array.isArray(read)) throw new Malformed()
  return read as Record<string, unknown>
}

function texts(value: unknown): string[] {
  const read: unknown = JSON.parse(text(value))
  if (!Array.isArray(read)) throw new Malformed()
  return read.map(text)
}

const isText = (value: unknown) => typeof value === 'string'
const isFlag = (value: unknown) => typeof value === 'boolean'
const isCount = (value: unknown) => typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText)
const isRecord = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
const isRecordOf = (is: (value: unknown) => boolean) => (value: unknown) =>
  isRecord(value) && Object.values(value as object).every(is)

/** What each key of some JSON must be where it is there. */
type Forms<T> = Readonly<Record<keyof T, (value: unknown) => boolean>>

const signatureForms: Forms<Signature> = { text: isText, html: isText }

const isValues = (value: unknown) =>
  Array.isArray(value) && value.every(one => isRecord(one) && Object.values(one as object).every(isText))

const cardForms: Forms<Card> = {
  ...{ uid: isText, name: isText, given: isText, family: isText, nickname: isText, organization: isText },
  ...{ title: isText, birthday: isText, note: isText, groups: isTexts, others: isTexts },
  ...{ emails: isValues, phones: isValues, addresses: isValues },
}

const queryForms: Forms<FilterQuery> = {
  ...{ from: isText, to: isText, subject: isText, listId: isText, text: isText },
  ...{ ha: isFlag, size: Number.isFinite },
}

const actionForms: Forms<FilterAction> = {
  ...{ seen: isFlag, flag: isFlag, delete: isFlag, spam: isFlag },
  ...{ mailbox: isText, targets: isTexts },
}

const optionForms: Forms<UserOptions> = {
  ...{ language: isText, mtaRelay: isText, pubKey: isText, smimeCipher: isText, smimeKeyTransport: isText },
  ...{ targets: isTexts, fromWhitelist: isTexts, disabledScopes: isTexts, smimeCerts: isTexts, enabled2fa: isTexts },
  subscriptions: isTexts,
  ...{ retention: isCount, spamLevel: isCount, rules: isCount, lastPwnedCheck: isCount, lastLogin: isCount },
  ...{ uploadSentMessages: isFlag, encryptMessages: isFlag, encryptForwarded: isFlag, require2faEnabled: isFlag },
  ...{ requirePasswordChange: isFlag, autoreply: isFlag, passwordPwned: isFlag },
  ...{ limits: isRecordOf(isCount), keyInfo: isRecordOf(isText), featureFlags: isRecordOf(isFlag) },
  ...{ metaData: isRecord, internalData: isRecord, totp: isTotp },
}

function isTotp(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { seed, lastStep, enablingStep, pending } = value as Row
  const isPending = isRecord(pending) && isText((pending as Row).seed) && isCount((pending as Row).created)
  const counts = [lastStep, enablingStep].every(one => one === undefined || isCount(one))
  return (seed === undefined || isText(seed)) && counts && (pending === undefined || isPending)
}

function formed<T>(value: unknown, forms: Forms<T>): T {
  const read = object(value)
  for (const [name, is] of Object.entries<(value: unknown) => boolean>(forms)) {
    if (read[name] !== undefined && !is(read[name])) throw new Malformed()
  }
  return read as T
}

function anything(value: unknown): unknown {
  return value === null ? undefined : JSON.parse(text(value))
}

function temporaryOf(value: string): TemporaryPassword {
  const { hash, validAfter, expires } = object(value)
  return { hash: text(hash), validAfter: whole(validAfter), expires: whole(expires) }
}
