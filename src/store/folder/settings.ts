// Settings an operator changes while the service runs: every key with type, default and meaning, their table, and their
// values in memory. A change is a row written by the directory; `apply` is called after its commit, so it is effective at once.
//
// Reading a value never touches the disk. Whoever needs one asks at the moment of use and must not keep it.

import type { Config } from '#config'
import { json, text } from '../engine/column.ts'
import type { Reader } from '../engine/reader.ts'
import { table } from '../engine/table.ts'

type SettingType = 'number' | 'duration' | 'size' | 'boolean' | 'string'

export interface SettingForm {
  readonly type: SettingType
  readonly name: string
  readonly description: string
  readonly default: number | boolean | string
  /** What a value of type string must look like. */
  readonly pattern?: RegExp
}

/** Those that were changed. */
const settings = table(
  'setting',
  { key: text, value: json<number | boolean | string>() },
  { key: ['key'], clustered: true },
)

export const settingPut = settings.defineUpsert()

/** Puts the default back. */
export const settingDelete = settings.defineDelete(['key'])

const hour = 3_600_000
const day = 24 * hour
const gib = 1024 ** 3

const forms = {
  'const:archive:time': {
    type: 'duration',
    name: 'Archive time',
    description: 'How long deleted messages can be restored',
    default: 25 * day,
  },
  'const:asp:limit': {
    type: 'number',
    name: 'Application passwords',
    description: 'Application passwords of one user',
    default: 50,
  },
  'const:authlog:time': {
    type: 'duration',
    name: 'Authentication log',
    description: 'How long entries are kept; 0 keeps none',
    default: 30 * day,
  },
  'const:autoreply:interval': {
    type: 'duration',
    name: 'Autoreply interval',
    description: 'Time between two autoreplies to one sender',
    default: 4 * hour,
  },
  'const:domaincache:enabled': {
    type: 'boolean',
    name: 'Domain cache',
    description: 'Known to clients of this API; domains are always cached here',
    default: false,
  },
  'const:imap:use_wd_worker_channels': {
    type: 'boolean',
    name: 'Worker channels',
    description: 'Known to clients of this API; has no effect here',
    default: false,
  },
  'const:max:bulk_batch_size': {
    type: 'number',
    name: 'Bulk batch',
    description: 'Messages handled in one step of a bulk operation',
    default: 150,
  },
  'const:max:filters': { type: 'number', name: 'Filters', description: 'Filters of one user', default: 400 },
  'const:max:forwards': {
    type: 'number',
    name: 'Forwards a day',
    description: 'Forwarded messages of one user in 24 hours',
    default: 2000,
  },
  'const:max:imap:download': {
    type: 'size',
    name: 'IMAP download',
    description: 'Bytes one user may download over IMAP in 24 hours',
    default: 10 * gib,
  },
  'const:max:imap:upload': {
    type: 'size',
    name: 'IMAP upload',
    description: 'Bytes one user may upload over IMAP in 24 hours',
    default: 10 * gib,
  },
  'const:max:mailboxes': { type: 'number', name: 'Mailboxes', description: 'Mailboxes of one user', default: 1500 },
  'const:max:pop3:download': {
    type: 'size',
    name: 'POP3 download',
    description: 'Bytes one user may download over POP3 in 24 hours',
    default: 10 * gib,
  },
  'const:max:rcpt_to': {
    type: 'number',
    name: 'Recipients of a message',
    description: 'Recipients of one outgoing message',
    default: 400,
  },
  'const:max:recipients': {
    type: 'number',
    name: 'Recipients a day',
    description: 'Recipients one user may send to in 24 hours',
    default: 2000,
  },
  'const:max:storage': {
    type: 'size',
    name: 'Storage',
    description: 'Bytes one user may store unless the user has a quota',
    default: gib,
  },
  'const:sender:burst': {
    type: 'number',
    name: 'Recipients at once',
    description: 'Recipients in ten minutes up to which no account is held back; 0 holds back nobody',
    default: 300,
  },
  'const:sender:burst_factor': {
    type: 'number',
    name: 'More than usual',
    description: 'How many times its own busiest ten minutes an account may send before it is held back',
    default: 4,
  },
  'const:sender:defer_times': {
    type: 'string',
    name: 'Retry schedule',
    description: 'Waits between attempts to send, as numbers with s, m, h or d',
    default: `5m, 7m, 8m, 25m, 75m, 2h, ${new Array(11).fill('4h').join(', ')}`,
    pattern: /^\s*\d+\s*[smhd]\s*(,\s*\d+\s*[smhd]\s*)*$/,
  },
  'const:sender:suppress_times': {
    type: 'string',
    name: 'Addresses that are gone',
    description: 'How long an address that does not exist is not written to, the first time and after; 0d: not at all',
    default: '7d, 30d, 90d',
    pattern: /^\s*\d+\s*[smhd]\s*(,\s*\d+\s*[smhd]\s*)*$/,
  },
} as const satisfies Record<string, SettingForm>

