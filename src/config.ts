// What an operator may change: a TOML file, then TEAL_* environment variables, then flags, read once at start into one
// frozen, typed object. The keys with their kinds, defaults and bounds stand in config/keys.ts.
//
// Promises: unknown keys, wrong values and contradictions are all found before anything starts, and told together, each
// with the file or variable it came from. Relative paths in a file are relative to that file. Secrets are never shown.
// Nothing else in the service reads the environment for settings.

import assert from 'node:assert'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { acmeName } from '#lib/acme-name.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { keys } from './config/keys.ts'
import { isLoopback, type Key, splitSocket } from './config/kinds.ts'
import { checkNodes } from './config/nodes.ts'
import { listeners } from './config/protocols.ts'

/** The configuration: durations in milliseconds, sizes in bytes, paths absolute, '' for what is unset. */
export type Config = Values<typeof keys>

/** A part of the configuration as a caller may give it: values, or the text a file would hold ('5m', '50MB'). */
export type ConfigPart = Part<typeof keys>

/** Where a value came from: 'default', 'flag', a variable's name or the file's path. */
export type Origins = ReadonlyMap<string, string>

export interface Sources {
  /** A TOML file; without one that which the variable TEAL_CONFIG names, or none. */
  readonly file?: string | undefined
  /** Environment variables, of which those named TEAL_* count. Default: none. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** What the command line or a library's caller says. */
  readonly flags?: ConfigPart
}

export interface Loaded {
  readonly config: Config
  readonly origins: Origins
}

/**
 * The configuration from its sources, later ones winning: file, environment, flags.
 * Throws `Fault('ConfigInvalid')` whose text has a line for each problem and whose details have one for each key.
 */
export function loadConfig(sources: Sources): Config {
  return readConfig(sources).config
}

/** As `loadConfig`, with the origin of every key (dotted name -> origin). */
export function readConfig(sources: Sources): Loaded {
  const draft = new Draft()
  const named = sources.file ?? sources.env?.TEAL_CONFIG
  if (named !== undefined && named !== '') {
    const file = resolve(named)
    draft.addTree(keys, readToml(file, draft), '', file, dirname(file))
  }
  draft.addEnvironment(sources.env ?? {})
  draft.addTree(keys, sources.flags ?? {}, '', 'flag', process.cwd())
  const values = draft.values(keys, '')
  const config = values as Config
  if (draft.problems.length === 0) checkTogether(config, draft)
  if (draft.problems.length > 0) throw new Fault('ConfigInvalid', { text: problemText(draft), details: details(draft) })
  origins.set(config, draft.origins)
  return { config, origins: draft.origins }
}

/**
 * Flags as a command line has them ('api.port=0', 'log.level=debug') as a part of the configuration.
 * Whether the keys exist and the values fit is for `loadConfig` to say.
 */
export function parseFlags(pairs: readonly string[]): ConfigPart {
  const flags: Tree = Object.create(null)
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    const text = `'${pair}' is no setting: write it as section.key=value`
    if (at < 1) throw new Fault('ConfigInvalid', { text, details: { [pair]: text } })
    const names = pair.slice(0, at).split('.')
    let tree = flags
    for (const name of names.slice(0, -1)) {
      const inner = tree[name] ?? Object.create(null)
      if (!isTree(inner)) throw new Fault('ConfigInvalid', { text, details: { [pair]: text } })
      tree[name] = inner
      tree = inner
    }
    tree[names.at(-1) ?? ''] = pair.slice(at + 1)
  }
  return flags as ConfigPart
}

/** Every key: dotted name, variable, and what stands in the table. */
export function listKeys(): readonly {
  readonly name: string
  readonly variable: string
  readonly key: Key<unknown>
}[] {
  return leaves(keys, '').map(([name, key]) => ({ name, variable: variableOf(name), key }))
}

/** Where values of a configuration that was read here came from. */
const origins = new WeakMap<Config, Origins>()

export interface InForce {
  readonly name: string
  readonly variable: string
  /** What it does, and what kind of value it takes. */
  readonly text: string
  readonly kind: string
  /** As a file has it; a secret is masked. */
  readonly value: string
  readonly default: string
  /** As of `Origins`. */
  readonly origin: string
}

