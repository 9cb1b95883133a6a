// Application passwords over HTTP (api-semantics 4): made here and shown once, with a profile for phones where wanted.
//
// A password is shown by the call that makes it and never again; lists tell its scopes and last use. Making or removing
// one takes a fresh session where a user does it for itself.

import { Type } from 'typebox'
import type { AuthLog } from '#actors/auth/auth-log.ts'
import { liveUser } from '#actors/auth/one-time-code.ts'
import { addAsp, perSelector, removeAsp } from '#actors/user/credential.ts'
import { now } from '#lib/clock.ts'
import { Fault, invalid } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { aspOpens, aspSelector, newAsp, shownScopes, storedScopes } from '#lib/secret/asp.ts'
import type { ProfileInput } from '#lib/secret/key-tasks.ts'
import { normalizeAddress } from '#mail/address/address.ts'
import { findAddressByKey } from '#store/accounts/address.ts'
import { type Asp, listAsps } from '#store/accounts/credentials.ts'
import type { User } from '#store/accounts/users.ts'
import type { Settings } from '#store/folder/settings.ts'
import { endpoint } from '../../endpoint.ts'
import { bool, email, id, list, moment, num, optional, text, userId } from '../../schema.ts'
import type { PasswordMaker } from '../accounts/user-fields.ts'
import { existingPassword, type FreshDeps, freshFaults, originOf, requireFresh } from './factor-fields.ts'

export interface ApplicationPasswordDeps extends FreshDeps {
  readonly authLog: AuthLog
  readonly settings: Settings
  readonly passwords: Pick<PasswordMaker, 'hash'>
  /** A signed profile of what a phone needs to know. */
  profile(form: ProfileForm, signal: AbortSignal): Promise<Uint8Array>
}

/** What of a profile depends on the account. */
export interface ProfileForm extends Pick<ProfileInput, 'address' | 'password'> {
  readonly user: string
  readonly name: string
  readonly description: string
  readonly incoming: 'imap' | 'pop3'
}

const aspId = id({ description: 'Id of the application password' })
const protocol = text({ max: 64, default: 'API', description: 'For the log' })

const shape = {
  id: aspId,
  description: Type.String(),
  scopes: Type.Array(Type.String()),
  lastUse: Type.Object({ time: Type.Optional(moment), event: Type.Optional(Type.String()) }),
  created: moment,
  expires: Type.Optional(moment),
}

