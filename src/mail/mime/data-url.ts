// Pictures that an editor put into HTML as data URLs, lifted out into attachments (api-semantics 5.3).
//
// Promises: one pass, linear in the HTML; only `<img>` elements with an image in base64 or percent form are touched,
// all else comes back as it was; the same picture used twice becomes one attachment.

import { newUuid } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { mimeTypes } from '#lib/process/lazy.ts'
import { decodeReferences, escapeHtml } from '../text/html.ts'

export interface InlineImage {
  readonly filename: string
  readonly contentType: string
  readonly content: Buffer
  /** Content-ID without brackets. */
  readonly cid: string
}

/**
 * `html` with `cid:` links in place of data URLs, and the pictures. Their tags are written anew: attributes in order,
 * in double quotes, without a closing slash. `domain` is the right side of the Content-IDs.
 */
export function liftDataImages(html: string, domain: string): { html: string; images: InlineImage[] } {
  const found = new Map<string, InlineImage>()
  let out = ''
  let done = 0
  const opening = /<img(?=[\s/])/gi
  for (let match = opening.exec(html); match !== null; match = opening.exec(html)) {
    const tag = readTag(html, match.index + 4)
    if (tag === null) break // no `>` any more
    opening.lastIndex = tag.end
    const source = tag.attributes.find(({ name }) => name.toLowerCase() === 'src')
    if (!source || !/^\s*data:image\//i.test(source.value)) continue
    const image = found.get(source.value) ?? decodeImage(source.value, tag.attributes, found.size + 1, domain)
    if (image === null || (!found.has(source.value) && found.size >= limits.mime.inlineImagesMax)) continue
    found.set(source.value, image)
    source.value = `cid:${image.cid}`
    out += html.slice(done, match.index) + writeTag(tag.attributes)
    done = tag.end
  }
  return { html: out + html.slice(done), images: [...found.values()] }
}

interface Attribute {
  readonly name: string
  /** Character references decoded; null for a name alone. */
  value: string
  readonly bare: boolean
}

function writeTag(attributes: readonly Attribute[]): string {
  const written = attributes.map(({ name, value, bare }) => (bare ? ` ${name}` : ` ${name}="${escapeHtml(value)}"`))
  return `<img${written.join('')}>`
}

const nameEnd = /[\s=>/]|$/g

/** The attributes from `start` on, and the offset after the `>`; null where there is none. */
function readTag(html: string, start: number): { attributes: Attribute[]; end: number } | null {
  const attributes: Attribute[] = []
  let at = start
  while (at < html.length) {
    const character = html[at] as string
    if (character === '>') return { attributes, end: at + 1 }
    if (/[\s/=]/.test(character)) {
      at++
      continue
    }
    nameEnd.lastIndex = at
    const end = nameEnd.exec(html)?.index ?? html.length
    const name = html.slice(at, end)
    at = skipSpace(html, end)
    if (html[at] !== '=') {
      attributes.push({ name, value: '', bare: true })
      continue
    }
    const value = readValue(html, skipSpace(html, at + 1))
    if (value === null) return null
    attributes.push({ name, value: value.text, bare: false })
    at = value.end
  }
  return null
}

const bareValueEnd = /[\s>]|$/g

function readValue(html: string, at: number): { text: string; end: number } | null {
  const quote = html[at]
  if (quote === '"' || quote === "'") {
    const end = html.indexOf(quote, at + 1)
    return end < 0 ? null : { text: referenced(html.slice(at + 1, end)), end: end + 1 }
  }
  bareValueEnd.lastIndex = at
  const end = bareValueEnd.exec(html)?.index ?? html.length
  return { text: referenced(html.slice(at, end)), end }
}

function referenced(text: string): string {
  return text.includes('&') ? decodeReferences(text) : text
}

function skipSpace(html: string, from: number): number {
  let at = from
  while (at < html.length && /\s/.test(html[at] as string)) at++
  return at
}

function decodeImage(url: string, attributes: readonly Attribute[], count: number, domain: string): InlineImage | null {
  const comma = url.indexOf(',')
  if (comma < 0 || comma > 200) return null
  const [type = '', ...options] = url.trim().slice(5, comma).toLowerCase().split(';')
  const contentType = type.trim()
  if (!/^image\/[a-z0-9.+-]{1,60}$/.test(contentType)) return null
  const data = url.trim().slice(comma + 1)
  const content = options.some(option => option.trim() === 'base64') ? Buffer.from(data, 'base64') : percentBytes(data)
  if (content.length === 0) return null
  const given = attributes.find(({ name }) => name.toLowerCase() === 'data-filename')?.value ?? ''
  const filename = given.replace(/[\x00-\x1f\x7f/\\]/g, '_').slice(0, limits.mime.filenameLengthMax)
  return {
    filename: filename || `attachment-${count}.${mimeTypes().extension(contentType) || 'bin'}`,
    contentType,
    content,
    cid: `${newUuid()}@${domain}`,
  }
}

function percentBytes(text: string): Buffer {
  try {
    return Buffer.from(decodeURIComponent(text))
  } catch {
    return Buffer.alloc(0)
  }
}
