// Text of HTML and HTML of text: the part of a letter for those who see no HTML, and the way between both ways of writing.
//
// Links keep their address, lists their marks, quotes their `>`, so that the text alone says all.

const blocks = new Set(
  'ADDRESS ARTICLE BLOCKQUOTE CAPTION CENTER DD DIV DL DT FIGURE FOOTER H1 H2 H3 H4 H5 H6 HEADER LI OL P PRE SECTION TABLE TR UL'.split(
    ' ',
  ),
)
const apart = new Set('BLOCKQUOTE H1 H2 H3 OL P PRE TABLE UL'.split(' '))

/** What HTML says, without its form. */
export function textOf(html: string): string {
  const { body } = new DOMParser().parseFromString(html, 'text/html')
  return linesOf(body)
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+/, '')
    .trimEnd()
}

function linesOf(parent: Element, depth = 0): string[] {
  const lines: string[] = []
  let line = ''
  let hasLine = false
  const flush = () => {
    // The sign above a signature ends in a space.
    if (hasLine) lines.push(line === '-- ' ? line : line.replace(/[ \t]+$/, ''))
    line = ''
    hasLine = false
  }
  const add = (text: string) => {
    line += text
    hasLine = true
  }
  const walk = (node: Node) => {
    if (node instanceof Text || node.nodeType === Node.TEXT_NODE) {
      const text = (node.nodeValue ?? '').replace(/[\u200b\ufeff]/g, '').replace(/\u00a0/g, ' ')
      const shown = insidePre(node) ? text : text.replace(/[\t\r\n ]+/g, ' ')
      if (shown.trim() !== '' || (shown !== '' && hasLine)) add(hasLine ? shown : shown.trimStart())
      return
    }
    if (node.nodeType !== Node.ELEMENT_NODE) return
    const element = node as Element
    const name = element.nodeName
    if (name === 'BR') {
      hasLine = true
      flush()
    } else if (name === 'HR') {
      flush()
      lines.push('---')
    } else if (name === 'IMG') {
      const alt = element.getAttribute('alt') ?? ''
      if (alt !== '') add(`[${alt}]`)
    } else if (blocks.has(name) && depth < depthMax) {
      flush()
      const space = apart.has(name) && !(name.endsWith('L') && element.parentElement?.nodeName === 'LI')
      if (space && lines.length > 0 && lines.at(-1) !== '') lines.push('')
      lines.push(...marked(element, linesOf(element, depth + 1)))
      if (space) lines.push('')
    } else {
      for (const child of element.childNodes) walk(child)
      if (name === 'A') addAddress(element, add)
      if (name === 'TD' || name === 'TH') add(' ')
    }
  }
  for (const child of parent.childNodes) walk(child)
  flush()
  return lines
}

const depthMax = 200

function insidePre(node: Node): boolean {
  return node.parentElement?.closest('pre') != null
}

function addAddress(element: Element, add: (text: string) => void): void {
  const href = element.getAttribute('href') ?? ''
  const text = element.textContent ?? ''
  if (/^(?:https?:|mailto:)/i.test(href) && !text.includes(href.replace(/^mailto:/i, ''))) add(` <${href}>`)
}

function marked(element: Element, lines: string[]): string[] {
  if (element.nodeName === 'BLOCKQUOTE') {
    return trimmed(lines).map(line => (line === '' ? '>' : line.startsWith('>') ? `>${line}` : `> ${line}`))
  }
  if (element.nodeName !== 'LI') return lines
  const list = element.parentElement
  const at = [...(list?.children ?? [])].indexOf(element) + 1
  const mark = list?.nodeName === 'OL' ? `${at}. ` : '- '
  return trimmed(lines).map((line, index) => (index === 0 ? mark : ' '.repeat(mark.length)) + line)
}

function trimmed(lines: string[]): string[] {
  const first = lines.findIndex(line => line !== '')
  const last = lines.findLastIndex(line => line !== '')
  return first < 0 ? [''] : lines.slice(first, last + 1)
}

/** Text as HTML that looks the same: a line each, quotes as quotes. */
export function htmlOf(text: string): string {
  let html = ''
  let depth = 0
  for (const line of text.replace(/\r\n?/g, '\n').split('\n')) {
    const marks = /^(?:> ?)*/.exec(line)?.[0] ?? ''
    const wanted = Math.min(quotesMax, marks.replaceAll(' ', '').length)
    html += '<blockquote>'.repeat(Math.max(0, wanted - depth)) + '</blockquote>'.repeat(Math.max(0, depth - wanted))
    depth = wanted
    const rest = wanted === 0 ? line : line.slice(marks.length)
    html += `<div>${rest === '' ? '<br>' : escaped(rest)}</div>`
  }
  return html + '</blockquote>'.repeat(depth)
}

const quotesMax = 20

export function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replace(/ {2}/g, ' &nbsp;')
}
