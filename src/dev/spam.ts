// How much filters hold against a mail, in points, each with its reason: 5 and it is likely to land in Junk.
//
// It is advice for who writes mail: signs that filters agree on, and no word of what one of them will decide. Who brought the mail counts only
// where the records of its domain are known (`--dns`). Pure, linear, and of long texts the beginning.

import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { textFromHtml } from '#mail/text/html.ts'
import type { Mail } from '#testing.d'
import { isForMany } from './checks.ts'

interface SpamPart {
  readonly name: string
  readonly points: number
  readonly info: string
}

export interface SpamScore {
  readonly points: number
  /** From so many on it is likely to land in Junk. */
  readonly junkFrom: number
  readonly parts: readonly SpamPart[]
}

const junkFrom = 5
const dayMs = 86_400_000
const keptDays = 30

interface Looked {
  readonly mail: Mail
  /** Of both its texts. */
  readonly text: string
  /** What the HTML shows. */
  readonly shown: string
  readonly knowsRecords: boolean
}

type Sign = (of: Looked) => SpamPart | undefined

/** @param knowsRecords whether the records of senders are given, so that what is not proven says something */
export function spamOf(mail: Mail, knowsRecords: boolean): SpamScore {
  const shown = textFromHtml(mail.html.slice(0, limits.dev.checkedLength)).slice(0, limits.dev.searchedLength)
  const text = `${mail.text.slice(0, limits.dev.searchedLength)}\n${shown}`
  const parts = signs.flatMap(sign => sign({ mail, text, shown, knowsRecords }) ?? [])
  const points = Math.round(parts.reduce((sum, part) => sum + part.points, 0) * 10) / 10
  return { points, junkFrom, parts: parts.toSorted((a, b) => b.points - a.points) }
}

const signs: readonly Sign[] = [
  ({ mail: { html, headers } }) =>
    html !== '' && isHtmlAlone(headers) ? part('HTML alone', 1, 'there is no text part beside the HTML') : undefined,
  ({ mail: { html }, shown }) =>
    /<img\b/i.test(html) && wordsOf(shown) < 20
      ? part('Pictures for words', 2, `${wordsOf(shown)} words beside its pictures`)
      : undefined,
  ({ mail: { html } }) =>
    /<(script|form|iframe|object|embed)\b/i.test(html)
      ? part('Active HTML', 1.5, 'scripts, forms, frames or objects')
      : undefined,
  ({ mail: { subject } }) => (subject.trim() === '' ? part('Subject', 1, 'it has none') : undefined),
  ({ mail: { subject } }) =>
    /\p{Lu}{4}/u.test(subject) && !/\p{Ll}/u.test(subject)
      ? part('Subject in capitals', 1.5, subject.slice(0, 80))
      : undefined,
  ({ mail: { subject } }) =>
    /[!?]{2}|!.*!|[$€£]{2}/.test(subject) ? part('Subject that shouts', 1, subject.slice(0, 80)) : undefined,
  ({ mail: { subject, from } }) =>
    /[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\u00ad]/.test(`${subject}${from?.name ?? ''}`)
      ? part('Letters that are not seen', 2, 'in the subject or the name of the sender')
      : undefined,
  dated,
  ({ mail: { headers } }) => (headers['message-id'] === undefined ? part('Message-ID', 1, 'it has none') : undefined),
  ({ mail: { from } }) => (from === undefined ? part('From', 2, 'it has none') : undefined),
  ({ mail: { from } }) =>
    from !== undefined && /@/.test(from.name) && from.name.toLowerCase() !== from.address.toLowerCase()
      ? part('Another address as a name', 1.5, from.name.slice(0, 80))
      : undefined,
  ({ mail: { from, replyTo } }) => {
    const other = replyTo.find(({ address }) => from !== undefined && hostOf(address) !== hostOf(from.address))
    return other === undefined ? undefined : part('Answers go elsewhere', 0.5, `Reply-To ${other.address}`)
  },
  ({ mail: { to, cc } }) => (to.length + cc.length === 0 ? part('Nobody named', 1, 'neither To nor Cc') : undefined),
  ({ mail }) =>
    isForMany(mail) && mail.headers['list-unsubscribe'] === undefined
      ? part('No way to unsubscribe', 1.5, 'for many, without List-Unsubscribe')
      : undefined,
  ({ mail: { html } }) => falseLink(html),
  ({ mail }) => addressedLink(mail),
  ({ mail }) => shortened(mail),
  ({ mail: { attachments } }) => {
    const found = attachments.find(({ filename }) => dangerous.test(filename))
    return found === undefined ? undefined : part('A file that runs', 3, found.filename.slice(0, 80))
  },
  phrases,
  ({ text }) => {
    const letters = text.match(/\p{L}/gu)?.length ?? 0
    const capitals = text.match(/\p{Lu}/gu)?.length ?? 0
    return letters > 100 && capitals * 2 > letters ? part('Text in capitals', 1, 'more than half of it') : undefined
  },
  ({ mail: { raw } }) => {
    const length = longestLine(raw)
    return length > 998 ? part('Lines too long', 0.5, `${length} bytes; 998 are allowed (RFC 5322 2.1.1)`) : undefined
  },
  ({ mail: { spf }, knowsRecords }) => (knowsRecords && spf === false ? part('SPF', 1, 'not proven') : undefined),
  ({ mail: { dkim }, knowsRecords }) =>
    knowsRecords && dkim === false ? part('DKIM', 1, 'no valid signature') : undefined,
  ({ mail: { dmarc }, knowsRecords }) =>
    knowsRecords && dmarc === false ? part('DMARC', 3, 'not proven, and its domain has a policy') : undefined,
]