export type SettingKey = keyof typeof forms

/** Every key there is. */
export const settingForms: Readonly<Record<SettingKey, SettingForm>> = forms

type Value<Key extends SettingKey> = (typeof forms)[Key]['type'] extends 'boolean'
  ? boolean
  : (typeof forms)[Key]['type'] extends 'string'
    ? string
    : number

/** What the configuration says instead of the table. */
export type SettingDefaults = Partial<Record<SettingKey, number | boolean | string>>

/** What the configuration file says. */
export function configuredSettings({ quota }: Pick<Config, 'quota'>): SettingDefaults {
  return {
    'const:max:storage': quota.storage,
    'const:max:recipients': quota.recipients,
    'const:max:forwards': quota.forwards,
  }
}

/** Hears of a change that is in force; whoever made it waits until this resolves. */
export type SettingFollower = (key: SettingKey, value: number | boolean | string | null) => Promise<unknown>

export class Settings {
  readonly #values = new Map<string, number | boolean | string>()
  readonly #defaults = new Map<string, number | boolean | string>()
  readonly #applied = new Set<SettingKey>()
  readonly #followers: SettingFollower[] = []

  /** @param defaults what the configuration file says instead of the table, `const:max:storage` for example */
  constructor(defaults: SettingDefaults = {}) {
    for (const [key, form] of Object.entries(forms)) this.#defaults.set(key, form.default)
    for (const [key, value] of Object.entries(defaults)) this.#defaults.set(key, value)
  }

  /** With what operators changed. */
  static async open(read: Reader, defaults: SettingDefaults = {}): Promise<Settings> {
    const opened = new Settings(defaults)
    await opened.load(read)
    return opened
  }

  /** Takes in what operators changed; what was applied meanwhile is newer. */
  async load(read: Reader): Promise<void> {
    const rows = await settings.all(read, '')
    for (const { key, value } of rows) if (!this.#applied.has(key as SettingKey)) this.#values.set(key, value)
  }

  /** The value in force. */
  get<Key extends SettingKey>(key: Key): Value<Key> {
    return (this.#values.get(key) ?? this.#defaults.get(key)) as Value<Key>
  }

  /** The value without any change by an operator. */
  default(key: SettingKey): number | boolean | string {
    return this.#defaults.get(key) ?? forms[key].default
  }

  /** Whether an operator changed it. */
  custom(key: SettingKey): boolean {
    return this.#values.has(key)
  }

  /** Makes a committed change effective, here at once and for all when this resolves; null puts the default back. */
  async apply(key: SettingKey, value: number | boolean | string | null): Promise<void> {
    this.#applied.add(key)
    if (value === null) this.#values.delete(key)
    else this.#values.set(key, value)
    await Promise.all(this.#followers.map(follower => follower(key, value)))
  }

  /** Tells `follower` of every change from now on. */
  follow(follower: SettingFollower): void {
    this.#followers.push(follower)
  }
}
