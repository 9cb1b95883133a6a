// HTML to plain text for search, filters and previews, and text to HTML.
//
// Promises: one pass over the HTML, linear whatever it holds (unclosed tags, comments, a million `<`), no tree, no
// recursion. It is no sanitiser and its output is text, never markup.

const blockTags = new Set(
  (
    'address article aside blockquote body center dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 ' +
    'header hr html li main nav ol option p pre section table tbody tfoot thead tr ul'
  ).split(' '),
)
const spacedTags = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'table', 'ul', 'ol', 'dl', 'pre'])
/** What stands in these is not shown. */
const hiddenTags = new Set(['script', 'style', 'title', 'template', 'svg', 'select'])

/** The text a reader would see, lines where blocks are, white space collapsed. */
export function textFromHtml(html: string): string {
  return pageOf(html, null).out.end()
}

/** The same for who looks for words: with what stands for pictures and where links lead to, a line each, after the text. */
export function wordsFromHtml(html: string): string {
  const values = new Set<string>()
  const text = pageOf(html, values).out.end()
  return values.size === 0 ? text : [text, ...values].join('\n')
}

function pageOf(html: string, values: Set<string> | null): Page {
  const lower = html.toLowerCase()
  const page: Page = {
    html,
    // A few characters change their length in lower case; then end tags are found in their usual spelling only.
    folded: lower.length === html.length ? lower : html,
    unclosed: new Set(),
    unquoted: new Set(),
    values,
    out: new Lines(),
  }
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    if (open < 0) break
    if (open > at) page.out.text(visible(html.slice(at, open)))
    at = afterTag(page, open)
  }
  if (at < html.length) page.out.text(visible(html.slice(at)))
  return page
}

interface Page {
  readonly html: string
  readonly folded: string
  /** Hidden elements whose end was looked for in vain: not again. */
  readonly unclosed: Set<string>
  /** Quotes that come no more: from now on they are ordinary characters. */
  readonly unquoted: Set<string>
  /** Collects the values of `shownAttributes`, where somebody wants them. */
  readonly values: Set<string> | null
  readonly out: Lines
}

/** Collects text without double spaces, spaces at line ends or more than one empty line. */
class Lines {
  readonly #pieces: string[] = []
  #breaks = 2
  #space = false

