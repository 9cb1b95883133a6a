// Accounts over HTTP: create, get, list, change, resolve, log out, count (wire-shapes, Users).
//
// Passwords are hashed in the pool before any turn begins. What an account takes is in user-fields.ts, what it shows in
// user-view.ts, its end in removal.ts.

import { Type } from 'typebox'
import type { Welcome } from '#actors/admin/welcome.ts'
import type { AuthLog } from '#actors/auth/auth-log.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { createUser, logoutUser, type NewUser, updateUser } from '#actors/user/account.ts'
import { clearFactors, factorsOf } from '#actors/user/credential.ts'
import { applyKeys, applyOptions, userFields } from '#actors/user/fields.ts'
import { notedChanges, nothing } from '#actors/user/noted.ts'
import { recountQuota, recountTask } from '#actors/user/quota.ts'
import { now } from '#lib/clock.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { hasInvisible, normalizeAddress, normalizeUsername } from '#mail/address/address.ts'
import { defaultMailboxes } from '#mail/path.ts'
import { findUserByKey, isFiltered, pageUsers, readUsage } from '#store/accounts/users.ts'
import { findDomain, plainDomain, reaches } from '#store/domains/domain.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Settings } from '#store/folder/settings.ts'
import { countFilters } from '#store/rules/filter.ts'
import { pagedCounted } from '../../cursor.ts'
import { endpoint } from '../../endpoint.ts'
import { requireWithin } from '../../guard/within.ts'
import { bool, email, id, object, optional, pageReply, paging, text, userId, username } from '../../schema.ts'
import { existingPassword, type FreshDeps, freshFaults, originOf, requireFresh } from '../auth/factor-fields.ts'
import { bounded, domainOf } from '../domains/bounds.ts'
import { mailboxPath, requireUser } from '../messages/mailboxes.ts'
import { heldBack, heldBackShape } from '../sending/pauses.ts'
import { words } from '../service/words.ts'
import { targetFailures, targetFailuresShape } from './target-failures.ts'
import { type PasswordMaker, password, resets, sealOptions, shared, storedPassword } from './user-fields.ts'
import { checkKey } from './user-keys.ts'
import { type DailyCounters, listed, listShape, shape, shown } from './user-view.ts'

export type { PasswordMaker } from './user-fields.ts'
export type { DailyCounters } from './user-view.ts'

export interface UserDeps {
  readonly system: ActorSystem
  readonly settings: Settings
  /** Domain of accounts made without an address. */
  readonly defaultDomain: string
  readonly passwords: PasswordMaker
  readonly counters: DailyCounters
  readonly tasks: TaskStarter
  readonly welcome: Pick<Welcome, 'prepare'>
  /** Filtered lists look at every account, on a thread. */
  readonly reads: Pick<Reads, 'listUsers' | 'inspectKey' | 'encrypt'>
  readonly authLog: AuthLog
  readonly fresh: FreshDeps
  /** Lets the token that made a change live on although all others of its account end. */
  renewToken(token: string, authVersion: number): Promise<void>
  /** IMAP sessions an account has open. */
  imapConnections(user: string): number | Promise<number>
}

/** Where work goes that outlives its call. */
export interface TaskStarter {
  add(task: { kind: string; user: string | null; input: Record<string, unknown> }): Promise<{ id: string }>
  /** A unit with a task in it was committed. */
  kick(): void
}

