// HTML for the place where one writes: what was pasted, quoted or kept, with nothing left but text, its form, tables and pictures.
//
// It stands in the page itself, so far less may stay than in the frame where letters are read: no styles, no classes but our own, no
// pictures from elsewhere. Colours are classes here (the page's policy allows no styles that are written into HTML) and styles in the letter.

import DOMPurify from 'dompurify'
import { tamed } from './tamed.ts'

/** Colours one may write in, as the letter has them. Each is readable on white (mail.css has the same). */
export const inks = { red: '#b3261e', green: '#1b6e3c', blue: '#1a56b0', grey: '#5b616a' } as const
export type Ink = keyof typeof inks

const tags = [
  ...[
    '#text',
    'a',
    'abbr',
    'b',
    'bdi',
    'bdo',
    'blockquote',
    'br',
    'caption',
    'center',
    'cite',
    'code',
    'dd',
    'del',
    'div',
  ],
  ...[
    'dl',
    'dt',
    'em',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'hr',
    'i',
    'img',
    'ins',
    'kbd',
    'li',
    'ol',
    'p',
    'pre',
    'q',
    's',
  ],
  ...[
    'small',
    'span',
    'strike',
    'strong',
    'sub',
    'sup',
    'table',
    'tbody',
    'td',
    'tfoot',
    'th',
    'thead',
    'tr',
    'u',
    'ul',
  ],
]
const attributes = [
  'align',
  'alt',
  'border',
  'class',
  'colspan',
  'dir',
  'height',
  'href',
  'lang',
  'rowspan',
  'src',
  'width',
]
const picture = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/
const link = /^(?:https?:\/\/|mailto:|tel:)/i
const ownClass = /^(?:ink-(?:red|green|blue|grey)|signature)$/

const purify = DOMPurify(window)
purify.addHook('uponSanitizeAttribute', (element, data) => {
  const { attrName, attrValue } = data
  if (attrName === 'src') data.keepAttr = element.nodeName === 'IMG' && picture.test(attrValue)
  else if (attrName === 'href') data.keepAttr = link.test(attrValue.trim())
  else if (attrName === 'class') data.keepAttr = ownClass.test(attrValue)
  else if (attrName === 'width' || attrName === 'height') data.keepAttr = /^\d{1,4}%?$/.test(attrValue)
})
/** Nodes for the page, of whatever it was given. */
export function safeFragment(html: string): DocumentFragment {
  const fragment = purify.sanitize(meant(html), {
    ALLOWED_TAGS: tags,
    ALLOWED_ATTR: attributes,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: /^(?:https?:\/\/|mailto:|tel:|data:image\/)/i,
    // Of all others the value would have to read as an address, too.
    ADD_URI_SAFE_ATTR: ['align', 'border', 'colspan', 'dir', 'height', 'lang', 'rowspan', 'width'],
    RETURN_DOM_FRAGMENT: true,
  }) as unknown as DocumentFragment
  // What is left of a picture from elsewhere is what it says.
  for (const image of fragment.querySelectorAll('img:not([src])')) image.replaceWith(image.getAttribute('alt') ?? '')
  for (const image of fragment.querySelectorAll('img:not([alt])')) image.setAttribute('alt', '')
  return document.importNode(fragment, true)
}

/** The same as text. */
export function safeHtml(html: string): string {
  const box = document.createElement('div')
  box.append(safeFragment(html))
  return box.innerHTML
}

/** HTML in a document that does nothing and loads nothing, with what its styles mean said by tags. */
function meant(html: string): string {
  const { body } = new DOMParser().parseFromString(tamed(html), 'text/html')
  for (const element of body.querySelectorAll<HTMLElement>('[data-style]')) {
    const style = element.getAttribute('data-style') ?? ''
    const isText = ['SPAN', 'B', 'I', 'FONT'].includes(element.nodeName)
    if (isText) retag(element, style)
  }
  return body.innerHTML
}

function retag(element: HTMLElement, style: string): void {
  const weight = /font-weight:\s*(\w+)/i.exec(style)?.[1] ?? ''
  const isBold = weight === 'bold' || Number(weight) >= 600 || (weight === '' && element.nodeName === 'B')
  const isSlanted = /font-style:\s*italic/i.test(style) || element.nodeName === 'I'
  const ink = inkOf(/(?:^|[;\s])color:\s*([^;]+)/i.exec(style)?.[1] ?? '')
  const name = ink === undefined ? element.className : `ink-${ink}`
  const around = [...(isBold ? ['b'] : []), ...(isSlanted ? ['i'] : []), ...(ownClass.test(name) ? ['span'] : [])]
  let inner: Node[] = [...element.childNodes]
  for (const tag of around.toReversed()) {
    const made = element.ownerDocument.createElement(tag)
    if (tag === 'span') made.className = name
    made.append(...inner)
    inner = [made]
  }
  element.replaceWith(...inner)
}

function inkOf(color: string): Ink | undefined {
  const wanted = hex(color.trim().toLowerCase())
  return (Object.keys(inks) as Ink[]).find(ink => inks[ink] === wanted)
}

function hex(color: string): string {
  const parts = /^rgb\((\d+),\s*(\d+),\s*(\d+)\)$/.exec(color)
  if (parts === null) return color
  return `#${parts
    .slice(1)
    .map(part => Number(part).toString(16).padStart(2, '0'))
    .join('')}`
}

/** As it goes out: colours as styles, quotes as other programs show them. */
export function written(html: string): string {
  // Set as styles, the page's own policy would refuse them.
  const mark = `data-${crypto.randomUUID()}`
  const inside = new DOMParser().parseFromString(html, 'text/html')
  const { body } = inside
  for (const element of body.querySelectorAll('[class^="ink-"]')) {
    const ink = element.className.slice(4) as Ink
    element.removeAttribute('class')
    if (Object.hasOwn(inks, ink)) element.setAttribute(mark, `color: ${inks[ink]}`)
  }
  for (const quote of body.querySelectorAll('blockquote')) {
    quote.setAttribute('type', 'cite')
    quote.setAttribute(mark, quoteStyles[sideOf(quote)])
  }
  // In another program nothing around it says from which side it is read.
  if (directionOf(body) === 'rtl' && body.firstElementChild?.getAttribute('dir') !== 'rtl') {
    const around = inside.createElement('div')
    around.dir = 'rtl'
    around.append(...body.childNodes)
    body.append(around)
  }
  return body.innerHTML.replaceAll(`${mark}=`, 'style=')
}

/** Sides by their names, which every program knows, and not as start and end. */
const quoteStyles = {
  ltr: 'margin: 0 0 0 .5em; padding: 0 0 0 .75em; border-left: 2px solid #c8ccd2',
  rtl: 'margin: 0 .5em 0 0; padding: 0 .75em 0 0; border-right: 2px solid #c8ccd2',
} as const

type Direction = keyof typeof quoteStyles

/** The side that a quote begins on, by its first letter where it does not say. */
function sideOf(quote: Element): Direction {
  const { dir } = quote as HTMLElement
  return dir === 'ltr' || dir === 'rtl' ? dir : lettered(quote.textContent ?? '')
}

/** As browsers find it: by the first letter of what says nothing of its own. */
function directionOf(element: Element): Direction {
  const copy = element.cloneNode(true) as Element
  for (const own of copy.querySelectorAll('[dir], bdi')) own.remove()
  return lettered(copy.textContent ?? '')
}

const fromRight =
  /^[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u

function lettered(text: string): Direction {
  return fromRight.test(/\p{L}/u.exec(text)?.[0] ?? '') ? 'rtl' : 'ltr'
}