  text(text: string): void {
    const trimmed = text.trim()
    if (trimmed === '') {
      this.#space = true
      return
    }
    if (this.#pieces.length > 0 && this.#breaks === 0 && (this.#space || text.startsWith(' '))) this.#pieces.push(' ')
    this.#pieces.push(trimmed)
    this.#space = text.endsWith(' ')
    this.#breaks = 0
  }

  /** At least so many line ends, two at most. */
  lines(count: number): void {
    if (this.#breaks < count) this.#pieces.push('\n'.repeat(count - this.#breaks))
    this.#breaks = Math.max(this.#breaks, count)
    this.#space = false
  }

  /** One line end more, two at most. */
  breakLine(): void {
    this.lines(Math.min(2, this.#breaks + 1))
  }

  end(): string {
    return this.#pieces.join('').trim()
  }
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, character => escapes[character] as string)
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Offset after the tag, comment or stray `<` at `open`; what the tag stands for is written. */
function afterTag(page: Page, open: number): number {
  const { html, out } = page
  // `<!-->` is a whole comment.
  if (html.startsWith('<!--', open)) return after(html, '-->', open + 2)
  const match = tagName(html, open + 1)
  if (match === null) {
    if (html[open + 1] === '!' || html[open + 1] === '?') return after(html, '>', open)
    out.text('<')
    return open + 1
  }
  const { name, closing } = match
  const end = tagEnd(page, open + 1 + name.length)
  if (hiddenTags.has(name) && !closing && html[end - 2] !== '/') return afterHidden(page, name, end)
  if (name === 'br') out.breakLine()
  else if (name === 'li' && !closing) {
    out.lines(1)
    out.text('- ')
  } else if (name === 'td' || name === 'th') out.text(' ')
  else if (spacedTags.has(name)) out.lines(2)
  else if (blockTags.has(name)) out.lines(1)
  return end
}

/** Offset after the end tag of a hidden element; without one a script or style hides the rest, as in a browser. */
function afterHidden(page: Page, name: string, from: number): number {
  if (page.unclosed.has(name)) return from
  const found = page.folded.indexOf(`</${name}`, from)
  if (found >= 0) return after(page.html, '>', found)
  if (name === 'script' || name === 'style') return page.html.length
  page.unclosed.add(name)
  return from
}

/** What of a tag a reader sees: the text of a picture that is not shown, and where a link leads. */
const shownAttributes = new Set(['alt', 'href'])

/** Offset after the tag that goes on at `from`: a `>` in a quoted value does not end it. */
function tagEnd(page: Page, from: number): number {
  const { html, values } = page
  let at = from
  let name = from
  while (at < html.length) {
    const code = html.charCodeAt(at)
    if (code === 0x3e) return at + 1
    at++
    if (code === 0x3d && at - 1 > name) {
      const value = valueAt(page, at)
      if (
        values !== null &&
        value.end > value.start &&
        shownAttributes.has(
          html
            .slice(name, at - 1)
            .trim()
            .toLowerCase(),
        )
      ) {
        values.add(visible(html.slice(value.start, Math.min(value.end, value.start + valueLengthMax))).trim())
      }
      at = value.after
      name = at
    } else if (code === 0x2f || (isSpace(code) && !isSpace(html.charCodeAt(at)) && html[at] !== '=')) name = at
  }
  return html.length
}

/** Characters of a value that are kept: longer ones are data. */
const valueLengthMax = 2000

/** Where the value of an attribute lies, and where the tag goes on. */
function valueAt({ html, unquoted }: Page, from: number): { start: number; end: number; after: number } {
  let at = from
  while (at < html.length && isSpace(html.charCodeAt(at))) at++
  const quote = html[at]
  if ((quote === '"' || quote === "'") && !unquoted.has(quote)) {
    const end = html.indexOf(quote, at + 1)
    if (end >= 0) return { start: at + 1, end, after: end + 1 }
    unquoted.add(quote)
  }
  const start = at
  while (at < html.length && html.charCodeAt(at) !== 0x3e && !isSpace(html.charCodeAt(at))) at++
  return { start, end: at, after: at }
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d)
}

function tagName(html: string, at: number): { name: string; closing: boolean } | null {
  const closing = html[at] === '/'
  const start = closing ? at + 1 : at
  let end = start
  while (end < html.length && end - start < 20 && isLetter(html.charCodeAt(end), end > start)) end++
  return end === start ? null : { name: html.slice(start, end).toLowerCase(), closing }
}

function isLetter(code: number, inside: boolean): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (inside && code >= 0x30 && code <= 0x39)
}

function after(text: string, wanted: string, from: number): number {
  const found = text.indexOf(wanted, from)
  return found < 0 ? text.length : found + wanted.length
}

/** Text between tags: white space collapsed, references decoded. */
function visible(text: string): string {
  const collapsed = /[\t\r\n\f]| {2}/.test(text) ? text.replace(/[ \t\r\n\f]+/g, ' ') : text
  return collapsed.includes('&') ? decodeReferences(collapsed) : collapsed
}

/** Character references decoded; what is none stays. */
export function decodeReferences(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z][a-z0-9]{1,10}));?/gi,
    (whole, decimal, hexadecimal, name) => {
      if (name !== undefined) return named.get(name) ?? named.get(name.toLowerCase()) ?? whole
      const code = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal)
      if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return '\ufffd'
      return code >= 0x80 && code < 0xa0 ? windows1252(code) : String.fromCodePoint(code)
    },
  )
}

function windows1252(code: number): string {
  return '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'[code - 0x80] as string
}

/** Names of U+00A0 to U+00FF in order, then others that mail uses. */
const latin =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para ' +
  'middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute ' +
  'Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml ' +
  'Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ' +
  'ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml'

const named = new Map<string, string>([
  ...latin.split(' ').map((name, at): [string, string] => [name, String.fromCharCode(0xa0 + at)]),
  ['nbsp', ' '],
  ['shy', ''],
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['euro', '€'],
  ['hellip', '…'],
  ['ndash', '–'],
  ['mdash', '—'],
  ['lsquo', '‘'],
  ['rsquo', '’'],
  ['sbquo', '‚'],
  ['ldquo', '“'],
  ['rdquo', '”'],
  ['bdquo', '„'],
  ['lsaquo', '‹'],
  ['rsaquo', '›'],
  ['bull', '•'],
  ['trade', '™'],
  ['larr', '←'],
  ['rarr', '→'],
  ['uarr', '↑'],
  ['darr', '↓'],
  ['harr', '↔'],
  ['minus', '−'],
  ['infin', '∞'],
  ['ne', '≠'],
  ['le', '≤'],
  ['ge', '≥'],
  ['asymp', '≈'],
  ['radic', '√'],
  ['sum', '∑'],
  ['permil', '‰'],
  ['prime', '′'],
  ['Prime', '″'],
  ['dagger', '†'],
  ['Dagger', '‡'],
  ['OElig', 'Œ'],
  ['oelig', 'œ'],
  ['Scaron', 'Š'],
  ['scaron', 'š'],
  ['Zcaron', 'Ž'],
  ['zcaron', 'ž'],
  ['Yuml', 'Ÿ'],
  ['fnof', 'ƒ'],
  ['circ', 'ˆ'],
  ['tilde', '˜'],
  ['ensp', ' '],
  ['emsp', ' '],
  ['thinsp', ' '],
  ['zwnj', ''],
  ['zwj', ''],
  ['lrm', ''],
  ['rlm', ''],
])
