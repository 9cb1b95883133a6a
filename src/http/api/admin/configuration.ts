// What the service runs with: every key of the configuration and every setting, the value in force and where it came from.
//
// Secrets are masked, and so are passwords in URLs. Nothing is changed here: keys stand in files and variables, settings have calls of their own.

import { Type } from 'typebox'
import { type Config, settingsInForce } from '#config'
import { type SettingKey, type Settings, settingForms } from '#store/folder/settings.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { optional, text } from '../../schema.ts'

export interface ConfigurationDeps {
  readonly config: Config
  readonly settings: Settings
}

const row = Type.Object({
  key: Type.String(),
  value: Type.String({ description: 'As a file has it; a secret is `[masked]`' }),
  default: Type.String(),
  source: Type.String({
    description: '`default`, `file`, `environment`, `flag` (command line) or `database` (changed over HTTP)',
  }),
  origin: Type.String({ description: 'The path of the file, the name of the variable; else empty' }),
  description: Type.String(),
  type: Type.String({ description: 'What kind of value it takes' }),
  changeable: Type.Boolean({ description: 'Whether `POST /settings/:key` changes it' }),
})

export function configurationEndpoints({ config, settings }: ConfigurationDeps): Endpoint[] {
  const list = endpoint({
    method: 'GET',
    path: '/configuration',
    tag: 'Settings',
    summary: 'What is in force, and where it came from',
    allow: 'settings.read',
    query: { filter: optional(text({ max: 255, lower: true, description: 'Part of a key, in any case' })) },
    reply: { results: Type.Array(row) },
    run({ input: { filter = '' } }) {
      const rows = [...fromConfig(config), ...fromSettings(settings)]
      return { results: rows.filter(({ key }) => key.toLowerCase().includes(filter)) }
    },
  })
  return [list]
}

function fromConfig(config: Config) {
  return settingsInForce(config).map(({ name, value, default: initial, origin, text: description, kind: type }) => {
    const source = origin === 'default' || origin === 'flag' ? origin : /^TEAL_/.test(origin) ? 'environment' : 'file'
    const named = source === 'file' || source === 'environment' ? origin : ''
    return { key: name, value, default: initial, source, origin: named, description, type, changeable: false }
  })
}

function fromSettings(settings: Settings) {
  const keys = Object.keys(settingForms) as SettingKey[]
  return keys.sort().map(key => {
    const { description, type } = settingForms[key]
    const source = settings.custom(key) ? 'database' : 'default'
    const values = { value: String(settings.get(key)), default: String(settings.default(key)) }
    return { key, ...values, source, origin: '', description, type, changeable: true }
  })
}
