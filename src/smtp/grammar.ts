// What stands behind MAIL FROM: and RCPT TO: (RFC 5321 4.1.2): a path and parameters, from text to data.
//
// Promises: linear, never looks anything up, gives the address as it was written but for a needless source route, quotes
// that quote nothing and white space around brackets. Tolerated: a space before the path, and local parts with dots where
// they should not be, since real senders have them. Refused: control characters, addresses without brackets.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'

/** An address and the parameters behind it, keywords in upper case; '' where a parameter has no value. */
export interface Argument {
  /** '' for the null path. */
  readonly address: string
  readonly parameters: ReadonlyMap<string, string>
}

const none: ReadonlyMap<string, string> = new Map()

/**
 * Reads `FROM:<path> parameters` or `TO:<path> parameters`.
 *
 * @param keyword with its colon, in upper case
 * @throws Fault InputValidationError; SenderMalformed or PathMalformed, by the keyword
 */
export function readArgument(text: string, keyword: 'FROM:' | 'TO:'): Argument {
  if (text.slice(0, keyword.length).toUpperCase() !== keyword) {
    throw new Fault('InputValidationError', { text: `Expected ${keyword}<address>` })
  }
  try {
    return readBehind(text, keyword.length)
  } catch (error) {
    // RFC 3463 3.2 tells a sender's address from a recipient's.
    const sender = keyword === 'FROM:' && error instanceof Fault && error.code === 'PathMalformed'
    throw sender ? new Fault('SenderMalformed', { text: error.message }) : error
  }
}

function readBehind(text: string, keywordLength: number): Argument {
  let start = keywordLength
  while (text[start] === ' ') start += 1
  const end = pathEnd(text, start)
  const rest = text.slice(end).trim()
  if (rest !== '' && text[end] !== ' ') throw new Fault('PathMalformed')
  return { address: readPath(text.slice(start + 1, end - 1)), parameters: rest === '' ? none : readParameters(rest) }
}

/** Whether `text` holds characters that only SMTPUTF8 allows. */
export function needsUtf8(text: string): boolean {
  return /[^\0-\x7f]/.test(text)
}

/** Where the path that begins at `start` ends, its bracket included. */
function pathEnd(text: string, start: number): number {
  if (text[start] !== '<') throw new Fault('PathMalformed', { text: 'The address must stand in angle brackets' })
  let quoted = false
  for (let at = start + 1; at < text.length; at++) {
    const character = text[at]
    if (character === '"') quoted = !quoted
    else if (character === '\\' && quoted) at += 1
    else if (character === '>' && !quoted) return at + 1
  }
  throw new Fault('PathMalformed', { text: 'The address must stand in angle brackets' })
}

const atom = /^[^\s()<>[\]:;@\\,"\0-\x1f\x7f]+$/
const quotedLocal = /^"((?:[^"\\\0-\x1f\x7f]|\\[\x20-\x7e])*)"$/
const domainName =
  /^(?=.{1,255}$)[\p{L}\p{N}\p{M}_](?:[\p{L}\p{N}\p{M}_-]*[\p{L}\p{N}\p{M}_])?(?:\.[\p{L}\p{N}\p{M}_](?:[\p{L}\p{N}\p{M}_-]*[\p{L}\p{N}\p{M}_])?)*\.?$/u
const literal = /^\[(?:\d{1,3}(?:\.\d{1,3}){3}|[iI][pP][vV]6:[\da-fA-F:.]{2,45})\]$/

function readPath(path: string): string {
  if (path.length + 2 > limits.smtp.pathBytesMax) throw new Fault('PathMalformed', { text: 'The address is too long' })
  const bare = path.startsWith('@') ? path.slice(path.indexOf(':') + 1) : path
  if (bare === '') {
    if (path !== '') throw new Fault('PathMalformed')
    return ''
  }
  const at = bare.lastIndexOf('@')
  const domain = at < 0 ? '' : bare.slice(at + 1)
  if (at >= 0 && !domainName.test(domain) && !literal.test(domain)) throw new Fault('PathMalformed')
  const local = readLocal(at < 0 ? bare : bare.slice(0, at))
  return at < 0 ? local : `${local}@${domain.endsWith('.') ? domain.slice(0, -1) : domain}`
}

/** The local part, its quotes taken off where they quote nothing that needs them. */
function readLocal(local: string): string {
  if (atom.test(local)) return local
  const quoted = quotedLocal.exec(local)
  if (quoted === null) throw new Fault('PathMalformed')
  const content = (quoted[1] ?? '').replace(/\\(.)/g, '$1')
  return atom.test(content) ? content : `"${content.replace(/["\\]/g, '\\$&')}"`
}

const parameter = /^([A-Za-z0-9][A-Za-z0-9-]*)(?:=([^=\s\0-\x1f\x7f]+))?$/

function readParameters(text: string): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const part of text.split(/ +/)) {
    const [, keyword, value = ''] = parameter.exec(part) ?? []
    if (keyword === undefined || parameters.has(keyword.toUpperCase())) {
      throw new Fault('InputValidationError', { text: 'A parameter is not valid' })
    }
    parameters.set(keyword.toUpperCase(), value)
  }
  return parameters
}
