// Forwarded addresses over HTTP: addresses of no account whose mail goes on (wire-shapes, Addresses).
//
// They share one space of keys with the addresses of accounts. An address of an account is none of these, whatever its id
// is asked for. What is sent on, and how often, is decided where mail is dropped.

import { Type } from 'typebox'
import {
  createForwarded,
  deleteForwarded,
  refuseSelf,
  requireForwarded,
  updateForwarded,
} from '#actors/delivery/forwarded.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { Fault } from '#lib/fault.ts'
import { keepSecrets, maskUrl } from '#lib/secret/url-secret.ts'
import type { Forward } from '#store/accounts/address.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Settings } from '#store/folder/settings.ts'
import { endpoint } from '../../endpoint.ts'
import { type Domains, isWithin, requireWithin } from '../../guard/within.ts'
import { amount, bool, date, list, moment, object, optional, orFalse, text } from '../../schema.ts'
import { target } from '../sending/target.ts'
import { addressFields, addressId, allowWildcard, anyAddress, newAddress } from './addresses.ts'
import { targetFailures, targetFailuresShape } from './target-failures.ts'
import { type DailyCounters, daily, free, texts } from './user-view.ts'

export interface ForwardedDeps {
  readonly system: ActorSystem
  readonly settings: Settings
  readonly counters: DailyCounters
}

const when = (description: string) => optional(orFalse(date({ description })))
const reply = object({
  status: bool({ default: true, description: 'Whether senders get an answer' }),
  start: when('Answers from then on'),
  end: when('Answers until then'),
  name: optional(text({ max: 128, empty: true })),
  subject: optional(text({ max: 2048, empty: true })),
  text: optional(text({ max: 131_072, empty: true, trim: false })),
  html: optional(text({ max: 131_072, empty: true, trim: false })),
})

const fields = {
  ...addressFields,
  targets: optional(
    list(target, { max: 1000, distinct: String, description: 'Addresses and URLs that get every message' }),
  ),
  forwards: optional(amount({ min: 0, description: 'Messages a day; 0: the default of the service' })),
  autoreply: optional(reply),
} as const

const shownMoment = Type.Optional(Type.Union([moment, Type.Literal(false)]))

/** Answer fields of a forwarded address. */
export const forwardedShape = {
  targets: texts,
  limits: Type.Object({ forwards: daily }),
  autoreply: Type.Object({
    status: Type.Boolean(),
    start: shownMoment,
    end: shownMoment,
    name: Type.Optional(Type.String()),
    subject: Type.Optional(Type.String()),
    text: Type.Optional(Type.String()),
    html: Type.Optional(Type.String()),
  }),
  forwardedDisabled: Type.Boolean(),
} as const

export function forwardedEndpoints({ system, settings, counters }: ForwardedDeps) {
  const { read, directory } = system

  const create = endpoint({
    method: 'POST',
    path: '/addresses/forwarded',
    tag: 'Addresses',
    summary: 'Make a forwarded address',
    allow: 'addresses.create',
    domains: true,
    filterInput: true,
    body: { ...fields, address: anyAddress, allowWildcard },
    reply: { id: addressId },
    faults: ['AddressExistsError', 'WildcardNotPermitted', 'DomainLimit'],
    async run({ input, signal, onlyDomains }) {
      const parts = newAddress(input.address, input.allowWildcard)
      requireWithin(onlyDomains, parts.domain)
      const targets = keepSecrets(await system.secrets.sealAll(input.targets ?? []), [], 'targets')
      const { forwards = 0, autoreply, name = '', tags = [], metaData, internalData } = input
      refuseSelf(targets, parts.key)
      const forward: Forward = { targets, forwards, disabled: false, ...(autoreply && { autoreply }) }
      return directory.run(createForwarded, { ...parts, name, tags, metaData, internalData, forward }, signal)
    },
  })

  const update = endpoint({
    method: 'PUT',
    path: '/addresses/forwarded/:id',
    tag: 'Addresses',
    summary: 'Change a forwarded address',
    allow: 'addresses.update',
    domains: true,
    filterInput: true,
    params: { id: addressId },
    body: {
      ...fields,
      address: optional(anyAddress),
      forwardedDisabled: optional(bool({ description: 'Whether mail to the address is refused' })),
    },
    faults: ['AddressNotFound', 'AddressExistsError', 'ChangeNotAllowed', 'WildcardNotPermitted', 'DomainLimit'],
    async run({ input, signal, onlyDomains }) {
      if (onlyDomains !== null) await requireOwn(read, onlyDomains, input.id)
      const renamed = input.address === undefined ? undefined : newAddress(input.address, input.address.includes('*'))
      if (renamed !== undefined) requireWithin(onlyDomains, renamed.domain)
      const targets = input.targets && (await system.secrets.sealAll(input.targets))
      const { name, tags, metaData, internalData, forwards, autoreply, forwardedDisabled: disabled } = input
      const kept = { name, tags, metaData, internalData, targets, forwards, autoreply, disabled }
      await directory.run(updateForwarded, { id: input.id, fields: { ...renamed, ...kept } }, signal)
      if (input.forwards !== undefined) counters.reset('forwards', input.id)
      return {}
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/addresses/forwarded/:address',
    tag: 'Addresses',
    summary: 'Get a forwarded address',
    allow: 'addresses.read',
    domains: true,
    params: { address: addressId },
    reply: {
      id: addressId,
      address: Type.String(),
      name: Type.String(),
      ...forwardedShape,
      targetFailures: targetFailuresShape,
      created: moment,
      tags: texts,
      metaData: free,
      internalData: free,
    },
    faults: ['AddressNotFound'],
    async run({ input, onlyDomains }) {
      const address = await requireOwn(read, onlyDomains, input.address)
      const { id, name, tags } = address
      const { metaData = {}, internalData = {} } = address as { metaData?: object; internalData?: object }
      return {
        ...{ id, address: address.address, name },
        ...shownForward(id, address.forward, settings, counters),
        ...(await targetFailures(read, address.address)),
        ...{ created: new Date(address.created).toISOString(), tags, metaData, internalData },
      }
    },
  })

  const remove = endpoint({
    method: 'DELETE',
    path: '/addresses/forwarded/:address',
    tag: 'Addresses',
    summary: 'Delete a forwarded address',
    allow: 'addresses.delete',
    domains: true,
    params: { address: addressId },
    faults: ['AddressNotFound'],
    async run({ input, signal, onlyDomains }) {
      await requireOwn(read, onlyDomains, input.address)
      await directory.run(deleteForwarded, { id: input.address }, signal)
      return {}
    },
  })

  return [create, update, get, remove]
}

/** The forwarded address with this id, where the caller may know of it. @throws Fault AddressNotFound */
async function requireOwn(read: Reader, domains: Domains, id: string) {
  const address = await requireForwarded(read, id)
  if (!isWithin(domains, address.domain)) throw new Fault('AddressNotFound')
  return address
}

/** What a forwarded address does, as shown. */
export function shownForward(id: string, forward: Forward, settings: Settings, counters: DailyCounters) {
  const allowed = forward.forwards || settings.get('const:max:forwards')
  const { status, start, end, name, subject, text: plain, html } = forward.autoreply ?? { status: false }
  return {
    targets: forward.targets.map(maskUrl),
    limits: { forwards: { allowed, ...counters.read('forwards', id) } },
    autoreply: { status, start: shownDate(start), end: shownDate(end), name, subject, text: plain, html },
    forwardedDisabled: forward.disabled,
  }
}

function shownDate(ms: number | false | undefined): string | false | undefined {
  return typeof ms === 'number' ? new Date(ms).toISOString() : ms
}
