// One mail as a test sees it: what was sent, taken apart, with what is known of how it came.
//
// Made from the bytes alone, so that another process makes the same of it. Texts are decoded here once; attachments and
// links when they are asked for. What is missing in a mail is an error that shows what there is instead.

import { mailboxes } from '#mail/address/address.ts'
import type { Header } from '#mail/header/header.ts'
import { decodeBody } from '#mail/mime/decode.ts'
import { scanMime } from '#mail/mime/mime.ts'
import { type Attachment, outline } from '#mail/mime/outline.ts'
import { verifyMessage } from '#mail/origin/verification.ts'
import { decodeReferences, textFromHtml } from '#mail/text/html.ts'
import { decodedTexts } from '#mail/text/text.ts'
import type * as Promised from '../../testing.d.ts'
import { matches } from './matching.ts'

/** What is known of a mail besides its bytes; plain data. */
export interface Facts {
  readonly id: string
  /** Its place in the order of arrival. */
  readonly seq: number
  readonly arrived: number
  readonly size: number
  readonly envelope: { readonly from: string; readonly to: readonly string[] }
  readonly session: (Promised.MailSession & { readonly address: string }) | null
}

export interface Verified {
  readonly spf: string | false
  readonly dkim: string | false
  readonly dmarc: string | false | undefined
}

/** Answers questions for TXT records. */
export type Records = (name: string) => readonly string[] | undefined

/** Text of one mail that is decoded at most; more is no test's. */
const textBytesMax = 16 * 1024 * 1024

/** Reads a mail. */
export async function readMail(facts: Facts, raw: Buffer, verified: Verified): Promise<Promised.Mail> {
  const root = scanMime(raw)
  const { summary, texts, attachments } = outline(root)
  const plain: string[] = []
  const html: string[] = []
  for await (const { kind, content } of decodedTexts(texts, (start, end) => raw.subarray(start, end), textBytesMax)) {
    if (kind === 'plain') plain.push(content.trim())
    else html.push(content.trim())
  }
  const text = plain.length > 0 ? plain : html.map(textFromHtml)
  const parts = { text: text.join('\n'), html: html.join('\n'), verified, facts, raw, header: root.header }
  return new ReadMail(parts, summary, attachments)
}

type Summary = ReturnType<typeof outline>['summary']

interface Parts {
  readonly text: string
  readonly html: string
  readonly verified: Verified
  readonly facts: Facts
  readonly raw: Buffer
  readonly header: Header
}

class ReadMail implements Promised.Mail {
  readonly id: string
  readonly arrived: number
  readonly envelope: Facts['envelope']
  readonly session: Promised.MailSession | null
  readonly from: Promised.MailAddress | undefined
  readonly to: readonly Promised.MailAddress[]
  readonly cc: readonly Promised.MailAddress[]
  readonly replyTo: readonly Promised.MailAddress[]
  readonly subject: string
  readonly messageId: string
  readonly date: number | null
  readonly text: string
  readonly html: string
  readonly headers: { readonly [name: string]: readonly string[] }
  readonly spf: string | false
  readonly dkim: string | false
  readonly dmarc: string | false | undefined
  readonly #raw: Buffer
  readonly #parts: readonly Attachment[]
  #attachments: readonly Promised.MailAttachment[] | undefined

  constructor({ text, html, verified, facts, raw, header }: Parts, summary: Summary, parts: readonly Attachment[]) {
    this.id = facts.id
    this.arrived = facts.arrived
    this.envelope = facts.envelope
    this.session = facts.session
    ;[this.from] = mailboxes(summary.from)
    this.to = mailboxes(summary.to)
    this.cc = mailboxes(summary.cc)
    this.replyTo = mailboxes(summary.replyTo)
    this.subject = summary.subject
    this.messageId = summary.messageId
    this.date = summary.date
    this.text = text
    this.html = html
    this.headers = headersOf(header)
    this.spf = verified.spf
    this.dkim = verified.dkim
    this.dmarc = verified.dmarc
    this.#raw = raw
    this.#parts = parts
  }

  get raw(): Buffer {
    return this.#raw
  }

