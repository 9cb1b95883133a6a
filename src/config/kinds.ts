// The kinds of value a configuration key can have: how each is read, checked, and shown again.
//
// A kind takes what a TOML file holds (text, number, boolean, list) and what an environment variable or a flag can hold
// (text only) and gives one typed value, or a reason that a person understands. Kinds know nothing of any key.

import { isAbsolute, resolve } from 'node:path'
import ipaddr from 'ipaddr.js'
import { acmeName } from '#lib/acme-name.ts'

/** What reading gives: the value, or why it is none. The reason follows the key's name in a sentence. */
type Read<Value> = { readonly value: Value } | { readonly reason: string }

/** One key of the configuration: its kind, its default, a line for people, and how to read and show it. */
export interface Key<Value> {
  /** What kind of value it takes, in words: 'duration', 'port'. */
  readonly kind: string
  /** The value where nobody says otherwise; a function where it depends on the machine. */
  readonly initial: Value | (() => Value)
  /** One line: what it does. */
  readonly text: string
  /** A secret is never shown. */
  readonly secret: boolean
  /** `folder` is what a relative path is relative to. */
  read(raw: unknown, folder: string): Read<Value>
  /** The value as TOML, fit to be read again. */
  show(value: Value): string
}

const minute = 60_000
const durationUnits = { ms: 1, s: 1000, m: minute, h: 60 * minute, d: 24 * 60 * minute } as const
const sizeUnits = { B: 1, KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30, TB: 2 ** 40 } as const

/** On or off; as text true, yes, on, 1 and false, no, off, 0. */
export function flag(initial: boolean, text: string): Key<boolean> {
  return key<boolean>('true or false', initial, text, raw => {
    if (typeof raw === 'boolean') return { value: raw }
    const word = typeof raw === 'string' ? raw.trim().toLowerCase() : ''
    if (['true', 'yes', 'on', '1'].includes(word)) return { value: true }
    if (['false', 'no', 'off', '0'].includes(word)) return { value: false }
    return { reason: 'must be true or false' }
  })
}

/** A whole number in [min, max]. */
export function count(initial: number, min: number, max: number, text: string): Key<number> {
  return key('number', initial, text, raw => readNumber(raw, min, max))
}

/** A whole number in [min, max], or what suits the machine. */
export function countOrAuto(initial: number | 'auto', min: number, max: number, text: string): Key<number | 'auto'> {
  return key<number | 'auto'>("number or 'auto'", initial, text, raw => {
    if (raw === 'auto') return { value: 'auto' }
    const read = readNumber(raw, min, max)
    return 'reason' in read ? { reason: `${read.reason}, or 'auto'` } : read
  })
}

/** A TCP port; 0 takes a free one. */
export function port(initial: number, text: string): Key<number> {
  return key('port', initial, text, raw => readNumber(raw, 0, 65_535))
}

/** Milliseconds in [min, max]; as text '500ms', '30s', '5m', '2h', '14d'. */
export function duration(initial: string, min: string, max: string, text: string): Key<number> {
  const read = unitReader(durationUnits, min, max, "a time such as '30s', '5m', '2h' or '14d', or milliseconds")
  return { ...key('duration', measured(initial, durationUnits), text, read), show: showDuration }
}

/** Bytes in [min, max]; as text '64KB', '50MB', '1GB' (powers of 1024). */
export function size(initial: string, min: string, max: string, text: string): Key<number> {
  const read = unitReader(sizeUnits, min, max, "a size such as '64KB', '50MB' or '1GB', or bytes")
  return { ...key('size', measured(initial, sizeUnits), text, read), show: showSize }
}

/** One of a few words. */
export function choice<const Word extends string>(words: readonly Word[], initial: Word, text: string): Key<Word> {
  return key<Word>(words.map(word => `'${word}'`).join(' or '), initial, text, raw => {
    const word = words.find(word => word === raw)
    return word === undefined ? { reason: `must be one of ${words.join(', ')}` } : { value: word }
  })
}

/** Text in one line, possibly empty. */
export function words(initial: string, text: string): Key<string> {
  return key<string>('text', initial, text, raw => {
    if (typeof raw !== 'string') return { reason: 'must be text' }
    if (raw.length > 1000) return { reason: 'must not be longer than 1000 characters' }
    return /[\p{Cc}]/u.test(raw) ? { reason: 'must not hold control characters' } : { value: raw }
  })
}

