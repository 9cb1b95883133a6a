// What the net thinks of a host that brings mail, and of the hosts its message links to: lists in DNS (RFC 5782) that the
// configuration names, its reverse name (RFC 1912 2.1) and what it calls itself.
//
// Promises: a list is believed only while its test entries say that it works (127.0.0.2 is listed, 127.0.0.1 is not), and an
// answer of 127.255.255.x, or another by which lists say so, means that it refuses to be asked; such a list is left alone for a while and named in `off`. Never
// throws, never waits longer than limits.verify.standingMs: what is not known by then says nothing.

import ipaddr from 'ipaddr.js'
import { getDomain } from 'tldts'
import { monotonic, within } from '#lib/clock.ts'
import { jitter } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Resolve } from '../origin/dns-answers.ts'
import { Remembered } from '../origin/remembered.ts'
import { linksIn } from '../text/links.ts'
import type { SpamText } from './features.ts'

/** As configured: zones, each with points behind `=` where they are not the usual ones. */
export interface ListZones {
  /** Of hosts nobody should take mail from. */
  readonly block: readonly string[]
  /** Of hosts everybody should. */
  readonly allow: readonly string[]
  /** Of domains that stand in spam. */
  readonly uri: readonly string[]
}

/** As parts of the score (store/mailboxes/messages.ts). */
export interface StandingPart {
  readonly name: string
  readonly score: number
  readonly info: string
}

export interface Standing {
  readonly parts: readonly StandingPart[]
  /** The registered domain of the host's name, where that leads back to it. */
  readonly organization?: string | undefined
  /** Lists that are not asked at the moment, each with the reason. */
  readonly off: readonly string[]
}

export interface StandingQuestion {
  readonly ip: string
  readonly helo: string
  /** Name of this service. */
  readonly hostname: string
  /** What can be read in the message, asked for only where a list looks at its links. */
  texts(): Promise<SpamText['texts']>
}

/** Of a host, whatever it brings. */
interface HostStanding {
  readonly parts: readonly StandingPart[]
  readonly organization?: string | undefined
  /** Everybody who was asked had an answer, and no list came or went meanwhile. */
  readonly settled: boolean
}

const usual = { block: 30, allow: -20, uri: 30 } as const
type Kind = keyof typeof usual

interface List {
  readonly kind: Kind
  readonly zone: string
  readonly score: number
  /** Why it is not asked; empty where it works. */
  reason: string
  checkedUntil: number
  checking: Promise<void> | undefined
}

const points = { nameless: 10, unconfirmed: 5, noName: 5, ourName: 20 } as const

/** Resolvers that lists refuse, or lie to, since anybody may be behind them. */
const publicResolvers =
  /^(?:8\.8\.[48]\.[48]|1\.[01]\.[01]\.[123]|9\.9\.9\.\d+|149\.112\.112\.\d+|208\.67\.22[02]\.\d+|2001:4860:4860:|2606:4700:4700:|2620:fe:|2620:119:)/

export class Standings {
  readonly #resolve: Resolve
  readonly #lists: readonly List[]
  readonly #hosts = new Remembered<HostStanding>(({ settled }) => settled)
  /** Answers that could not be had so far, and times a list was left alone. */
  #unanswered = 0

  /** @param servers addresses of the resolver that answers, with or without a port */
  constructor(resolve: Resolve, zones: ListZones, servers: readonly string[]) {
    this.#resolve = resolve
    const open = servers.find(server => publicResolvers.test(server.replace(/^\[/, '')))
    const reason = open === undefined ? '' : `the resolver ${open} is public`
    this.#lists = (['block', 'allow', 'uri'] as const).flatMap(kind =>
      zones[kind].map(text => {
        const [zone = '', score] = text.split('=')
        const checkedUntil = reason === '' ? 0 : Number.POSITIVE_INFINITY
        return {
          kind,
          zone,
          score: score === undefined ? usual[kind] : Number(score),
          reason,
          checkedUntil,
          checking: undefined,
        }
      }),
    )
  }

  /** Hosts of which it is remembered what lists and names say. */
  get size(): number {
    return this.#hosts.size
  }

  async of(question: StandingQuestion): Promise<Standing> {
    const parts: StandingPart[] = []
    let organization: string | undefined
    const until = monotonic() + limits.verify.standingMs
    const add = (part: StandingPart | undefined) => void (part !== undefined && monotonic() < until && parts.push(part))
    const { ip, helo, hostname } = question
    const key = JSON.stringify([ip, helo, hostname])
    const known = this.#hosts.find(key)
    const name = (of: string | undefined) => {
      organization = of
    }
    known?.parts.forEach(add)
    name(known?.organization)
    const tasks = [
      known === undefined ? this.#ofBringer(question, key, add, name) : undefined,
      this.#ofLinks(question, add),
    ]
    await within(limits.verify.standingMs, Promise.allSettled(tasks), () => new Error('late')).catch(() => {})
    return {
      parts: [...parts],
      organization,
      off: this.#lists.filter(({ reason }) => reason !== '').map(({ zone, reason }) => `${zone}: ${reason}`),
    }
  }

