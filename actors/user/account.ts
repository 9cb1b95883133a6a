// Commands on the account itself: creating it with its first address and folders, changing it, its addresses.
//
// Who may have a username or an address is a constraint of the schema across all accounts; a command that breaks it is
// refused as a whole. Each change is one unit with its event. Hashes come in ready made: nothing here may compute one,
// since the turn holds the account.

import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import { splitAddress } from '#mail/address/address.ts'
import {
  type Address,
  addressDelete,
  addressInsert,
  addressUpdate,
  findAddress,
  listAddresses,
  type Signature,
} from '#store/accounts/address.ts'
import { findUserByKey, passwordReplace, type User, userInsert, userUpdate } from '#store/accounts/users.ts'
import { lastRemovedValidity, type Mailbox, mailboxInsert } from '#store/mailboxes/mailboxes.ts'
import { grow, moved } from '../domain/growth.ts'
import { type Append, appendMessage } from '../mailbox/append.ts'
import { applyFields, applyKeys, type KeyFields, type UserFields } from './fields.ts'
import { type Noted, notedChanges } from './noted.ts'
import { nextModseq, requireUser, type UserCommand, type UserTurn } from './user.ts'

export interface NewUser {
  /** Everything of the account but what the actor gives out. */
  readonly user: Omit<User, 'num' | 'id' | 'created' | 'deleted' | 'authVersion'>
  /** First address, or null for none. */
  readonly address: Pick<Address, 'key' | 'address' | 'domain' | 'tags'> | null
  /** Default folders in order of creation. */
  readonly mailboxes: readonly { path: string; specialUse: string | null; retention: number }[]
  /** Messages it finds in its INBOX. */
  readonly welcome?: readonly Append[]
}

/** Makes the account of this actor. */
export const createUser: UserCommand<NewUser, { id: string }> = {
  name: 'user.create',
  async run(turn, input) {
    const { state } = turn
    if (state.user !== undefined) throw new Fault('UserExistsError')
    const base = { num: state.num, id: state.id, created: turn.now, deleted: null, authVersion: 1 }
    const user: User = { ...input.user, ...base }
    turn.write(userInsert, user)
    if (input.address !== null) {
      const { domain } = input.address
      turn.write(addressInsert, newAddress(turn, input.address))
      grow(turn, { domain, users: true, addresses: true, quota: true })
    }
    for (const folder of input.mailboxes) {
      const mailbox = await newMailbox(turn, folder.path, folder.specialUse)
      mailbox.retention = folder.retention
      turn.write(mailboxInsert, mailbox)
      state.mailboxes.set(mailbox.num, mailbox)
    }
    state.user = user
    const { id, username, name, address } = user
    turn.emit('user.created', { user: id, username, ...(name === '' ? {} : { name }), address })
    for (const target of user.options.targets ?? [])
      turn.emit('forward.added', { user: id, type: 'user', target: maskUrl(target) })
    for (const message of input.welcome ?? []) await appendMessage.run(turn, message)
    return { id }
  },
}

export interface UserChange {
  readonly fields: UserFields
  readonly keys?: KeyFields
  /** The stored form of a new password; empty for none. */
  readonly password?: string | undefined
}

/** Changes fields of the account, and tells what is for its log. A new password also ends every token and is an event. */
export const updateUser: UserCommand<UserChange, { user: User; tokensEnded: boolean; noted: readonly Noted[] }> = {
  name: 'user.update',
  run(turn, input) {
    const before = requireUser(turn)
    const user = structuredClone(before)
    applyKeys(user, input.keys ?? { kind: 'none' })
    applyFields(user, input.fields, input.password)
    const passwordChanged = user.password !== before.password
    if (passwordChanged || (user.suspended && !before.suspended) || (user.disabled && !before.disabled)) {
      user.authVersion = before.authVersion + 1
    }
    turn.state.user = user
    turn.write(userUpdate, user)
    const plain = turn.settings.get('const:max:storage')
    const { domain } = splitAddress(user.address)
    if (domain !== '' && (user.quota || plain) > (before.quota || plain)) grow(turn, { domain, quota: true })
    if (passwordChanged) turn.emit('user.password.changed', { user: user.id })
    const known = new Set(before.options.targets)
    const targets = (user.options.targets ?? []).filter(target => !known.has(target))
    for (const target of targets) turn.emit('forward.added', { user: user.id, type: 'user', target: maskUrl(target) })
    if (user.authVersion !== before.authVersion) turn.endSessions(endOf(user))
    return { user, tokensEnded: user.authVersion !== before.authVersion, noted: notedChanges(before, user) }
  },
}