  get attachments(): readonly Promised.MailAttachment[] {
    this.#attachments ??= this.#parts.map(({ info, start, end }) => {
      const content = decodeBody(this.#raw.subarray(start, end), info.transferEncoding)
      const { filename, contentType, cid, related: inline } = info
      return { filename, contentType, content, size: content.length, cid, inline }
    })
    return this.#attachments
  }

  links(): string[] {
    const targets = [...this.html.matchAll(hrefs)].map(([, double, single, bare]) => double ?? single ?? bare ?? '')
    const written = [...this.text.matchAll(urls)].map(([url]) => trimmed(url))
    const all = [...targets.map(target => decodeReferences(target.trim())), ...written]
    return [...new Set(all.filter(link => link !== '' && !link.startsWith('#')))]
  }

  link(match?: Promised.TextMatch): string {
    const links = this.links()
    const found = match === undefined ? links[0] : links.find(link => matches(link, match))
    if (found !== undefined) return found
    const which = match === undefined ? '' : ` that matches ${shown(match)}`
    throw new Error(`No link${which} in ${named(this)}. Its links: ${links.length === 0 ? 'none' : links.join(' , ')}`)
  }

  code(match?: RegExp): string {
    const text = this.text.replace(urls, ' ')
    const found = match === undefined ? codeIn(text) : codeBy(text, match)
    if (found !== undefined) return found
    const which = match === undefined ? '' : ` that matches ${shown(match)}`
    throw new Error(`No code${which} in ${named(this)}. Its text:\n${excerpt(this.text)}`)
  }
}

/** Where a link leads, in either quotes or none. */
const hrefs = /<a\b[^>]*?\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))/gi
const urls = /\bhttps?:\/\/[^\s<>"'`]+/gi

/** What stands around a link in a sentence is none of it. */
function trimmed(url: string): string {
  let end = url.length
  for (; end > 0; end--) {
    const last = url[end - 1] as string
    if (last === ')' ? url.slice(0, end).includes('(') : !'.,;:!?]}'.includes(last)) break
  }
  return url.slice(0, end)
}

const numbers = /(?<![\w.,:/+#-])\d{3}[ -]\d{3}(?![\w:/-]|[.,]\d)|(?<![\w.,:/+#-])\d{4,8}(?![\w:/-]|[.,]\d)/g
const announcing = /code|pin\b|otp|passw|token|verif|c[oó]digo|kod|bestätig/i

/** Behind a word for it, or shortly before one, first, then the longest usual form; a number that is a year comes last. */
function codeIn(text: string): string | undefined {
  const found = [...text.matchAll(numbers)].map(({ 0: number, index }) => {
    const before = text.slice(Math.max(0, index - announcedWithin), index)
    const [behind = ''] = text.slice(index + number.length, index + number.length + announcedAfter).split('\n')
    const digits = number.replace(/\D/g, '')
    return {
      digits,
      rank:
        (announcing.test(before) || announcing.test(behind) ? 4 : 0) +
        (digits.length === 6 ? 2 : 0) -
        (isYear(digits) ? 5 : 0),
    }
  })
  return found.toSorted((a, b) => b.rank - a.rank)[0]?.digits
}

const announcedWithin = 60
const announcedAfter = 20

function isYear(digits: string): boolean {
  return /^(19|20)\d\d$/.test(digits)
}

function codeBy(text: string, match: RegExp): string | undefined {
  const found = new RegExp(match.source, match.flags.replace(/[gy]/g, '')).exec(text)
  return found?.[1] ?? found?.[0]
}

function headersOf(header: Header): { [name: string]: readonly string[] } {
  const headers: { [name: string]: string[] } = Object.create(null)
  for (const { key } of header.fields) headers[key] ??= header.all(key)
  return headers
}

/** How an error speaks of a mail. */
export function named({ subject, envelope }: Pick<Promised.Mail, 'subject' | 'envelope'>): string {
  return `'${subject}' to ${envelope.to.slice(0, 3).join(', ')}${envelope.to.length > 3 ? ' …' : ''}`
}

/** How an error shows what was looked for. */
export function shown(match: unknown): string {
  return match instanceof RegExp ? String(match) : JSON.stringify(match)
}

const excerptLength = 400

export function excerpt(text: string): string {
  return text.length > excerptLength ? `${text.slice(0, excerptLength)}…` : text
}

/** What the records say of where a mail comes from. Mail without a signature costs nothing where there are no records. */
export async function verify(facts: Facts, raw: Buffer, hostname: string, records: Records | null): Promise<Verified> {
  const signed = /^dkim-signature:/im.test(raw.subarray(0, headBytes).toString('latin1'))
  if (facts.session === null || (records === null && !signed)) return { spf: false, dkim: false, dmarc: undefined }
  const { address, helo } = facts.session
  const input = { message: raw, ip: address, helo, sender: facts.envelope.from, hostname, sealers: [] }
  const { spf, dkim, dmarc } = await verifyMessage(input, async (name, type) => {
    const found = type === 'TXT' ? records?.(name) : undefined
    if (found === undefined) throw Object.assign(new Error(`no ${type} of ${name} in dns`), { code: 'ENOTFOUND' })
    return found.map(text => [text])
  })
  return { spf, dkim, dmarc: dmarc?.domain }
}

const headBytes = 256 * 1024