  async #ofBringer(
    { ip, helo, hostname }: StandingQuestion,
    key: string,
    add: (part: StandingPart | undefined) => void,
    name: (organization: string | undefined) => void,
  ): Promise<void> {
    const unanswered = this.#unanswered
    let organization: string | undefined
    const named = this.#ofName(ip).then(found => {
      organization = found.organization
      name(organization)
      return found.part
    })
    const asked = [
      ...this.#lists.filter(({ kind }) => kind !== 'uri').map(list => this.#ofHost(list, ip)),
      named,
      this.#ofHelo(helo, hostname, ip),
    ]
    for (const one of asked) void one.then(add)
    const found = await Promise.all(asked)
    const parts = found.filter(part => part !== undefined)
    this.#hosts.keep(key, { parts, organization, settled: this.#unanswered === unanswered })
  }

  async #ofHost(list: List, ip: string): Promise<StandingPart | undefined> {
    if (!(await this.#works(list))) return undefined
    const found = await this.#listed(list, `${reversed(ip)}.${list.zone}`)
    return found === ''
      ? undefined
      : { name: list.kind === 'allow' ? 'dnswl' : 'dnsbl', score: list.score, info: `${list.zone} ${found}` }
  }

  async #ofLinks({ texts }: StandingQuestion, add: (part: StandingPart | undefined) => void): Promise<void> {
    const lists = this.#lists.filter(({ kind }) => kind === 'uri')
    if (lists.length === 0) return
    const domains = linkedDomains(await texts())
    for (const list of lists) {
      if (!(await this.#works(list))) continue
      const found = await Promise.all(
        domains.map(async domain => ({ domain, answer: await this.#listed(list, `${domain}.${list.zone}`) })),
      )
      const named = found.filter(({ answer }) => answer !== '').map(({ domain }) => domain)
      if (named.length > 0)
        add({ name: 'uribl', score: list.score, info: `${list.zone} ${named.slice(0, 3).join(' ')}` })
    }
  }

  /** RFC 1912 2.1: a name, and one that leads back. */
  async #ofName(ip: string): Promise<{ part?: StandingPart; organization?: string | undefined }> {
    const zone = ip.includes(':') ? 'ip6.arpa' : 'in-addr.arpa'
    const names = await this.#ask(`${reversed(ip)}.${zone}`, 'PTR')
    if (names === null) return {}
    const [name = ''] = names
    if (name === '') return { part: { name: 'reverse-name', score: points.nameless, info: 'the host has no name' } }
    let doubtful = false
    for (const one of names.slice(0, limits.verify.reverseNamesMax)) {
      const found = await this.#leads(one, ip)
      if (found === true) return { organization: getDomain(one, { allowPrivateDomains: true }) ?? undefined }
      doubtful ||= found !== false
    }
    if (doubtful) return {}
    return {
      part: { name: 'reverse-name', score: points.unconfirmed, info: `${printable(name)} is another host's` },
    }
  }

  async #ofHelo(helo: string, hostname: string, ip: string): Promise<StandingPart | undefined> {
    const name = helo.toLowerCase().replace(/\.$/, '')
    if (name === hostname.toLowerCase())
      return { name: 'helo', score: points.ourName, info: 'it calls itself by our name' }
    if (/^\[.*\]$/.test(name)) return undefined
    if (!/^(?=.{1,253}$)[a-z\d_]([a-z\d_-]*\.)+[a-z][a-z\d-]*$/.test(name)) {
      return { name: 'helo', score: points.noName, info: `${printable(helo)} is no name of a host` }
    }
    return (await this.#leads(name, ip)) === undefined
      ? { name: 'helo', score: points.noName, info: `there is no ${printable(name)}` }
      : undefined
  }

  /** Whether a name has this address; undefined where there is no such name, null where nobody could say. */
  async #leads(name: string, ip: string): Promise<boolean | null | undefined> {
    const same = ip.includes(':') ? 'AAAA' : 'A'
    const found = await this.#ask(name, same)
    if (found === null) return null
    const own = ipaddr.isValid(ip) ? ipaddr.parse(ip).toString() : ip
    if (found.length > 0) return found.some(one => ipaddr.isValid(one) && ipaddr.parse(one).toString() === own)
    const others = await this.#ask(name, same === 'A' ? 'AAAA' : 'A')
    return others === null ? null : others.length > 0 ? false : undefined
  }

  /** What a list answers; empty where it does not list the name. */
  async #listed(list: List, name: string): Promise<string> {
    const answers = (await this.#ask(name, 'A')) ?? []
    if (answers.some(answer => isBlocked(list, answer))) this.#stop(list, 'it refuses to be asked by this resolver')
    return list.reason === '' ? (answers.find(answer => isListing(list, answer)) ?? '') : ''
  }

  async #works(list: List): Promise<boolean> {
    if (list.checkedUntil <= monotonic()) {
      list.checking ??= this.#check(list).finally(() => {
        list.checking = undefined
      })
      await list.checking
    }
    return list.reason === ''
  }

  /** Its test entries (RFC 5782 5). */
  async #check(list: List): Promise<void> {
    const [there, absent] = list.kind === 'uri' ? ['test', 'invalid'] : ['2.0.0.127', '1.0.0.127']
    const [yes, no] = await Promise.all([
      this.#ask(`${there}.${list.zone}`, 'A'),
      this.#ask(`${absent}.${list.zone}`, 'A'),
    ])
    if (yes === null || no === null) return this.#stop(list, 'it does not answer')
    if ([...yes, ...no].some(answer => isBlocked(list, answer)))
      return this.#stop(list, 'it refuses to be asked by this resolver')
    // Lists of hosts to trust have no test entry all of the time.
    if (list.kind !== 'allow' && !yes.some(answer => isListing(list, answer)))
      return this.#stop(list, 'its test entry is missing')
    if (no.length > 0) return this.#stop(list, 'it lists everything')
    list.reason = ''
    list.checkedUntil = monotonic() + limits.verify.listCheckMs
  }

  #stop(list: List, reason: string): void {
    this.#unanswered += 1
    list.reason = reason
    list.checkedUntil = monotonic() + limits.verify.listOffMs
  }

  /** Records as text; empty where there are none, null where nobody could say. */
  async #ask(name: string, type: string): Promise<string[] | null> {
    try {
      const found = await this.#resolve(name, type)
      return Array.isArray(found) ? found.slice(0, limits.verify.answersReadMax).map(String) : []
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME') return []
      this.#unanswered += 1
      return null
    }
  }
}

