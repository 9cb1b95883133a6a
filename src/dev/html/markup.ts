// What the HTML of a mail is made of, as far as mail programs differ about it: its elements, its attributes, its styles, where pictures
// come from.
//
// One pass, linear whatever stands there, no tree. What is never closed goes to the end.

import { limits } from '#lib/limits.ts'

export interface Markup {
  /** How often each element stands there, by its name in lower case. */
  readonly tags: ReadonlyMap<string, number>
  readonly attributes: ReadonlyMap<string, number>
  /** Addresses of pictures, in lower case. */
  readonly pictures: readonly string[]
  readonly declarations: readonly Declaration[]
  /** What stands before `{` in style sheets: selectors, and rules that begin with @. */
  readonly preludes: readonly string[]
}

interface Declaration {
  readonly property: string
  readonly value: string
}

/** What stands in these is no markup. */
const rawTags: ReadonlySet<string> = new Set(['script', 'style', 'title', 'textarea', 'xmp'])

export function markupOf(html: string): Markup {
  const reader = new Reader(html.slice(0, limits.dev.checkedLength))
  reader.read()
  return reader
}

class Reader implements Markup {
  readonly tags = new Map<string, number>()
  readonly attributes = new Map<string, number>()
  readonly pictures: string[] = []
  readonly declarations: Declaration[] = []
  readonly preludes: string[] = []
  readonly #html: string

  constructor(html: string) {
    // Names and values of styles are the same in either case; addresses are looked at for their endings alone.
    this.#html = html.toLowerCase()
  }

  read(): void {
    const html = this.#html
    let at = html.indexOf('<')
    while (at >= 0) {
      if (html.startsWith('<!--', at)) at = this.#after('-->', at)
      else if (isLetter(html[at + 1])) at = this.#element(at + 1)
      else at += 1
      at = html.indexOf('<', at)
    }
  }

  #after(end: string, from: number): number {
    const found = this.#html.indexOf(end, from)
    return found < 0 ? this.#html.length : found + end.length
  }

  /** From the name on; answers where its tag, and what is no markup in it, ends. */
  #element(start: number): number {
    const html = this.#html
    let at = start
    while (isNamed(html[at])) at += 1
    const name = html.slice(start, at)
    count(this.tags, name)
    at = this.#attributes(at, name)
    if (!rawTags.has(name)) return at
    const end = html.indexOf(`</${name}`, at)
    const content = html.slice(at, end < 0 ? html.length : end)
    if (name === 'style') this.#sheet(content)
    return end < 0 ? html.length : end + 2
  }

  #attributes(from: number, tag: string): number {
    const html = this.#html
    let at = from
    while (at < html.length && html[at] !== '>') {
      if (!isNamed(html[at])) {
        at += 1
        continue
      }
      const start = at
      while (isNamed(html[at])) at += 1
      const name = html.slice(start, at)
      const [value, end] = this.#value(at)
      at = end
      count(this.attributes, name)
      if (name === 'style') this.#block(value)
      else if (name === 'src' && (tag === 'img' || tag === 'source')) this.pictures.push(value.trim())
    }
    return at + 1
  }

  /** What an attribute is, and where it ends. */
  #value(from: number): [string, number] {
    const html = this.#html
    let at = from
    while (isBlank(html[at])) at += 1
    if (html[at] !== '=') return ['', from]
    at += 1
    while (isBlank(html[at])) at += 1
    const quote = html[at]
    if (quote === '"' || quote === "'") {
      const end = html.indexOf(quote, at + 1)
      return end < 0 ? ['', html.length] : [html.slice(at + 1, end), end + 1]
    }
    const start = at
    while (at < html.length && !isBlank(html[at]) && html[at] !== '>') at += 1
    return [html.slice(start, at), at]
  }

  #sheet(css: string): void {
    const clean = withoutComments(css)
    let from = 0
    for (let at = 0; at < clean.length; at += 1) {
      const sign = clean[at]
      if (sign !== '{' && sign !== '}' && sign !== ';') continue
      const piece = clean.slice(from, at).trim()
      from = at + 1
      if (piece === '') continue
      if (sign === '{' || piece.startsWith('@')) this.preludes.push(piece)
      else this.#declare(piece)
    }
    this.#declare(clean.slice(from).trim())
  }

  #block(css: string): void {
    for (const piece of withoutComments(css).split(';')) this.#declare(piece.trim())
  }

  #declare(piece: string): void {
    const colon = piece.indexOf(':')
    if (colon > 0)
      this.declarations.push({ property: piece.slice(0, colon).trim(), value: piece.slice(colon + 1).trim() })
  }
}

function withoutComments(css: string): string {
  const parts = css.split('/*')
  return parts.map((part, index) => (index === 0 ? part : part.slice(endOf(part)))).join(' ')
}

function endOf(part: string): number {
  const end = part.indexOf('*/')
  return end < 0 ? part.length : end + 2
}

function count(of: Map<string, number>, name: string): void {
  of.set(name, (of.get(name) ?? 0) + 1)
}

function isLetter(sign = ''): boolean {
  return sign >= 'a' && sign <= 'z'
}

function isNamed(sign = ''): boolean {
  return isLetter(sign) || (sign >= '0' && sign <= '9') || sign === '-' || sign === ':' || sign === '_'
}

function isBlank(sign = ''): boolean {
  return sign === ' ' || sign === '\n' || sign === '\t' || sign === '\r' || sign === '\f'
}