/** Every key of a configuration with its value, nothing secret, and where that came from. */
export function settingsInForce(config: Config): InForce[] {
  return listKeys().map(({ name, variable, key }) => ({
    ...{ name, variable, text: key.text, kind: key.kind },
    value: key.show(valueAt(config, name)),
    default: key.secret ? '' : key.show(initialOf(key)),
    origin: origins.get(config)?.get(name) ?? 'default',
  }))
}

/** The configuration as TOML, a line for each key with its origin; secrets masked. */
export function showConfig({ config, origins }: Loaded): string {
  return render((name, key) => {
    const shown = `${leafName(name)} = ${key.show(valueAt(config, name))}`
    return [`${shown}  # ${origins.get(name) ?? 'default'}`]
  })
}

/** A commented file with every key at its default, to start one's own from. */
export function sampleConfig(): string {
  return render((name, key) => {
    return [`# ${key.text} (${key.kind}).`, `#${leafName(name)} = ${key.show(initialOf(key))}`]
  })
}

/** What is given as a file: each setting with its explanation. @throws Fault ConfigInvalid for what does not fit, and secrets */
export function writtenConfig(part: ConfigPart): string {
  const { config, origins } = readConfig({ flags: part })
  return render((name, key) => {
    if (!origins.has(name)) return []
    if (key.secret) throw new Fault('ConfigInvalid', { text: `'${name}' is a secret: add it to the file by hand` })
    return [`# ${key.text}.`, `${leafName(name)} = ${key.show(valueAt(config, name))}`]
  }).trimStart()
}

let byVariable: ReadonlyMap<string, { readonly name: string; readonly key: Key<unknown> }> | undefined

/** What a variable sets; undefined where it sets nothing. */
function keyOf(variable: string): { readonly name: string; readonly key: Key<unknown> } | undefined {
  byVariable ??= new Map(leaves(keys, '').map(([name, key]) => [variableOf(name), { name, key }]))
  return byVariable.get(variable)
}

/** `TEAL_API_ACCESS_CONTROL_ENABLED` for `api.accessControl.enabled`. */
function variableOf(name: string): string {
  return `TEAL_${name
    .replace(/[A-Z]/g, letter => `_${letter}`)
    .replaceAll('.', '_')
    .toUpperCase()}`
}

type Values<Node> = {
  readonly [Name in keyof Node]: Node[Name] extends Key<infer Value> ? Value : Values<Node[Name]>
}

type Part<Node> = {
  readonly [Name in keyof Node]?: Node[Name] extends Key<infer Value> ? Value | string : Part<Node[Name]>
}

interface Section {
  readonly [name: string]: Key<unknown> | Section
}

type Tree = Record<string, unknown>

interface Problem {
  readonly name: string
  readonly text: string
}

/** What the sources said so far, and what was wrong with it. */
class Draft {
  readonly problems: Problem[] = []
  readonly origins = new Map<string, string>()
  readonly #given = new Map<string, unknown>()

  refuse(name: string, text: string): void {
    this.problems.push({ name, text })
  }

  addTree(section: Section, tree: unknown, prefix: string, origin: string, folder: string): void {
    if (!isTree(tree)) {
      this.refuse(prefix, `${origin}: '${prefix.slice(0, -1)}' is a section, not a value`)
      return
    }
    for (const [name, raw] of Object.entries(tree)) {
      const node = Object.hasOwn(section, name) ? section[name] : undefined
      if (raw === undefined) continue
      if (node === undefined)
        this.refuse(prefix + name, `${origin}: there is no key '${prefix}${name}'${near(prefix + name)}`)
      else if (isKey(node)) this.#add(prefix + name, node, raw, origin, folder)
      else this.addTree(node, raw, `${prefix}${name}.`, origin, folder)
    }
  }

  addEnvironment(env: Readonly<Record<string, string | undefined>>): void {
    for (const [variable, raw] of Object.entries(env)) {
      if (raw === undefined || !variable.startsWith('TEAL_') || foreign.test(`${variable}=${raw}`)) continue
      const found = keyOf(variable)
      if (found === undefined) this.refuse(variable, `${variable}: there is no such key`)
      else this.#add(found.name, found.key, raw, variable, process.cwd())
    }
  }