/** Text that is never shown. Empty means unset; what is set has `lengthMin` characters at least. */
export function secret(lengthMin: number, text: string): Key<string> {
  const read = (raw: unknown): Read<string> => {
    if (typeof raw !== 'string') return { reason: 'must be text' }
    const long = raw === '' || (raw.length >= lengthMin && raw.length <= 1000)
    return long ? { value: raw } : { reason: `must have from ${lengthMin} to 1000 characters` }
  }
  return { ...key('secret', '', text, read), secret: true, show: value => (value === '' ? "''" : "'[masked]'") }
}

/** A path, made absolute; empty means unset. */
export function path(initial: string | (() => string), text: string): Key<string> {
  return key<string>('path', initial, text, (raw, folder) => {
    if (typeof raw !== 'string' || raw.includes('\0')) return { reason: 'must be a path' }
    return { value: raw === '' || isAbsolute(raw) ? raw : resolve(folder, raw) }
  })
}

/** Where a program listens: an address and a port, or the absolute path of a socket; '' for unset. */
export function server(text: string): Key<string> {
  return key<string>('server', '', text, raw => {
    if (raw === '') return { value: '' }
    const good = typeof raw === 'string' && (isAbsolute(raw) || splitSocket(raw) !== undefined) && !raw.includes('\0')
    return good
      ? { value: raw }
      : { reason: "must be an address and a port such as '127.0.0.1:3310', or a socket's path" }
  })
}

/** A host name, lower case. `empty` allows '' for unset. */
export function hostname(initial: string | (() => string), empty: boolean, text: string): Key<string> {
  return key<string>('host name', initial, text, raw => {
    const name = typeof raw === 'string' ? raw.trim().toLowerCase().replace(/\.$/, '') : undefined
    if (name === '' && empty) return { value: '' }
    return name !== undefined && isHostname(name) ? { value: name } : { reason: 'must be a host name' }
  })
}

/** An address of this machine that connections are made from; empty means unset. */
export function sourceAddress(text: string): Key<string> {
  return key<string>('address', '', text, raw => {
    const host = typeof raw === 'string' ? raw.trim() : 'x'
    const known = host === '' || ipaddr.IPv6.isValid(host) || ipaddr.IPv4.isValidFourPartDecimal(host)
    return known ? { value: host } : { reason: "must be an IP address such as '192.0.2.1'" }
  })
}

/** Where a listener listens: an IPv4 or IPv6 address, or 'localhost'. */
export function address(initial: string, text: string): Key<string> {
  return key<string>('address', initial, text, raw => {
    const host = typeof raw === 'string' ? raw.trim() : ''
    const known = host === 'localhost' || ipaddr.IPv6.isValid(host) || ipaddr.IPv4.isValidFourPartDecimal(host)
    return known ? { value: host } : { reason: "must be an IP address ('0.0.0.0' and '::' mean all) or 'localhost'" }
  })
}

/** Where a listener listens, as 'address:port' ('[address]:port' for IPv6); empty means it does not. */
export function socket(initial: string, text: string): Key<string> {
  return key<string>('address and port', initial, text, raw => {
    if (raw === '') return { value: '' }
    const good = typeof raw === 'string' && splitSocket(raw) !== undefined
    return good ? { value: raw } : { reason: "must be an IP address and a port such as '0.0.0.0:80' or '[::]:80'" }
  })
}