export function userEndpoints(deps: UserDeps) {
  const { system, settings } = deps
  const { read } = system

  const list_ = endpoint({
    method: 'GET',
    path: '/users',
    tag: 'Users',
    summary: 'List users',
    allow: 'userlisting.read',
    listing: true,
    domains: true,
    open: true,
    query: {
      query: optional(text({ max: 255, lower: true })),
      forward: optional(text({ max: 255 })),
      tags: optional(text({ max: 1024 })),
      requiredTags: optional(text({ max: 1024 })),
      metaData: optional(bool()),
      internalData: optional(bool()),
      ...paging,
    },
    reply: { ...pageReply, query: Type.String(), results: Type.Array(Type.Object(listShape)) },
    faults: [],
    async run({ input, onlyUser, onlyDomains, caller, signal }) {
      const page = {
        query: input.query ?? '',
        forward: input.forward ?? '',
        tags: words(input.tags),
        requiredTags: words(input.requiredTags),
        only: onlyUser,
        domains: onlyDomains,
      }
      const turnKey = caller.user ?? caller.role
      const filtered = onlyUser === null && isFiltered(page)
      const { rows, ...cursors } = await pagedCounted(input, {
        key: ['string'],
        fetch: (boundary, direction, count) => {
          const task = { page, boundary: boundary === null ? null : String(boundary[0]), direction, count }
          return filtered ? deps.reads.listUsers(task, { signal, turnKey }) : pageUsers(read, task)
        },
        boundary: user => [user.id],
      })
      return { query: page.query, ...cursors, results: rows.map(user => listed(user, input, settings)) }
    },
  })

  const resolve = endpoint({
    method: 'GET',
    path: '/users/resolve/:username',
    tag: 'Users',
    summary: 'Find the id of a username',
    allow: 'users.read',
    domains: true,
    params: { username: text({ max: 196 }) },
    reply: { id: userId },
    faults: ['UserNotFound'],
    async run({ input, onlyDomains }) {
      const id = await findUserByKey(read, normalizeUsername(input.username))
      if (id === undefined || (onlyDomains !== null && !(await reaches(read, onlyDomains, id, false))))
        throw new Fault('UserNotFound')
      return { id }
    },
  })

  const create = endpoint({
    method: 'POST',
    path: '/users',
    tag: 'Users',
    summary: 'Create a user',
    allow: 'users.create',
    domains: true,
    filterInput: true,
    body: {
      ...shared,
      username: username(),
      password,
      address: optional(email()),
      emptyAddress: bool({ default: false, description: 'Make no address' }),
      requirePasswordChange: bool({ default: false, description: 'The password must be changed at first login' }),
      addTagsToAddress: bool({ default: false, description: 'Give the tags to the first address too' }),
      mailboxes: optional(
        object({
          sent: optional(mailboxPath),
          trash: optional(mailboxPath),
          junk: optional(mailboxPath),
          drafts: optional(mailboxPath),
        }),
      ),
    },
    reply: { id: userId },
    faults: ['UserExistsError', 'AddressExistsError', 'HashError', 'InsecurePasswordError', 'DomainLimit'],
    async run({ input: given, signal, onlyDomains, caller, request }) {
      const input = onlyDomains === null ? given : { ...given, emptyAddress: false, addTagsToAddress: false }
      const address = firstAddress(input, deps.defaultDomain)
      if (onlyDomains !== null) requireWithin(onlyDomains, address?.domain ?? '', domainOf(input.username))
      const { defaults } = (await findDomain(read, address?.domain ?? '')) ?? plainDomain('')
      if (onlyDomains !== null) Object.assign(input, await bounded(read, settings, address?.domain ?? '', input))
      const folders = defaultMailboxes(input.language, input.mailboxes)
      if (new Set(folders.map(folder => folder.path)).size < folders.length) {
        throw invalid('mailboxes', 'contains a duplicate value')
      }
      const keys = await checkKey(deps.reads, input, signal)
      const hash = await storedPassword(deps.passwords, input, input.password, signal)
      const user: NewUser['user'] = {
        username: input.username,
        key: normalizeUsername(input.username),
        name: input.name ?? '',
        address: address?.address ?? '',
        password: hash,
        temporary: null,
        disabled: false,
        suspended: false,
        activated: true,
        quota: input.quota ?? defaults.quota ?? 0,
        tags: input.tags ?? [],
        options: { spamLevel: 50 },
      }
      // What the call says nothing of is as its domain has it.
      applyOptions(user, { ...defaults.limits })
      applyOptions(user, await sealOptions(system.secrets, input))
      applyKeys(user, keys)
      if (input.requirePasswordChange) user.options.requirePasswordChange = true
      const mailboxes = folders.map(folder => ({
        ...folder,
        retention: folderRetention(folder.specialUse, input.retention ?? 0),
      }))
      const greeting = await deps.welcome.prepare(user, now())
      const made = { user, address, mailboxes, welcome: greeting.messages }
      const created = system.handle(newId()).run(createUser, made, signal)
      const { id } = await created.catch(withUsername(input.username)).finally(greeting.discard)
      const { num } = await requireUser(read, id)
      const noted = [{ action: 'account created' }, ...notedChanges(nothing, user)]
      await deps.authLog.addAll(num, noted, originOf({ input, caller, request }))
      return { id }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user',
    tag: 'Users',
    summary: 'Get one user',
    allow: 'users.read',
    domains: true,
    params: { user: userId },
    reply: { ...shape, targetFailures: targetFailuresShape, sendingPaused: heldBackShape },
    faults: ['UserNotFound'],
    async run({ input }) {
      const user = await requireUser(read, input.user)
      const { storage } = await readUsage(read, user.num)
      const known = {
        storage,
        filters: await countFilters(read, user.num),
        imapConnections: await deps.imapConnections(user.id),
      }
      const trouble = { ...(await targetFailures(read, user.id)), ...(await heldBack(read, user.id)) }
      return { ...shown(user, known, settings, deps.counters), ...trouble }
    },
  })

  const update = endpoint({
    method: 'PUT',
    path: '/users/:user',
    tag: 'Users',
    summary: 'Change a user',
    allow: 'users.update',
    domains: true,
    filterInput: true,
    params: { user: userId },
    body: {
      ...shared,
      ...existingPassword,
      password: optional(password),
      requirePasswordChange: optional(
        bool({
          description: 'The password must be changed at the next login on the page; a new one without it ends that',
        }),
      ),
      disable2fa: optional(bool({ description: 'Turn every second factor off' })),
      disabled: optional(bool({ description: 'Neither log in nor receive' })),
      suspended: optional(bool({ description: 'Not log in, but receive' })),
      protocol: optional(text({ max: 64 })),
    },
    faults: ['UserNotFound', 'HashError', 'InsecurePasswordError', 'DomainLimit', ...freshFaults],
    async run({ input: given, signal, caller, request, onlyDomains }) {
      const before = await requireUser(read, given.user)
      const more = onlyDomains === null ? {} : await bounded(read, settings, domainOf(before.address), given)
      const input = { ...given, ...more }
      const keys = await checkKey(deps.reads, input, signal)
      const sensitive = input.password !== undefined || input.disable2fa === true
      if (caller.user !== null && sensitive) await requireFresh(deps.fresh, { caller, input, signal })
      else if (input.existingPassword !== undefined && before.password !== '') {
        await deps.fresh.authentication.confirm(before, input.existingPassword, input.ip, signal)
      }
      const hash =
        input.password === undefined ? undefined : await storedPassword(deps.passwords, input, input.password, signal)
      const handle = system.handle(input.user)
      const fields = await sealOptions(system.secrets, input)
      const changed = await handle.run(updateUser, { fields: userFields(fields), keys, password: hash }, signal)
      const ownToken = caller.user === input.user ? request.token : null
      if (changed.tokensEnded && ownToken !== null) await deps.renewToken(ownToken, changed.user.authVersion)
      const origin = originOf({ input, caller, request }, input.protocol)
      const noted = hash === undefined ? changed.noted : [{ action: 'password change' }, ...changed.noted]
      await deps.authLog.addAll(before.num, noted, origin)
      if (input.disable2fa === true && factorsOf(changed.user).length > 0) {
        await handle.run(clearFactors, undefined, signal)
        await deps.authLog.addAll(before.num, [{ action: 'disable 2fa' }], origin)
      }
      for (const [field, counter] of resets) if (field in input) deps.counters.reset(counter, input.user)
      return {}
    },
  })

  const logout = endpoint({
    method: 'PUT',
    path: '/users/:user/logout',
    tag: 'Users',
    summary: 'End the sessions of a user; tokens stay',
    allow: 'users.read',
    domains: true,
    params: { user: userId },
    body: { reason: optional(text({ max: 128, description: 'Told to the sessions' })) },
    faults: ['UserNotFound'],
    async run({ input, signal, caller, request }) {
      const reason = input.reason ?? 'Logged out by the API'
      const { num } = await requireUser(system.read, input.user)
      await system.handle(input.user).run(logoutUser, { reason }, signal)
      await deps.authLog.add(num, { action: 'logout', result: 'success', ...originOf({ input, caller, request }) })
      return {}
    },
  })

  const recount = endpoint({
    method: 'POST',
    path: '/users/:user/quota/reset',
    tag: 'Users',
    summary: 'Count anew what a user stores',
    allow: 'users.update',
    domains: true,
    params: { user: userId },
    reply: { storageUsed: Type.Integer(), previousStorageUsed: Type.Integer() },
    faults: ['UserNotFound'],
    async run({ input, signal }) {
      return system.handle(input.user).run(recountQuota, undefined, signal)
    },
  })

  const recountAll = endpoint({
    method: 'POST',
    path: '/quota/reset',
    tag: 'Users',
    summary: 'Count anew what every user stores, as a task',
    allow: 'users.update',
    reply: { task: id({ description: 'Id of the task' }) },
    async run() {
      const task = await deps.tasks.add({ kind: recountTask, user: null, input: {} })
      return { task: task.id }
    },
  })

  return [list_, resolve, create, get, update, logout, recount, recountAll]
}

function firstAddress(
  input: {
    username: string
    address?: string | undefined
    emptyAddress: boolean
    addTagsToAddress: boolean
    tags?: string[] | undefined
  },
  defaultDomain: string,
): NewUser['address'] {
  if (input.emptyAddress) return null
  const isAddress = input.username.includes('@')
  const wanted = input.address ?? (isAddress ? input.username : `${input.username}@${defaultDomain}`)
  const { local, key, domain } = normalizeAddress(wanted)
  if (local.includes('*')) throw invalid('address', 'must not contain a wildcard')
  if (hasInvisible(local)) throw invalid('address', 'must not contain invisible characters')
  return { address: `${local}@${domain}`, key, domain, tags: input.addTagsToAddress ? (input.tags ?? []) : [] }
}

const monthMs = 30 * limits.time.day

/** Junk and Trash keep nothing longer than a month (api-semantics 10.6). */
function folderRetention(specialUse: string | null, retention: number): number {
  if (specialUse !== '\\Junk' && specialUse !== '\\Trash') return retention
  return retention > 0 ? Math.min(retention, monthMs) : monthMs
}

/** A taken name or address is told with the username that was asked for. */
function withUsername(name: string): (error: unknown) => never {
  return error => {
    const taken = error instanceof Fault && (error.code === 'UserExistsError' || error.code === 'AddressExistsError')
    if (taken) throw new Fault(error.code, { extra: { username: name } })
    throw error
  }
}