/** Why tokens and sessions of an account ended. */
function endOf(user: User): string {
  if (user.disabled) return 'The account was disabled'
  return user.suspended ? 'The account was suspended' : 'The password was changed'
}

/** Ends the account's sessions; tokens stay (api-semantics 10.6). */
export const logoutUser: UserCommand<{ reason: string }, void> = {
  name: 'user.logout',
  run(turn, { reason }) {
    requireUser(turn)
    turn.endSessions(reason)
  },
}

/** Stores a better hash of the same password; does nothing when the password was changed meanwhile. */
export const rehashPassword: UserCommand<{ from: string; to: string }, void> = {
  name: 'user.rehash',
  run(turn, { from, to }) {
    const user = requireUser(turn)
    if (user.password !== from) return
    turn.write(passwordReplace, { num: user.num, from, to })
    user.password = to
  },
}

export interface AddressInput extends Pick<Address, 'key' | 'address' | 'domain' | 'tags' | 'name'> {
  readonly main: boolean
  readonly metaData: unknown
  readonly internalData: unknown
  readonly signature?: Signature | undefined
  /** The owner of the account asks for it, not an operator. */
  readonly own: boolean
  /** Id of an address of anybody's that goes in the same unit: this one takes its place. */
  readonly replaces?: string | undefined
}

/** Adds an address; the first one of an account becomes its main one. */
export const createAddress: UserCommand<AddressInput, { id: string; noted: readonly Noted[] }> = {
  name: 'address.create',
  async run(turn, input) {
    const user = requireUser(turn)
    if (input.own) await checkClaim(turn, input, limits.user.ownAddressesMax)
    const address = newAddress(turn, input)
    const isWildcard = address.key.includes('*')
    if (input.main && isWildcard) throw new Fault('WildcardNotPermitted')
    if (input.replaces !== undefined) turn.write(addressDelete, { id: input.replaces })
    turn.write(addressInsert, address)
    grow(turn, { domain: address.domain, addresses: true })
    if (input.main || (user.address === '' && !isWildcard)) {
      const before = user.address
      user.address = address.address
      turn.write(userUpdate, user)
      moved(turn, before, user.address)
    }
    turn.emit('address.user.created', { user: user.id, address: address.id, value: address.address })
    const target = address.address
    const isMain = input.main && target === user.address
    const noted = [{ action: 'address added', target }, ...(isMain ? [{ action: 'main address changed', target }] : [])]
    return { id: address.id, noted }
  },
}

export interface AddressChange {
  readonly id: string
  /** What it becomes; what is not given stays as it is. */
  readonly fields: AddressFields
  readonly main: boolean
  /** The owner of the account asks for it, not an operator. */
  readonly own: boolean
}

/** Changes an address of the account; renaming the main one, or making one main, changes the account too. */
export const updateAddress: UserCommand<AddressChange, { noted: readonly Noted[] }> = {
  name: 'address.update',
  async run(turn, input) {
    const user = requireUser(turn)
    const address = await findAddress(turn.read, input.id)
    if (address?.user !== user.id) throw new Fault('AddressNotFound')
    const wasMain = address.address === user.address
    const { key: before, domain, address: name } = address
    applyAddress(address, input.fields)
    checkRename(before, address.key)
    if (input.own && address.key !== before) await checkClaim(turn, address, Number.POSITIVE_INFINITY)
    if (input.main && address.key.includes('*')) throw new Fault('WildcardNotPermitted')
    turn.write(addressUpdate, address)
    if (address.domain !== domain) grow(turn, { domain: address.domain, addresses: true })
    if ((wasMain || input.main) && user.address !== address.address) {
      const previous = user.address
      user.address = address.address
      turn.write(userUpdate, user)
      moved(turn, previous, user.address)
    }
    const target = address.address
    const renamed =
      name === target
        ? []
        : [
            { action: 'address removed', target: name },
            { action: 'address added', target },
          ]
    return { noted: input.main && !wasMain ? [...renamed, { action: 'main address changed', target }] : renamed }
  },
}