/** The parts of an address and port; undefined where the text is none. */
export function splitSocket(text: string): { host: string; port: number } | undefined {
  const [, six, other, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? []
  const host = six ?? other ?? ''
  const known = six === undefined ? host === 'localhost' || ipaddr.IPv4.isValidFourPartDecimal(host) : isIpv6(six)
  return known && Number(digits) <= 65_535 ? { host, port: Number(digits) } : undefined
}

/** A URL with one of `schemes` and a host; empty means unset. A password in it is masked when shown. */
export function url(initial: string, schemes: readonly string[], text: string): Key<string> {
  const reason = `must be a URL that starts with ${schemes.map(scheme => `${scheme}://`).join(' or ')}`
  const read = (raw: unknown): Read<string> => {
    if (raw === '') return { value: '' }
    const parsed = typeof raw === 'string' && URL.canParse(raw) ? new URL(raw) : undefined
    const good = parsed !== undefined && parsed.host !== '' && schemes.includes(parsed.protocol.slice(0, -1))
    return good ? { value: raw as string } : { reason }
  }
  return { ...key('URL', initial, text, read), show: value => literal(maskUrl(value)) }
}

/** How a connection to PostgreSQL is encrypted, in the words of its own programs; those that would go on without are none. */
const sslModes = ['disable', 'require', 'verify-ca', 'verify-full']

/** Address of a PostgreSQL database; empty means unset. The password in it is masked when shown, and stands nowhere else in it. */
export function database(text: string): Key<string> {
  const { read, ...form } = url('', ['postgres', 'postgresql'], text)
  return {
    ...form,
    read: (raw, folder) => {
      const result = read(raw, folder)
      if (raw === '' || 'reason' in result) return result
      const { pathname, searchParams } = new URL(result.value)
      if (pathname.length < 2) return { reason: 'must name a database, as in postgres://user:password@host/database' }
      const secret = [...searchParams.keys()].find(name => /pass|secret/i.test(name))
      if (secret !== undefined) return { reason: `must have its password before the host, not as '${secret}'` }
      const mode = searchParams.get('sslmode') ?? 'disable'
      if (!sslModes.includes(mode)) return { reason: `must have as sslmode one of ${sslModes.join(', ')}` }
      if (mode === 'verify-ca' && !searchParams.has('sslrootcert'))
        return { reason: 'must name a file of certificates as sslrootcert beside sslmode=verify-ca' }
      return result
    },
  }
}

/** A bucket of an S3-compatible store, with what names in it begin with; empty means unset. Keys do not stand in it. */
export function bucket(text: string): Key<string> {
  const { read, ...form } = url('', ['s3', 'https', 'http'], text)
  return {
    ...form,
    read: (raw, folder) => {
      const result = read(raw, folder)
      if (raw === '' || 'reason' in result) return result
      const { protocol, username, password, pathname, search, hash } = new URL(result.value)
      if (username !== '' || password !== '') {
        return { reason: 'must not hold a key, which bodies.accessKey and bodies.secretKey are for' }
      }
      const plain = /^[\w./-]*$/.test(pathname) && search === '' && hash === '' && !pathname.includes('//')
      if (!plain)
        return { reason: 'must not have more behind the bucket than a path of letters, digits, dots and hyphens' }
      if (protocol !== 's3:' && pathname.length < 2)
        return { reason: 'must name a bucket, as in https://s3.example.com/bucket' }
      return result
    },
  }
}

/** A list of text; in an environment variable or flag separated by commas. */
export function list(
  initial: readonly string[],
  text: string,
  item: (text: string) => string | undefined = () => undefined,
): Key<readonly string[]> {
  const read = (raw: unknown): Read<readonly string[]> => {
    const items = typeof raw === 'string' ? raw.split(',').map(part => part.trim()) : raw
    if (!Array.isArray(items) || items.some(part => typeof part !== 'string'))
      return { reason: 'must be a list of text' }
    const value = (items as string[]).filter(part => part !== '')
    for (const part of value) {
      const reason = item(part)
      if (reason !== undefined) return { reason: `has '${part}', which ${reason}` }
    }
    return { value: Object.freeze(value) }
  }
  return {
    ...key('list', Object.freeze([...initial]), text, read),
    show: value => `[${value.map(literal).join(', ')}]`,
  }
}

/** Why `text` is no range of addresses in CIDR form, or undefined where it is one. */
export function notCidr(text: string): string | undefined {
  return ipaddr.isValidCIDR(text) ? undefined : "is no address range such as '10.0.0.0/8' or 'fd00::/8'"
}

/** Why `text` is neither a range of addresses nor a domain, or undefined where it is one. */
export function notForwarder(text: string): string | undefined {
  return text.includes('/') ? notCidr(text) : notHostname(text)
}

/** Why `text` is no origin of a browser (scheme, host, port), or undefined where it is one or '*'. */
export function notOrigin(text: string): string | undefined {
  const good = text === '*' || (URL.canParse(text) && new URL(text).origin === text)
  return good ? undefined : "is no origin such as 'https://mail.example.com'"
}

/** Why `text` is no server by its address, a port behind it or not, or undefined where it is one. */
export function notServer(text: string): string | undefined {
  const host = splitSocket(text)?.host
  const good = ipaddr.isValid(text) || (host !== undefined && ipaddr.isValid(host))
  return good ? undefined : "is no address such as '192.0.2.1', '192.0.2.1:53' or '[2001:db8::1]:53'"
}

/** Why `text` is no zone of a list in DNS, with or without points, or undefined where it is one. */
export function notList(text: string): string | undefined {
  const [zone = '', points, more] = text.split('=')
  const good =
    isHostname(zone.toLowerCase()) && more === undefined && (points === undefined || /^-?\d{1,3}$/.test(points))
  return good ? undefined : "is no list such as 'bl.example.org' or 'bl.example.org=40'"
}

/** Why `text` is no host name, or undefined where it is one. */
export function notHostname(text: string): string | undefined {
  return isHostname(text.toLowerCase()) ? undefined : 'is no host name'
}

/** Why no certificate can be fetched for `text` by ACME, or undefined where one can. */
export function notFetched(text: string): string | undefined {
  return acmeName(text) === undefined ? 'is no whole host name, which alone can be fetched (no wildcard)' : undefined
}

/** Whether a listener on `host` can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback')
}

function key<Value>(
  kind: string,
  initial: Value | (() => Value),
  text: string,
  read: (raw: unknown, folder: string) => Read<Value>,
): Key<Value> {
  return { kind, initial, text, secret: false, read, show: value => literal(value) }
}

function literal(value: unknown): string {
  if (typeof value !== 'string') return String(value)
  return value.includes("'") ? JSON.stringify(value) : `'${value}'`
}

function isHostname(name: string): boolean {
  const label = /^(?!-)[\p{Ll}\p{Lo}\p{N}_-]{1,63}(?<!-)$/u
  return name.length > 0 && name.length <= 253 && name.split('.').every(part => label.test(part))
}

function isIpv6(host: string): boolean {
  return ipaddr.IPv6.isValid(host)
}

function readNumber(raw: unknown, min: number, max: number): Read<number> {
  const number = typeof raw === 'string' && /^\d{1,16}$/.test(raw.trim()) ? Number(raw) : raw
  const good = typeof number === 'number' && Number.isSafeInteger(number) && number >= min && number <= max
  return good ? { value: number } : { reason: `must be a whole number from ${min} to ${max}` }
}

function unitReader(units: Readonly<Record<string, number>>, min: string, max: string, words: string) {
  const from = measured(min, units)
  const to = measured(max, units)
  return (raw: unknown): Read<number> => {
    const value = measured(raw, units)
    const good = Number.isSafeInteger(value) && value >= from && value <= to
    return good ? { value } : { reason: `must be ${words}, from '${min}' to '${max}'` }
  }
}

/** `raw` in the smallest of `units`; NaN where it has no such form. */
function measured(raw: unknown, units: Readonly<Record<string, number>>): number {
  if (typeof raw === 'number') return raw
  const match = typeof raw === 'string' ? /^(\d{1,16})\s*([a-z]*)$/i.exec(raw.trim()) : null
  if (match === null) return Number.NaN
  const [, digits = '', unit = ''] = match
  if (unit === '') return Number(digits)
  const name = Object.keys(units).find(name => name.toLowerCase() === unit.toLowerCase())
  return name === undefined ? Number.NaN : Number(digits) * (units[name] ?? Number.NaN)
}

function showDuration(value: number): string {
  return showUnit(value, durationUnits)
}

function showSize(value: number): string {
  return showUnit(value, sizeUnits)
}

function showUnit(value: number, units: Readonly<Record<string, number>>): string {
  const fit = Object.entries(units).findLast(([, factor]) => value >= factor && value % factor === 0)
  return fit === undefined ? String(value) : `'${value / fit[1]}${fit[0]}'`
}

function maskUrl(text: string): string {
  if (!URL.canParse(text)) return text
  const parsed = new URL(text)
  if (parsed.password === '') return text
  parsed.password = '[masked]'
  return parsed.href.replace('%5Bmasked%5D', '[masked]')
}
