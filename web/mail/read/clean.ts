// HTML that a stranger wrote, made harmless before it is put into a frame (frame.tsx) that would not let it do anything.
//
// It is cleaned into nodes and never written out and read again, so that nothing changes its meaning on the way. Left over are
// text, tables, pictures and styles. Pictures from elsewhere are taken out and counted unless somebody asked for them.

import DOMPurify from 'dompurify'
import { shownName } from '../../base/names.ts'

export interface Cleaned {
  /** The body with its styles before it. */
  readonly nodes: DocumentFragment
  /** Attributes of the body that have to do with looks. */
  readonly look: Readonly<Record<string, string>>
  /** Pictures and the like that were left out. */
  readonly blocked: number
  /** Hosts that links lead to which call themselves another one, each once, the first few. */
  readonly hosts: readonly string[]
  /** Pictures of the message itself: where they are shown, and ids of their attachments. */
  readonly own: readonly { readonly image: HTMLImageElement; readonly attachment: string }[]
}

const tags = [
  ...[
    'a',
    'abbr',
    'acronym',
    'address',
    'article',
    'aside',
    'b',
    'bdi',
    'bdo',
    'big',
    'blockquote',
    'body',
    'br',
    'caption',
  ],
  ...[
    'center',
    'cite',
    'code',
    'col',
    'colgroup',
    'dd',
    'del',
    'dfn',
    'dir',
    'div',
    'dl',
    'dt',
    'em',
    'figcaption',
    'figure',
  ],
  ...[
    'font',
    'footer',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'header',
    'hgroup',
    'hr',
    'i',
    'img',
    'ins',
    'kbd',
    'li',
    'main',
  ],
  ...[
    'mark',
    'menu',
    'nav',
    'nobr',
    'ol',
    'p',
    'pre',
    'q',
    'rp',
    'rt',
    'ruby',
    's',
    'samp',
    'section',
    'small',
    'span',
  ],
  ...[
    'strike',
    'strong',
    'style',
    'sub',
    'sup',
    'table',
    'tbody',
    'td',
    'tfoot',
    'th',
    'thead',
    'time',
    'tr',
    'tt',
    'u',
    'ul',
  ],
  ...['var', 'wbr', '#text'],
]
const plain = [
  ...[
    'align',
    'alt',
    'background',
    'bgcolor',
    'border',
    'cellpadding',
    'cellspacing',
    'class',
    'color',
    'cols',
    'colspan',
    'dir',
    'face',
  ],
  ...[
    'height',
    'href',
    'hspace',
    'id',
    'lang',
    'nowrap',
    'noshade',
    'reversed',
    'rowspan',
    'rows',
    'rules',
    'size',
    'span',
  ],
  ...[
    'src',
    'start',
    'style',
    'summary',
    'title',
    'type',
    'valign',
    'value',
    'vspace',
    'width',
    'text',
    'link',
    'scope',
  ],
]
/** Attributes whose value is an address. */
const addresses = ['background', 'href', 'src']
const ownPicture = /^attachment:([A-Za-z0-9]{1,32})$/
const carried = /^data:image\/(?:png|jpeg|gif|webp|bmp|x-icon);base64,/i
const elsewhere = /^(?:https?:)?\/\//i
const link = /^(?:https?:\/\/|mailto:|tel:)/i

/**
 * @param pictures whether those from elsewhere are wanted
 * @param inside the window of the frame it is for: what is made of it belongs there from the start, under the policy of the frame
 */
export function clean(html: string, pictures: boolean, inside: Window & typeof globalThis): Cleaned {
  const purify = DOMPurify(inside)
  const body = purify.sanitize(html, {
    ALLOWED_TAGS: tags,
    ALLOWED_ATTR: plain,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOW_UNKNOWN_PROTOCOLS: false,
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|tel:|attachment:|data:image\/|\/\/|#)/i,
    // Of all others the value would have to read as an address, too: no width, no span and no direction would be left.
    ADD_URI_SAFE_ATTR: plain.filter(name => !addresses.includes(name)),
    FORCE_BODY: true,
    SANITIZE_NAMED_PROPS: true,
    RETURN_DOM: true,
  }) as unknown as HTMLElement
  let blocked = 0
  const hosts = new Set<string>()
  const own: { image: HTMLImageElement; attachment: string }[] = []
  for (const element of body.querySelectorAll<HTMLElement>('*')) {
    if (element.localName === 'img') {
      const image = element as HTMLImageElement
      const src = (image.getAttribute('src') ?? '').trim()
      const attachment = ownPicture.exec(src)?.[1]
      if (attachment !== undefined) own.push({ image, attachment })
      const stays = carried.test(src) || (pictures && elsewhere.test(src))
      if (!stays) image.removeAttribute('src')
      if (elsewhere.test(src) && !pictures) blocked += 1
      if (image.getAttribute('alt') === null) image.setAttribute('alt', '')
    } else if (element.hasAttribute('src')) element.removeAttribute('src')
    blocked += takeGround(element, pictures)
    const other = element.hasAttribute('href') ? tame(element) : ''
    if (other !== '' && hosts.size < hostsMax) hosts.add(other)
    const style = element.getAttribute('style')
    if (style !== null) {
      const safe = styleOf(style, pictures)
      blocked += safe.blocked
      if (safe.text === '') element.removeAttribute('style')
      else element.setAttribute('style', safe.text)
    }
    if (element.localName === 'style') {
      const safe = styleOf(element.textContent ?? '', pictures)
      blocked += safe.blocked
      element.textContent = safe.text
    }
  }
  blocked += takeGround(body, pictures)
  const nodes = inside.document.createDocumentFragment()
  const look = lookOf(body, pictures)
  nodes.append(...body.childNodes)
  return { nodes, look, blocked, hosts: [...hosts], own }
}