export function applicationPasswordEndpoints(deps: ApplicationPasswordDeps) {
  const { system, authLog, settings } = deps
  const { read } = system

  const create = endpoint({
    method: 'POST',
    path: '/users/:user/asps',
    tag: 'ApplicationPasswords',
    summary: 'Make an application password',
    description: 'The password is shown only here. Spaces do not count when it is used.',
    allow: 'asps.create',
    params: { user: userId },
    body: {
      ...existingPassword,
      description: text({ min: 1, max: 255, trim: true, description: 'What it is for' }),
      scopes: list(text({ max: 32 }), { max: 10, commas: true, default: ['*'], description: 'imap, pop3, smtp or *' }),
      address: optional(email({ description: 'Address of the profile; the main one by default' })),
      password: optional(
        text({ pattern: /^[a-z]{16}$/, description: 'Sixteen lower-case letters instead of new ones' }),
      ),
      generateMobileconfig: bool({ default: false, description: 'Whether a profile for phones is made' }),
      ttl: optional(
        num({ min: 0, max: limits.credential.aspTtlMax / 1000, description: 'Seconds until it ends unused' }),
      ),
      protocol,
    },
    reply: {
      id: aspId,
      password: Type.String(),
      name: Type.Optional(Type.String()),
      address: Type.Optional(Type.String()),
      mobileconfig: Type.Optional(Type.String({ description: 'Signed profile in base64' })),
    },
    faults: ['UserNotFound', 'AddressNotFound', 'InvalidAuthScope', 'TooMany', ...freshFaults],
    async run({ input, signal, caller, request }) {
      const scopes = storedScopes(input.scopes)
      const user = await liveUser(system, input.user)
      await requireFresh(deps, { caller, input, signal })
      const address = await ownAddress(user, input.address)
      const incoming = aspOpens(scopes, 'imap') ? 'imap' : 'pop3'
      if (input.generateMobileconfig && !(aspOpens(scopes, incoming) && aspOpens(scopes, 'smtp'))) {
        const reason = 'A profile needs a password for sending and for imap or pop3'
        throw new Fault('InvalidAuthScope', { status: 400, text: reason })
      }
      if (input.generateMobileconfig && address === '') throw invalid('address', 'is needed for a profile')
      const password = input.password ?? (await freeAsp(user))
      const row = {
        id: newId(),
        selector: aspSelector(password),
        hash: await deps.passwords.hash(password, signal),
        description: input.description,
        scopes,
        ttl: Math.round((input.ttl ?? 0) * 1000),
      }
      const form = { user: user.id, address, password, name: user.name || user.username, incoming } as const
      const { description } = input
      const profile = input.generateMobileconfig ? await deps.profile({ ...form, description }, signal) : undefined
      await system.handle(user.id).run(addAsp, { row, chosen: input.password !== undefined }, signal)
      const event = { action: 'create asp', result: 'success', asp: row.id, aname: description } as const
      const temporary = row.ttl > 0 ? { temporary: true } : {}
      await authLog.add(user.num, { ...event, ...temporary, ...originOf({ input, caller, request }, input.protocol) })
      if (profile === undefined) return { id: row.id, password }
      const mobileconfig = Buffer.from(profile).toString('base64')
      return { id: row.id, password, name: form.name, address, mobileconfig }
    },
  })

  const all = endpoint({
    method: 'GET',
    path: '/users/:user/asps',
    tag: 'ApplicationPasswords',
    summary: 'List the application passwords of a user',
    allow: 'asps.read',
    params: { user: userId },
    query: { showAll: bool({ default: false, description: 'Those that end by themselves too' }) },
    reply: { results: Type.Array(Type.Object(shape)) },
    faults: ['UserNotFound'],
    async run({ input }) {
      const user = await liveUser(system, input.user)
      await authLog.flush()
      const asps = await listAsps(read, user.num, now())
      return { results: asps.filter(asp => input.showAll || asp.ttl === 0).map(shown) }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/users/:user/asps/:asp',
    tag: 'ApplicationPasswords',
    summary: 'Get one application password, without its text',
    allow: 'asps.read',
    params: { user: userId, asp: aspId },
    reply: shape,
    faults: ['UserNotFound', 'AspNotFound'],
    async run({ input }) {
      const user = await liveUser(system, input.user)
      await authLog.flush()
      const asp = (await listAsps(read, user.num, now())).find(one => one.id === input.asp)
      if (asp === undefined) throw new Fault('AspNotFound')
      return shown(asp)
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/users/:user/asps/:asp',
    tag: 'ApplicationPasswords',
    summary: 'Take an application password away',
    allow: 'asps.delete',
    params: { user: userId, asp: aspId },
    query: { protocol },
    faults: ['UserNotFound', 'AspNotFound'],
    async run({ input, signal, caller, request }) {
      const user = await liveUser(system, input.user)
      const { description } = await system.handle(user.id).run(removeAsp, { id: input.asp }, signal)
      const event = { action: 'delete asp', result: 'success', asp: input.asp, aname: description } as const
      await authLog.add(user.num, { ...event, ...originOf({ input, caller, request }, input.protocol) })
    },
  })

  /** The address as it is shown, if it is the user's. @throws Fault AddressNotFound */
  async function ownAddress(user: User, given: string | undefined): Promise<string> {
    if (given === undefined) return user.address
    const found = await findAddressByKey(read, normalizeAddress(given).key)
    if (found?.user !== user.id) throw new Fault('AddressNotFound')
    return found.address
  }

  /** A new password whose selector has room; nearly every one has. */
  async function freeAsp(user: User): Promise<string> {
    const taken = new Map<string, number>()
    for (const { selector } of await listAsps(read, user.num, now())) {
      taken.set(selector, (taken.get(selector) ?? 0) + 1)
    }
    const max = perSelector(settings.get('const:asp:limit'))
    for (let tries = 0; ; tries++) {
      const password = newAsp()
      if ((taken.get(aspSelector(password)) ?? 0) < max || tries === triesMax) return password
    }
  }

  return [create, all, get, remove]
}

const triesMax = 100

function shown({ id: asp, description, scopes, lastUse, created, expires }: Asp) {
  const at = (ms: number) => new Date(ms).toISOString()
  const event = lastUse?.event ?? undefined
  return {
    id: asp,
    description,
    scopes: [...shownScopes(scopes)],
    lastUse: lastUse === null ? {} : { time: at(lastUse.at), ...(event === undefined ? {} : { event }) },
    created: at(created),
    ...(expires === null ? {} : { expires: at(expires) }),
  }
}
