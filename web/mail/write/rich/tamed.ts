// Strangers' HTML before it is parsed: styles and handlers are renamed or left out in the text already.
//
// Nothing rests on it for safety (safe.ts cleans what is parsed): it keeps the browser from noting, for each of them, that the page's policy
// does not let it be. One pass over the text, whatever is in it.

const dropped = new Set(['script', 'style'])
const space = /\s/

/** `style` as `data-style`, no handlers, no scripts and style sheets. */
export function tamed(html: string): string {
  let made = ''
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    if (open < 0) return made + html.slice(at)
    made += html.slice(at, open)
    const name = /^<\/?[a-zA-Z][^\s/>]*/.exec(html.slice(open, open + nameMax))?.[0]
    if (name === undefined) {
      made += '<'
      at = open + 1
      continue
    }
    const tag = attributes(html, open + name.length)
    at = tag.end
    if (dropped.has(name.slice(1).toLowerCase())) at = endOf(html, name.slice(1), at)
    else if (!dropped.has(name.slice(2).toLowerCase())) made += `${name}${tag.text}>`
  }
  return made
}

const nameMax = 64

/** Where an element ends whose content is no HTML. */
function endOf(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}`, 'gi')
  closing.lastIndex = from
  const found = closing.exec(html)
  if (found === null) return html.length
  const end = html.indexOf('>', found.index)
  return end < 0 ? html.length : end + 1
}

/** Attributes from a place on to the end of the tag. */
function attributes(html: string, from: number): { text: string; end: number } {
  let text = ''
  let at = from
  while (at < html.length) {
    while (at < html.length && (space.test(html.charAt(at)) || html.charAt(at) === '/')) at += 1
    if (html.charAt(at) === '>') return { text, end: at + 1 }
    const begin = at
    at += 1
    while (at < html.length && !/[\s/>=]/.test(html.charAt(at))) at += 1
    const name = html.slice(begin, at).toLowerCase()
    const value = valueAt(html, at)
    at = value.end
    if (!name.startsWith('on')) text += ` ${name === 'style' ? 'data-style' : name}${value.text}`
  }
  return { text, end: html.length }
}

function valueAt(html: string, from: number): { text: string; end: number } {
  let at = from
  while (at < html.length && space.test(html.charAt(at))) at += 1
  if (html.charAt(at) !== '=') return { text: '', end: from }
  at += 1
  while (at < html.length && space.test(html.charAt(at))) at += 1
  const quote = html.charAt(at)
  if (quote === '"' || quote === "'") {
    const close = html.indexOf(quote, at + 1)
    const end = close < 0 ? html.length : close + 1
    return { text: `=${html.slice(at, end)}`, end }
  }
  const begin = at
  while (at < html.length && !/[\s>]/.test(html.charAt(at))) at += 1
  return { text: `=${html.slice(begin, at)}`, end: at }
}