  values(section: Section, prefix: string): Tree {
    const tree: Tree = {}
    for (const [name, node] of Object.entries(section)) {
      tree[name] = isKey(node) ? this.#value(prefix + name, node) : this.values(node, `${prefix}${name}.`)
    }
    return Object.freeze(tree)
  }

  #add(name: string, key: Key<unknown>, raw: unknown, origin: string, folder: string): void {
    const result = key.read(raw, folder)
    if ('reason' in result) {
      this.refuse(name, `${origin}: '${name}' ${result.reason}`)
      return
    }
    this.#given.set(name, result.value)
    this.origins.set(name, origin)
  }

  #value(name: string, key: Key<unknown>): unknown {
    if (this.#given.has(name)) return this.#given.get(name)
    const result = key.read(initialOf(key), process.cwd())
    assert('value' in result, `the default of ${name} is not valid`)
    return result.value
  }
}

/** The file itself, what `teal dev` and tests are told, and what a cluster sets for services that are called teal or teal-smtp. */
const foreign = /^TEAL_(CONFIG=|TESTING=|DEV_|PORT=|(\w+_)?(SERVICE_(HOST|PORT)|PORT_\d+_|PORT=(tcp|udp|sctp):))/

function readToml(file: string, draft: Draft): Tree {
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const where = error instanceof TomlError ? `${file}:${error.line}:${error.column}` : file
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
    draft.refuse(file, `${where}: ${reason}`)
    return {}
  }
}

/** Shorter ones can be guessed by who may ask often. */
const rootTokenLengthMin = 20

/** Whether the configured token of role root is one that other machines must not be let guess at. */
export function hasShortToken({ api: { accessToken } }: Config): boolean {
  return accessToken !== '' && accessToken.length < rootTokenLengthMin
}

/** What no key can see alone. */
function checkTogether(config: Config, draft: Draft): void {
  const refuse = (name: string, reason: string) =>
    draft.refuse(name, `${draft.origins.get(name) ?? 'default'}: '${name}' ${reason}`)
  if (!config.api.accessControl.enabled && !isLoopback(config.api.host)) {
    refuse('api.accessControl.enabled', `may be off only while api.host is loopback, and it is ${config.api.host}`)
  }
  if (hasShortToken(config) && !isLoopback(config.api.host)) {
    refuse('api.accessToken', `must have from ${rootTokenLengthMin} characters while api.host is ${config.api.host}`)
  }
  for (const section of ['tls', 'mobileconfig'] as const) {
    const { cert, key } = config[section]
    const [given, wanted] = cert === '' ? ['key', 'cert'] : ['cert', 'key']
    if ((cert === '') !== (key === '')) refuse(`${section}.${given}`, `needs ${section}.${wanted} beside it`)
  }
  if (config.api.accessControl.tokenTtl > config.api.accessControl.tokenLifetime) {
    refuse('api.accessControl.tokenTtl', 'must not be longer than api.accessControl.tokenLifetime')
  }
  for (const name of ['api', 'web'] as const) {
    if (!config[name].proxyProtocol || config.network.proxyProtocol.length > 0) continue
    refuse(`${name}.proxyProtocol`, 'is of no use while network.proxyProtocol names nobody')
  }
  const taken = new Map<string, string>()
  for (const name of listeners) {
    const { enabled, host, port } = config[name]
    if (!enabled || port === 0) continue
    const other = taken.get(`${host} ${port}`)
    if (other) refuse(`${name}.port`, `is ${port} on ${host}, which ${other} has already`)
    taken.set(`${host} ${port}`, name)
  }
  if (config.store.url && config.backup.folder) refuse('backup.folder', 'is of no use beside store.url: see pg_dump')
  checkNodes(config, refuse)
  checkAcme(config, taken, refuse)
}