function part(name: string, points: number, info: string): SpamPart {
  return { name, points, info }
}

function isHtmlAlone(headers: Mail['headers']): boolean {
  return headers['content-type']?.some(type => /^\s*text\/html/i.test(type)) === true
}

function wordsOf(text: string): number {
  return text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0
}

function hostOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}

function dated({ mail: { date } }: Looked): SpamPart | undefined {
  if (date === null) return part('Date', 1.5, 'it has none that can be read')
  const ahead = (date - now()) / dayMs
  if (ahead > 1) return part('Date', 1.5, 'it lies ahead')
  return ahead < -keptDays ? part('Date', 0.5, 'it is old') : undefined
}

/** A link that shows one host and leads to another: what thieves of passwords write. */
function falseLink(html: string): SpamPart | undefined {
  const links = html
    .slice(0, limits.dev.checkedLength)
    .split(/<a(?=\s)/i)
    .slice(1, 1 + limits.dev.linksCheckedMax)
  for (const link of links) {
    const piece = link.slice(0, 4000)
    const [, to] = /\shref\s*=\s*["']?https?:\/\/([^/"'\s>:?#]{1,255})/i.exec(piece) ?? []
    const inside = piece.slice(piece.indexOf('>') + 1).split(/<\/a/i, 1)[0] ?? ''
    const [, said] =
      /^\s*(?:https?:\/\/)?((?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24})(?:[/?#][^\s]*)?\s*$/i.exec(textFromHtml(inside)) ??
      []
    if (to === undefined || said === undefined || sameSite(to, said)) continue
    return part('A link that shows another host', 2.5, `${said} leads to ${to}`)
  }
  return undefined
}

function sameSite(a: string, b: string): boolean {
  const site = (host: string) => host.toLowerCase().split('.').slice(-2).join('.')
  return site(a) === site(b)
}

function hostsOf(mail: Mail): string[] {
  return mail.links().flatMap(link => /^https?:\/\/(?:[^/@?#]*@)?([^/:?#]+)/i.exec(link)?.[1]?.toLowerCase() ?? [])
}

function addressedLink(mail: Mail): SpamPart | undefined {
  const found = hostsOf(mail).find(host => /^\d+\.\d+\.\d+\.\d+$/.test(host) && !host.startsWith('127.'))
  return found === undefined ? undefined : part('A link to a number', 1.5, found)
}

const shorteners: ReadonlySet<string> = new Set(
  'bit.ly tinyurl.com t.co goo.gl ow.ly is.gd buff.ly cutt.ly rebrand.ly tiny.cc shorturl.at rb.gy'.split(' '),
)

function shortened(mail: Mail): SpamPart | undefined {
  const found = hostsOf(mail).find(host => shorteners.has(host))
  return found === undefined ? undefined : part('A shortened link', 1, found)
}

const dangerous = /\.(exe|scr|com|pif|bat|cmd|vbs|vbe|jse?|wsf|hta|lnk|iso|img|jar|msi|ps1)$/i

/** What hardly anybody but advertisers and thieves writes. */
const worn = [
  ...['100% free', 'act now', 'additional income', 'as seen on', 'be your own boss', 'best price', 'cash bonus'],
  ...['click below', 'click here', 'congratulations', 'double your', 'earn money', 'extra cash', 'free access'],
  ...['free gift', 'guaranteed', 'increase sales', 'limited time', 'lose weight', 'lowest price', 'make money'],
  ...['million dollars', 'no obligation', 'no risk', 'once in a lifetime', 'order now', 'prize', 'risk free'],
  ...['satisfaction guaranteed', 'special promotion', 'this is not spam', 'urgent', 'viagra', 'verify your account'],
  ...['while supplies last', 'winner', 'work from home', 'you have been selected', 'your account will be'],
]
const wornMost = 2.5

function phrases({ mail: { subject }, text }: Looked): SpamPart | undefined {
  const lower = `${subject}\n${text}`.toLowerCase().replace(/\s+/g, ' ')
  const found = worn.filter(phrase => lower.includes(phrase))
  if (found.length === 0) return undefined
  return part('Worn phrases', Math.min(wornMost, found.length / 2), found.slice(0, 6).join(', '))
}

function longestLine(raw: Uint8Array): number {
  let longest = 0
  let from = 0
  for (let end = raw.indexOf(10); end >= 0; end = raw.indexOf(10, from)) {
    longest = Math.max(longest, end - from - (raw[end - 1] === 13 ? 1 : 0))
    from = end + 1
  }
  return Math.max(longest, raw.length - from)
}
