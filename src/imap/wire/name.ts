// Mailbox names on the wire: modified UTF-7 (RFC 3501 5.1.3) for sessions that did not ask for UTF-8, UTF-8 for the others.
//
// Promises: decoding and encoding are inverse for every name the store may hold; a name that is no valid modified UTF-7 is
// refused rather than guessed; INBOX is INBOX whatever its case, also as the first part of a longer name.

import { Fault } from '#lib/fault.ts'

/** The path a name on the wire means. @throws Fault DisallowedMailboxMethod for what cannot be a name */
export function decodeMailboxName(text: string, utf8: boolean): string {
  const path = pathOf(text, utf8)
  if (path === undefined) {
    throw new Fault('DisallowedMailboxMethod', { text: 'This cannot be the name of a mailbox' })
  }
  return path
}

/** A pattern of LIST, or what stands before one: what no name is like matches none and is no mistake. */
export function decodeMailboxPattern(text: string, utf8: boolean): string {
  return pathOf(text, utf8) ?? matchesNothing
}

/** No name holds it. */
const matchesNothing = '\0'

function pathOf(text: string, utf8: boolean): string | undefined {
  const path = utf8 || !text.includes('&') ? text : fromUtf7(text)
  if (path === undefined || /[\x00-\x1f\x7f]/.test(path)) return undefined
  const first = path.slice(0, 5)
  if (first.toUpperCase() === 'INBOX' && (path.length === 5 || path[5] === '/')) return `INBOX${path.slice(5)}`
  return path.normalize('NFC')
}

/** A path as the wire shows it, without quotes. */
export function encodeMailboxName(path: string, utf8: boolean): string {
  return utf8 || /^[\x20-\x25\x27-\x7e]*$/.test(path) ? path : toUtf7(path)
}

function fromUtf7(text: string): string | undefined {
  let path = ''
  let at = 0
  for (;;) {
    const start = text.indexOf('&', at)
    if (start < 0) return path + text.slice(at)
    const end = text.indexOf('-', start)
    if (end < 0) return undefined
    path += text.slice(at, start)
    if (end === start + 1) path += '&'
    else {
      const part = wordOf(text.slice(start + 1, end))
      if (part === undefined) return undefined
      path += part
    }
    at = end + 1
  }
}

/** Base64 with `,` for `/` and no padding, of UTF-16 that needed it. */
function wordOf(base64: string): string | undefined {
  if (!/^[A-Za-z0-9+,]+$/.test(base64)) return undefined
  const bytes = Buffer.from(base64.replaceAll(',', '/'), 'base64')
  if (bytes.length < 2 || bytes.length % 2 !== 0) return undefined
  const text = bytes.swap16().toString('utf16le')
  return text.isWellFormed() && !/[\x20-\x7e]/.test(text) ? text : undefined
}

function toUtf7(path: string): string {
  return path.replaceAll('&', '&-').replace(/[^\x20-\x7e]+/g, run => {
    const bytes = Buffer.from(run, 'utf16le').swap16()
    return `&${bytes.toString('base64').replaceAll('/', ',').replace(/=+$/, '')}-`
  })
}