function checkAcme(
  { tls: { acme }, hostname, api }: Config,
  taken: ReadonlyMap<string, string>,
  refuse: (name: string, reason: string) => void,
): void {
  const { host, port } = splitSocket(acme.http) ?? { host: '', port: 0 }
  const other = port === 0 ? undefined : taken.get(`${host} ${port}`)
  if (other !== undefined) refuse('tls.acme.http', `is ${acme.http}, which ${other} has already`)
  if (!acme.enabled) {
    if (acme.http !== '') refuse('tls.acme.http', 'is of no use while tls.acme.enabled is off')
    return
  }
  const { protocol = '', hostname: server = '' } = acme.directory === '' ? {} : new URL(acme.directory)
  if (protocol === '') refuse('tls.acme.directory', 'must be set')
  if (protocol === 'http:' && !isLoopback(server.replace(/^\[|\]$/g, ''))) {
    refuse('tls.acme.directory', 'must be https, unless the ACME server is on this machine')
  }
  if (!acme.termsAgreed) {
    refuse('tls.acme.termsAgreed', `must be true: nothing is fetched before the terms of ${server} are agreed to`)
  }
  const { bindingKeyId, bindingKey } = acme
  if (bindingKeyId !== '' && bindingKey === '') refuse('tls.acme.bindingKeyId', 'needs tls.acme.bindingKey beside it')
  if (!/^[A-Za-z0-9+/_-]*=*$/.test(acme.bindingKey)) refuse('tls.acme.bindingKey', 'must be in base64')
  if (acme.email !== '' && !/^[^\s@,?]+@[^\s@,?]+$/.test(acme.email)) refuse('tls.acme.email', 'must be a mail address')
  const { namesMax } = limits.acme
  if (acme.names.length > namesMax) refuse('tls.acme.names', `must not have more than ${namesMax} names`)
  if (acme.names.length === 0 && acmeName(hostname) === undefined) {
    refuse('tls.acme.names', `must be set, since no certificate can be fetched for the hostname ${hostname}`)
  }
  if (!api.enabled && acme.http === '') refuse('tls.acme.http', 'must be set while the API is off: nobody else answers')
}

export { splitSocket } from './config/kinds.ts'
export { type ListenerName, listeners } from './config/protocols.ts'

function problemText(draft: Draft): string {
  return draft.problems.map(problem => problem.text).join('\n')
}

function details(draft: Draft): Record<string, string> {
  return Object.fromEntries(draft.problems.toReversed().map(problem => [problem.name, problem.text]))
}

/** A known key with the same last word, for people who misplace or misspell one. */
function near(name: string): string {
  const last = leafName(name).toLowerCase()
  const found = leaves(keys, '').find(([known]) => leafName(known).toLowerCase() === last && known !== name)
  return found === undefined ? '' : `; is '${found[0]}' meant?`
}

function render(lines: (name: string, key: Key<unknown>) => string[]): string {
  const text: string[] = []
  let section = ''
  for (const [name, key] of leaves(keys, '')) {
    const own = name.slice(0, Math.max(0, name.lastIndexOf('.')))
    const printed = lines(name, key)
    if (printed.length > 0 && own !== section) {
      text.push('', `[${own}]`)
      section = own
    }
    text.push(...printed)
  }
  return `${text.join('\n')}\n`
}

/** All keys of a section with dotted names, its own keys before those of inner sections, as TOML wants them. */
function leaves(section: Section, prefix: string): (readonly [string, Key<unknown>])[] {
  const own: (readonly [string, Key<unknown>])[] = []
  const inner: (readonly [string, Key<unknown>])[] = []
  for (const [name, node] of Object.entries(section)) {
    if (isKey(node)) own.push([prefix + name, node])
    else inner.push(...leaves(node, `${prefix}${name}.`))
  }
  return [...own, ...inner]
}

function valueAt(config: Config, name: string): unknown {
  let value: unknown = config
  for (const part of name.split('.')) value = isTree(value) ? value[part] : undefined
  return value
}

function initialOf(key: Key<unknown>): unknown {
  return typeof key.initial === 'function' ? key.initial() : key.initial
}

function leafName(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}

function isKey(node: Key<unknown> | Section): node is Key<unknown> {
  return typeof node.read === 'function'
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}
