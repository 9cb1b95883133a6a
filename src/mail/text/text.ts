// What a message says: its plain text and HTML, decoded, for the HTTP API, filters, search and the preview.
//
// Promises: reads only the parts an outline calls text, no more of each than it may return, and is linear in what it
// reads whatever the HTML is; never throws on what a stranger sent. Nothing here makes HTML safe to show: that is for
// whoever shows it.

import { limits } from '#lib/limits.ts'
import { decodeCharset } from '../mime/charset.ts'
import { decodeBody, type ReadRange } from '../mime/decode.ts'
import type { Attachment, TextPart } from '../mime/outline.ts'
import { decodeReferences, escapeHtml, textFromHtml } from './html.ts'

export interface MessageText {
  /** All of it as plain text, each part trimmed; made from HTML where a part has no plain form. */
  readonly text: string
  /** All of it as HTML, a trimmed entry for each part in order; made from plain text where a part has no other form. */
  readonly html: readonly string[]
}

/** Encoded bytes are at most so many times the decoded ones: quoted-printable with every byte escaped and broken. */
const encodedFactor = 4

/**
 * The text of a message, `bytesMax` decoded bytes of it at most.
 * @param read bytes of the message, by the offsets of the outline
 */
export async function readText(
  texts: readonly TextPart[],
  read: ReadRange,
  bytesMax: number = limits.mime.textBytesMax,
): Promise<MessageText> {
  const parts = await shownTexts(texts, read, bytesMax)
  const htmlGroups = groupsOf(parts, 'html')
  const html = parts.flatMap(({ kind, group, content }) => {
    if (kind === 'html') return [content]
    return htmlGroups.has(group) ? [] : [htmlFromText(content)]
  })
  return { text: plainOf(parts), html }
}

/** The same as plain text alone. */
export async function readPlain(texts: readonly TextPart[], read: ReadRange, bytesMax: number): Promise<string> {
  return plainOf(await shownTexts(texts, read, bytesMax))
}

interface ShownText {
  readonly kind: 'plain' | 'html'
  readonly group: number
  readonly content: string
}

async function shownTexts(texts: readonly TextPart[], read: ReadRange, bytesMax: number): Promise<ShownText[]> {
  const parts: ShownText[] = []
  for await (const { kind, group, content } of decodedTexts(texts, read, bytesMax)) {
    const trimmed = content.trim()
    if (trimmed !== '') parts.push({ kind, group, content: trimmed })
  }
  return parts
}

/** Groups that have a part of this kind. */
function groupsOf(parts: readonly ShownText[], wanted: ShownText['kind']): ReadonlySet<number> {
  return new Set(parts.filter(({ kind }) => kind === wanted).map(({ group }) => group))
}

function plainOf(parts: readonly ShownText[]): string {
  const plainGroups = groupsOf(parts, 'plain')
  const text = parts.flatMap(({ kind, group, content }) => {
    if (kind === 'plain') return [content]
    return plainGroups.has(group) ? [] : [textFromHtml(content)]
  })
  return text.filter(one => one !== '').join('\n')
}

/** Texts with their encoding and character set taken off, in order, `bytesMax` decoded bytes of them at most. */
export async function* decodedTexts<Part extends EncodedText>(
  texts: readonly Part[],
  read: ReadRange,
  bytesMax: number,
): AsyncGenerator<Part & { readonly content: string; readonly cut: boolean }> {
  let left = bytesMax
  for (const part of texts) {
    if (left <= 0) return
    const end = Math.min(part.end, part.start + left * encodedFactor)
    const whole = decodeBody(await read(part.start, end), part.encoding)
    const decoded = whole.subarray(0, left)
    left -= decoded.length
    yield { ...part, content: textOf(part, decoded), cut: end < part.end || decoded.length < whole.length }
  }
}

/** A text as decoding needs to know it. */
export type EncodedText = Omit<TextPart, 'group' | 'part'>

