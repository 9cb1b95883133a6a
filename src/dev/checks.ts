// What is to be said of a mail before people get it: whether the text part is there and says what the HTML says, fields that each
// mail should have, pictures without words, HTML that mail programs leave out; and, when somebody asks, where its links lead.
//
// Advice for who writes the mail, no judgement: nothing is refused by it. Links are asked for by HEAD, without cookies, and where that
// leads on is told and not followed; it happens only on demand, since a link may be good for once.

import { limits } from '#lib/limits.ts'
import type { Mail } from '#testing.d'

export interface Check {
  readonly name: string
  /** Null: there was nothing to look at. */
  readonly ok: boolean | null
  readonly info: string
}

export interface LinkCheck {
  readonly url: string
  readonly ok: boolean
  /** Status of the answer; 0 without one. */
  readonly status: number
  readonly info: string
}

export function checksOf(mail: Mail, size: number): Check[] {
  return [
    textCheck(mail),
    ...fieldChecks(mail),
    pictureCheck(mail),
    htmlCheck(mail),
    unsubscribeCheck(mail),
    sizeCheck(size),
  ]
}

/** Who reads text alone gets what others get: half of the words of the HTML at least. */
function textCheck({ html, text }: Mail): Check {
  const name = 'Text part'
  if (html === '')
    return {
      name,
      ok: text.trim() === '' ? false : null,
      info: text.trim() === '' ? 'The mail is empty' : 'Text alone',
    }
  if (text.trim() === '')
    return { name, ok: false, info: 'There is HTML and no text: some see nothing, and filters count it as spam' }
  const said = new Set(wordsOf(text))
  const shown = [...new Set(wordsOf(plain(html)))]
  const missing = shown.filter(word => !said.has(word))
  const ok = missing.length * 2 <= shown.length
  return {
    name,
    ok,
    info: ok ? 'There, and like the HTML' : `It lacks words of the HTML: ${missing.slice(0, 8).join(', ')}`,
  }
}

function plain(html: string): string {
  return html
    .replace(/<(style|script|head)\b[^>]*>[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&[a-z#0-9]+;/gi, ' ')
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []
}

function fieldChecks({ headers }: Mail): Check[] {
  return ['date', 'from', 'message-id', 'subject'].map(name => {
    const count = headers[name]?.length ?? 0
    const info = count === 1 ? 'There' : count === 0 ? 'Missing' : `There ${count} times`
    return { name: `Field ${name}`, ok: count === 1, info }
  })
}

function pictureCheck({ html }: Mail): Check {
  const pictures = html.match(/<img\b[^>]*>/gi) ?? []
  const mute = pictures.filter(tag => !/\salt\s*=/i.test(tag)).length
  const name = 'Words for pictures'
  if (pictures.length === 0) return { name, ok: null, info: 'No pictures' }
  return {
    name,
    ok: mute === 0,
    info: mute === 0 ? `${pictures.length}, each has alt` : `${mute} of ${pictures.length} without alt`,
  }
}

/** What most mail programs leave out, and what then happens. */
const leftOut: readonly (readonly [RegExp, string])[] = [
  [/<script\b/i, 'script: taken out'],
  [/<form\b/i, 'form: taken out or refused'],
  [/<(iframe|object|embed)\b/i, 'frames and objects: taken out'],
  [/<(video|audio)\b/i, 'video and audio: most show nothing'],
  [/<svg\b/i, 'svg within HTML: most show nothing'],
  [/<link\b[^>]*stylesheet/i, 'style sheets from elsewhere: not fetched'],
  [/\son[a-z]+\s*=/i, 'handlers of events: taken out'],
  [/position\s*:\s*(absolute|fixed|sticky)/i, 'position: not kept'],
  [/@import\b/i, '@import: not fetched'],
]

function htmlCheck({ html }: Mail): Check {
  const name = 'HTML that mail programs show'
  if (html === '') return { name, ok: null, info: 'No HTML' }
  const found = leftOut.filter(([pattern]) => pattern.test(html)).map(([, what]) => what)
  return { name, ok: found.length === 0, info: found.length === 0 ? 'Nothing they leave out' : found.join('; ') }
}

/** Whether it says that it goes to many. */
export function isForMany({ headers }: Mail): boolean {
  return headers['list-id'] !== undefined || /bulk|list/i.test(headers.precedence?.[0] ?? '')
}

/** Mail to many (RFC 2369, RFC 8058). */
function unsubscribeCheck(mail: Mail): Check {
  const { headers } = mail
  const name = 'Way to unsubscribe'
  const many = isForMany(mail)
  const there = headers['list-unsubscribe'] !== undefined
  if (!many && !there) return { name, ok: null, info: 'Not a list, as it seems' }
  if (!there) return { name, ok: false, info: 'It is for many and has no List-Unsubscribe' }
  const oneClick = headers['list-unsubscribe-post'] !== undefined
  return {
    name,
    ok: oneClick,
    info: oneClick ? 'With one click' : 'List-Unsubscribe-Post is missing: not with one click',
  }
}

function sizeCheck(size: number): Check {
  const ok = size <= limits.dev.largeMailBytes
  return {
    name: 'Size',
    ok,
    info: ok ? `${size} bytes` : `${size} bytes: Gmail cuts off HTML at 102 KB, and others refuse large mail`,
  }
}

/** Where each of a mail's links leads; those of the web alone, and so many. */
export function checkLinks(links: readonly string[], signal: AbortSignal): Promise<LinkCheck[]> {
  const web = links.filter(link => /^https?:/i.test(link)).slice(0, limits.dev.linksCheckedMax)
  return Promise.all(web.map(url => checkLink(url, signal)))
}

async function checkLink(url: string, signal: AbortSignal): Promise<LinkCheck> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(limits.dev.linkMs)])
  try {
    const { status, headers } = await fetch(url, { method: 'HEAD', redirect: 'manual', signal: until })
    const on = headers.get('location')
    return { url, ok: status < 400, status, info: on === null ? '' : `leads to ${on.slice(0, 500)}` }
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } }
    return { url, ok: false, status: 0, info: cause?.code ?? message }
  }
}
