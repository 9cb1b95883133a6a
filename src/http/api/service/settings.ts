// Settings of the service over HTTP (api-semantics 10.2): every key with type, default and value. A change is in force
// with its answer. Values are checked by the type of their key; durations and sizes may be written as people write them.
//
// Values are taken as people write them and stored as their type. An unknown key is refused, and so is a value its
// setting cannot take.

import { Type } from 'typebox'
import { changeSetting } from '#actors/admin/directory.ts'
import type { ActorSystem } from '#actors/kernel/system.ts'
import { invalid } from '#lib/fault.ts'
import { type SettingForm, type SettingKey, type Settings, settingForms } from '#store/folder/settings.ts'
import { endpoint } from '../../endpoint.ts'
import { lenientBoolean } from '../../input/validate.ts'
import { field, optional, text } from '../../schema.ts'

export interface SettingDeps {
  readonly system: ActorSystem
  readonly settings: Settings
}

type Value = string | number | boolean

const value = Type.Union([Type.String(), Type.Number(), Type.Boolean()])
const key = text({ max: 196, description: 'Key of the setting' })

/** Any plain value; what the key takes is looked at afterwards. */
const anyValue = field<Value>({ type: ['string', 'number', 'boolean'] }, (given, path, problems) => {
  if (['string', 'number', 'boolean'].includes(typeof given)) return given
  return problems.add(path, 'must be a string, a number or a boolean')
})

export function settingEndpoints({ system, settings }: SettingDeps) {
  const put = async (name: SettingKey, next: Value | null, signal: AbortSignal) => {
    await system.directory.run(changeSetting, { key: name, value: next }, signal)
    await settings.apply(name, next)
  }

  const list = endpoint({
    method: 'GET',
    path: '/settings',
    tag: 'Settings',
    summary: 'List settings',
    allow: 'settings.read',
    open: true,
    query: { filter: optional(text({ max: 255, description: 'Part of a key, in any case' })) },
    reply: {
      filter: Type.Optional(Type.String()),
      settings: Type.Array(
        Type.Object({
          key: Type.String(),
          value,
          name: Type.String(),
          description: Type.String(),
          default: value,
          type: Type.String(),
          custom: Type.Boolean(),
        }),
      ),
    },
    run({ input }) {
      const wanted = (input.filter ?? '').toLowerCase()
      const keys = Object.keys(settingForms).filter(isSetting).sort()
      const shown = keys
        .filter(one => one.toLowerCase().includes(wanted))
        .map(one => {
          const { name, description, type } = settingForms[one]
          const state = { value: settings.get(one), default: settings.default(one), custom: settings.custom(one) }
          return { key: one, value: state.value, name, description, default: state.default, type, custom: state.custom }
        })
      return { filter: input.filter, settings: shown }
    },
  })

  const get = endpoint({
    method: 'GET',
    path: '/settings/:key',
    tag: 'Settings',
    summary: 'Get one setting; an unknown key is answered with `success: false`',
    allow: 'settings.read',
    params: { key },
    reply: {
      success: Type.Boolean(),
      key: Type.String(),
      value: Type.Optional(value),
      error: Type.Optional(Type.String()),
    },
    run({ input }) {
      if (!isSetting(input.key)) return { success: false, key: input.key, error: 'There is no such setting' }
      return { success: true, key: input.key, value: settings.get(input.key) }
    },
  })

  const change = endpoint({
    method: 'POST',
    path: '/settings/:key',
    tag: 'Settings',
    summary: 'Change a setting',
    allow: 'settings.create',
    params: { key },
    body: { value: anyValue },
    reply: { key: Type.String() },
    async run({ input, signal }) {
      const name = requireSetting(input.key)
      await put(name, settingValue(settingForms[name], input.value), signal)
      return { key: name }
    },
  })

  const reset = endpoint({
    method: 'DELETE',
    path: '/settings/:key',
    tag: 'Settings',
    summary: 'Put the default of a setting back',
    allow: 'settings.delete',
    params: { key },
    reply: { key: Type.String(), value },
    async run({ input, signal }) {
      const name = requireSetting(input.key)
      await put(name, null, signal)
      return { key: name, value: settings.get(name) }
    },
  })

  return [list, get, change, reset]
}

function isSetting(name: string): name is SettingKey {
  return Object.hasOwn(settingForms, name)
}

function requireSetting(name: string): SettingKey {
  if (!isSetting(name)) throw invalid('key', 'is not the key of a setting')
  return name
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const sizes: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3, tb: 1024 ** 4 }

/** A value as its setting takes it: numbers also as text, durations as `4h`, sizes as `10GB`. */
function settingValue(form: SettingForm, given: Value): Value {
  if (form.type === 'boolean') {
    const read = lenientBoolean(given)
    if (read === undefined) throw invalid('value', 'must be a boolean')
    return read
  }
  if (form.type === 'string') {
    if (typeof given !== 'string' || given.length > 4096) throw invalid('value', 'must be a string')
    if (form.pattern?.test(given) === false) throw invalid('value', 'fails to match the required pattern')
    return given
  }
  const scale = form.type === 'duration' ? units : form.type === 'size' ? sizes : {}
  const stated = typeof given === 'string' ? scaled(given, scale) : given
  // Programs compute limits; what is behind the point is left out.
  const number = typeof stated === 'number' ? Math.floor(stated) : stated
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) throw invalid('value', 'must be a whole number')
  if (number < 0) throw invalid('value', 'must be greater than or equal to 0')
  return number
}

function scaled(text: string, scale: Readonly<Record<string, number>>): number {
  const match = /^\s*(\d{1,16}(?:\.\d{1,16})?)\s*([a-z]{0,2})\s*$/i.exec(text)
  const unit = match?.[2]?.toLowerCase() ?? ''
  const factor = unit === '' ? 1 : Object.hasOwn(scale, unit) ? scale[unit] : undefined
  return match === null || factor === undefined ? Number.NaN : Number(match[1]) * factor
}