/** The first limits.mime.introLengthMax characters on one line, as a preview; quoted lines do not count. */
export function intro(text: string): string {
  const { introLengthMax } = limits.mime
  // What is skipped (white space, quotes) is bounded too.
  const end = Math.min(text.length, 20 * introLengthMax)
  let line = ''
  let startsLine = true
  for (let at = 0; at < end && line.length <= introLengthMax; ) {
    const code = text.charCodeAt(at)
    if (startsLine && code === quoteSign) {
      while (at < end && !isLineEnd(text.charCodeAt(at))) at++
      startsLine = false
    } else if (isBlank(code)) {
      startsLine = isLineEnd(code)
      at++
    } else {
      const start = at
      while (at < end && !isBlank(text.charCodeAt(at))) at++
      line += (line === '' ? '' : ' ') + text.slice(start, at)
      startsLine = false
    }
  }
  if (line.length <= introLengthMax) return line
  const cut = line.slice(0, introLengthMax - 1)
  const space = cut.lastIndexOf(' ')
  // Not within a surrogate pair, and rather not within a word.
  const stop = space > cut.length - 30 ? space : /[\ud800-\udbff]$/.test(cut) ? cut.length - 1 : cut.length
  return `${cut.slice(0, stop).trimEnd()}…`
}

const quoteSign = 0x3e

function isLineEnd(code: number): boolean {
  return code === 10 || code === 13 || code === 0x2028 || code === 0x2029
}

/** White space, and what takes no room: soft hyphens, joiners, marks of direction. */
function isBlank(code: number): boolean {
  if (code < 0xa0) return code === 32 || (code >= 9 && code <= 13)
  return code === 0x34f || /[\s\u00ad\u200b-\u200f\u2060\ufeff]/.test(String.fromCharCode(code))
}

/**
 * `cid:` links to attachments of the message replaced by what `link` gives, `attachment:ATT00001` by default; links
 * to anything else stay.
 */
export function replaceCidLinks(
  html: string,
  attachments: readonly Pick<Attachment, 'info'>[],
  link: (id: string) => string = id => `attachment:${id}`,
): string {
  const ids = new Map(attachments.flatMap(({ info }) => (info.cid ? [[info.cid, info.id] as const] : [])))
  if (ids.size === 0) return html
  return html.replace(/\bcid:([^'"\s<>()]{1,998})/gi, (whole, written: string) => {
    // Written as HTML has it, and that as RFC 2392 has it.
    const given = written.includes('&') ? decodeReferences(written) : written
    const id = ids.get(given) ?? ids.get(percentDecoded(given))
    return id === undefined ? whole : link(id)
  })
}

/** Plain text as HTML: escaped, a paragraph at each blank line, `<br/>` at other line ends. */
export function htmlFromText(text: string): string {
  const blocks = text
    .replace(/\r\n?/g, '\n')
    .trim()
    .split(/\n(?:[ \t]*\n)+/)
  return blocks.map(block => `<p>${escapeHtml(block).replaceAll('\n', '<br/>')}</p>`).join('')
}

function textOf(part: EncodedText, decoded: Buffer): string {
  const charset = part.charset || (part.kind === 'html' ? declaredCharset(decoded) : '')
  const text = decodeCharset(decoded, charset).replaceAll('\r\n', '\n').replace(/\0/g, '')
  if (part.kind === 'html') return text
  return part.flowed ? unflow(text, part.delsp) : text
}

/** What a `<meta>` says, where the part's header says nothing. It can be read, so the text is no UTF-16. */
function declaredCharset(html: Buffer): string {
  const declared =
    /<meta[^>]{1,200}charset\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})/i.exec(html.toString('latin1', 0, 2048))?.[1] ?? ''
  return /^(?:utf-?(?:16|32)|ucs)/i.test(declared) ? '' : declared
}

/** Lines of format=flowed joined (RFC 3676 4.1, 4.4). */
function unflow(text: string, delsp: boolean): string {
  const out: string[] = []
  let open: { depth: number; pieces: string[] } | null = null
  for (const line of text.split('\n')) {
    const quotes = /^>*/.exec(line)?.[0].length ?? 0
    const content = line.slice(quotes).replace(/^ /, '')
    if (open && open.depth !== quotes) {
      out.push(flowed(open))
      open = null
    }
    const soft = content.endsWith(' ') && content !== '-- '
    const piece = soft && delsp ? content.slice(0, -1) : content
    if (open && content !== '-- ') open.pieces.push(piece)
    else {
      if (open) out.push(flowed(open))
      open = { depth: quotes, pieces: [piece] }
    }
    if (!soft) {
      out.push(flowed(open))
      open = null
    }
  }
  if (open) out.push(flowed(open))
  return out.join('\n')
}

function flowed({ depth, pieces }: { depth: number; pieces: string[] }): string {
  return (depth > 0 ? `${'>'.repeat(depth)} ` : '') + pieces.join('')
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