function isListing(list: List, answer: string): boolean {
  return answer.startsWith('127.') && !isBlocked(list, answer)
}

/** Most say it as Spamhaus does; URIBL by 127.0.0.1, by which no list may say anything else (RFC 5782 2.1), dnswl.org by 127.0.0.255. */
function isBlocked({ kind }: List, answer: string): boolean {
  return answer.startsWith('127.255.255.') || answer === '127.0.0.1' || (kind === 'allow' && answer === '127.0.0.255')
}

/** The labels of an address in a reverse zone. */
function reversed(ip: string): string {
  if (!ipaddr.isValid(ip)) return 'invalid'
  const parsed = ipaddr.process(ip)
  if (parsed instanceof ipaddr.IPv4) return parsed.octets.toReversed().join('.')
  const nibbles = parsed.parts.map(part => part.toString(16).padStart(4, '0')).join('')
  return [...nibbles].toReversed().join('.')
}

const linkScheme = /\bhttps?$/i
const linkRest = /\/\/(?:[^\s/@"'<>)]{0,80}@)?([a-z\d.-]{4,253})/iy

/** Domains a message links to, some of them where they are many, nobody can tell which; of each host the last two and three labels, as lists name them. */
function linkedDomains(texts: SpamText['texts']): string[] {
  const found = new Set<string>()
  for (const { content } of texts) {
    if (!content.includes('://')) continue
    for (const [, host = ''] of linksIn(content, linkScheme, linkRest)) {
      const labels = host.toLowerCase().replace(/\.+$/, '').split('.')
      if (labels.length < 2 || /^\d+$/.test(labels.at(-1) ?? '')) continue
      found.add(labels.slice(-2).join('.'))
      if (labels.length > 2) found.add(labels.slice(-3).join('.'))
      if (found.size >= limits.verify.linksReadMax) return someOf([...found])
    }
  }
  return someOf([...found])
}

/** A list that is not too long. */
function someOf(names: string[]): string[] {
  const { linksMax } = limits.verify
  if (names.length <= linksMax) return names
  for (let at = 0; at < linksMax; at++) {
    const other = at + Math.floor(jitter() * (names.length - at))
    ;[names[at], names[other]] = [names[other] as string, names[at] as string]
  }
  return names.slice(0, linksMax)
}

function printable(text: string): string {
  return text.slice(0, 100).replace(/[^\x21-\x7e]/g, '?')
}