/** Takes out the picture behind an element that is not to be shown. @returns how many were left out that are elsewhere */
function takeGround(element: HTMLElement, pictures: boolean): number {
  const ground = (element.getAttribute('background') ?? '').trim()
  const isElsewhere = elsewhere.test(ground)
  if (carried.test(ground) || (pictures && isElsewhere)) return 0
  element.removeAttribute('background')
  return isElsewhere ? 1 : 0
}

/** Links lead out, in a window of their own that knows nothing of this one. @returns as nameTarget */
function tame(element: HTMLElement): string {
  const href = (element.getAttribute('href') ?? '').trim()
  if (element.localName !== 'a' || !link.test(href)) {
    element.removeAttribute('href')
    return ''
  }
  element.setAttribute('target', '_blank')
  element.setAttribute('rel', 'noopener noreferrer nofollow')
  return nameTarget(element as HTMLAnchorElement, href)
}

/** A link says where it leads; one whose text is another host has that written behind it. @returns that host; '' for others */
function nameTarget(element: HTMLAnchorElement, href: string): string {
  element.title = href.slice(0, titleMax)
  const host = /^https?:/i.test(href) ? element.hostname : ''
  if (host === '' || saidBy(element).every(said => isOwnName(said, host))) return ''
  const mark = element.ownerDocument.createElement('small')
  mark.className = hostMark
  mark.textContent = ` [${host}]`
  element.after(mark)
  return host
}

/** Hosts that a link calls itself: by all of its text, by a piece of it, which may be all that is seen, and by addresses within it. */
function saidBy(element: HTMLAnchorElement): string[] {
  const text = element.textContent ?? ''
  const said = [hostIn(text)]
  if (element.firstElementChild !== null) {
    const walker = element.ownerDocument.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null && said.length < piecesMax; node = walker.nextNode())
      said.push(hostIn(node.nodeValue ?? ''))
  }
  for (const [address] of shownName(text.slice(0, titleMax)).matchAll(addressWithin)) said.push(hostIn(address))
  return said
}

/** Letters and numbers of what has a scheme, or says that it is of the web. */
const addressWithin = /(?<![\p{L}\p{N}.-])(?:https?:\/\/|www\.)[\p{L}\p{N}.@:-]*[\p{L}\p{N}]/giu
const piecesMax = 50
const hostsMax = 5

const titleMax = 2000
/** Class of what stands behind a link that pretends to be another. */
const hostMark = 'teal-host'

/** The host that a text is the address of; '' where it is none. */
function hostIn(text: string): string {
  const said = shownName(text.slice(0, titleMax)).toLowerCase()
  return (
    /^(?:https?:\/\/)?(?:[^\s/@]*@)?((?:[\p{L}\p{N}-]+\.)+[\p{L}]{2,})(?::\d+)?(?:[/?#]\S*)?$/u.exec(said)?.[1] ?? ''
  )
}

/** Whether a host is the one that was said, or both are of one name. */
function isOwnName(said: string, host: string): boolean {
  const [one, other] = [said, host].map(name => name.replace(/^www\./, ''))
  return one === '' || one === other || `.${one}`.endsWith(`.${other}`) || `.${other}`.endsWith(`.${one}`)
}

/** Styles without what they would fetch. Whatever this does not see the frame does not fetch either. */
function styleOf(given: string, pictures: boolean): { text: string; blocked: number } {
  let blocked = 0
  // Escapes are a way to write `url` so that nobody sees it.
  const written = given.replaceAll('\\', '').replace(/\/\*[\s\S]*?\*\//g, '')
  let text = written.replace(/@(?:import|charset|namespace)[^;]*;?/gi, '').replace(/@font-face[^{]*\{[^}]*\}?/gi, '')
  text = text.replace(
    /(?:url|src|image-set|image|cross-fade|element)\s*\(\s*(["']?)([^)]*)\)/gi,
    (whole, _, target: string) => {
      if (carried.test(target.trim())) return whole
      if (elsewhere.test(target.trim())) {
        if (pictures) return whole
        blocked += 1
      }
      return 'none'
    },
  )
  text = text.replace(/expression\s*\(|-moz-binding|behavior\s*:/gi, 'x')
  return { text, blocked }
}

function lookOf(body: HTMLElement, pictures: boolean): Record<string, string> {
  const look: Record<string, string> = {}
  for (const name of ['background', 'bgcolor', 'text', 'dir', 'lang', 'style']) {
    const value = body.getAttribute(name)
    if (value !== null) look[name] = name === 'style' ? styleOf(value, pictures).text : value
  }
  return look
}