/** Of an address: its name in all forms, and what is kept with it. */
export type AddressFields = Partial<
  Pick<Address, 'address' | 'key' | 'domain' | 'name' | 'tags' | 'metaData' | 'internalData' | 'signature'>
>

/** Puts fields into an address; what is undefined stays as it is. */
export function applyAddress(address: Address, fields: AddressFields): void {
  for (const [field, value] of Object.entries(fields))
    if (value !== undefined) Object.assign(address, { [field]: value })
}

/** A wildcard keeps its name, and nothing becomes one. @throws Fault ChangeNotAllowed, WildcardNotPermitted */
export function checkRename(before: string, key: string): void {
  if (key === before) return
  if (before.includes('*')) throw new Fault('ChangeNotAllowed')
  if (key.includes('*')) throw new Fault('WildcardNotPermitted')
}

/** Who has one of these is taken for the owner of the domain, by authorities that give out certificates too (RFC 2142). */
const roles = new Set([
  ...['abuse', 'admin', 'administrator', 'hostmaster', 'mailer-daemon', 'noc'],
  ...['postmaster', 'root', 'security', 'ssladmin', 'webmaster'],
])

/** Whether the owner of an account may give itself this address. @throws Fault NotPermitted, AddressExistsError, TooMany */
async function checkClaim(turn: UserTurn, { key, domain }: Pick<Address, 'key' | 'domain'>, max: number) {
  const addresses = await listAddresses(turn.read, turn.state.id)
  if (!addresses.some(one => one.domain === domain)) {
    throw new Fault('NotPermitted', { text: 'The account has no address in this domain' })
  }
  if (roles.has(splitAddress(key).local)) {
    throw new Fault('NotPermitted', { text: 'Only an operator can give out this address' })
  }
  // Whoever's username it is would be taken for the owner of the address at the next login.
  const named = await findUserByKey(turn.read, key)
  if (named !== undefined && named !== turn.state.id) throw new Fault('AddressExistsError')
  if (addresses.length >= max) throw new Fault('TooMany', { text: 'There are as many addresses as there may be' })
}

/** Takes an address away; never the main one. */
export const deleteAddress: UserCommand<{ id: string }, { noted: readonly Noted[] }> = {
  name: 'address.delete',
  async run(turn, { id }) {
    const user = requireUser(turn)
    const address = (await listAddresses(turn.read, user.id)).find(one => one.id === id)
    if (address === undefined) throw new Fault('AddressNotFound')
    if (address.address === user.address) {
      throw new Fault('NotPermitted', { text: 'The main address of an account cannot be deleted' })
    }
    turn.write(addressDelete, { id })
    turn.emit('address.user.deleted', { user: user.id, address: id, value: address.address })
    return { noted: [{ action: 'address removed', target: address.address }] }
  },
}

/** Rises with time and is never given twice in an account: a name made anew is another folder (RFC 9051 2.3.1.1). */
async function nextUidValidity(turn: UserTurn): Promise<number> {
  let last = await lastRemovedValidity(turn.read, turn.state.num)
  for (const { uidValidity } of turn.state.mailboxes.values()) last = Math.max(last, uidValidity)
  return Math.max(Math.floor(turn.now / 1000), last + 1)
}

/** A folder of this account that is not stored yet. */
export async function newMailbox(turn: UserTurn, path: string, specialUse: string | null): Promise<Mailbox> {
  return {
    num: turn.sequence.next('mailbox'),
    id: newId(),
    user: turn.state.num,
    path,
    specialUse,
    uidValidity: await nextUidValidity(turn),
    subscribed: true,
    hidden: false,
    encrypt: false,
    retention: 0,
    keywords: [],
    created: turn.now,
    uidNext: 1,
    modseq: nextModseq(turn),
    total: 0,
    unseen: 0,
    size: 0,
  }
}

function newAddress(
  turn: UserTurn,
  input: Pick<Address, 'key' | 'address' | 'domain' | 'tags'> & Partial<Address>,
): Address {
  return {
    id: newId(),
    key: input.key,
    address: input.address,
    domain: input.domain,
    user: turn.state.id,
    name: input.name ?? '',
    tags: input.tags,
    metaData: input.metaData,
    internalData: input.internalData,
    forward: null,
    created: turn.now,
    signature: input.signature,
  }
}
