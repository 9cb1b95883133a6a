// Header lines with these names, or all others, of a header that comes in pieces (RFC 9051 6.4.5.1 HEADER.FIELDS).
//
// Promises: linear in the header, and no more of it is held than a piece and the beginning of one line: what strangers
// write into a header may have megabytes, in one line too.

import { isAscii, isUtf8 } from 'node:buffer'
import { limits } from '#lib/limits.ts'

/** Characters of a line that are looked at for its name. */
const nameLengthMax = 8192

export class FieldPicker {
  readonly #names: ReadonlySet<string>
  readonly #wanted: boolean
  /** The beginning of a line whose end has not come. */
  #held = ''
  /** The line that goes on now was decided about: the rest of it follows. */
  #midLine = false
  /** Lines of the field that goes on are taken. */
  #taking = false
  #over = false

  /** @param names in lower case. @param wanted false for all fields but these */
  constructor(names: ReadonlySet<string>, wanted: boolean) {
    this.#names = names
    this.#wanted = wanted
  }

  /** What is picked of the next piece. */
  write(piece: Buffer): Buffer {
    const text = this.#held + piece.toString('latin1')
    let out = ''
    let at = 0
    this.#held = ''
    while (!this.#over && at < text.length) {
      const end = text.indexOf('\n', at) + 1
      const line = end === 0 ? text.slice(at) : text.slice(at, end)
      if (end === 0 && !this.#midLine && line.length < nameLengthMax) {
        this.#held = line
        break
      }
      out += this.#line(line)
      this.#midLine = end === 0
      at += line.length
    }
    return Buffer.from(out, 'latin1')
  }

  /** What is picked of the end, and the empty line behind it all. */
  end(): Buffer {
    const rest = this.#over || this.#held === '' ? '' : this.#line(this.#held)
    const cut = this.#over ? false : rest !== '' || (this.#midLine && this.#taking)
    return Buffer.from(`${rest}${cut ? '\r\n' : ''}\r\n`, 'latin1')
  }

  #line(line: string): string {
    if (this.#midLine) return this.#taking ? line : ''
    if (line === '\r\n' || line === '\n') {
      this.#over = true
      return ''
    }
    if (!line.startsWith(' ') && !line.startsWith('\t')) {
      const colon = line.indexOf(':')
      const name = colon < 0 ? '' : line.slice(0, colon).trimEnd().toLowerCase()
      this.#taking = this.#names.has(name) === this.#wanted && (this.#wanted || name !== '')
    }
    return this.#taking ? line : ''
  }
}

/**
 * Lines of fields that mail programs ask for in lists: what is picked of them is ready when somebody asks. Short ones
 * alone, and those of the trace that programs show.
 */
const listedFields: ReadonlySet<string> = new Set([
  ...['date', 'from', 'sender', 'reply-to', 'to', 'cc', 'bcc', 'subject', 'message-id', 'in-reply-to', 'references'],
  ...['resent-date', 'resent-from', 'resent-to', 'newsgroups', 'lines', 'organization', 'keywords', 'comments'],
  ...['mime-version', 'content-type', 'content-transfer-encoding', 'content-description', 'content-language'],
  ...['content-class', 'content-disposition', 'content-id', 'x-attached', 'x-ms-has-attach', 'x-has-attach'],
  ...['priority', 'x-priority', 'x-msmail-priority', 'importance', 'sensitivity', 'precedence', 'auto-submitted'],
  ...[
    'list-id',
    'list-post',
    'list-help',
    'list-subscribe',
    'list-unsubscribe',
    'list-unsubscribe-post',
    'list-archive',
  ],
  ...['disposition-notification-to', 'return-receipt-to', 'x-confirm-reading-to', 'return-path', 'delivered-to'],
  ...['x-original-to', 'envelope-to', 'authentication-results', 'x-mailer', 'user-agent', 'x-label', 'x-keywords'],
  ...['x-spam-flag', 'x-spam-status', 'x-spam-score', 'x-spam-level', 'x-mozilla-draft-info', 'x-mozilla-keys'],
  ...['x-account-key', 'x-identity-key', 'x-k9mail-identity', 'x-tuid', 'x-universally-unique-identifier'],
  ...['x-uniform-type-identifier', 'bimi-indicator', 'bimi-location', 'x-bimi-indicator-hash', 'thread-topic'],
  ...['thread-index', 'x-forwarded-message-id', 'x-draft-info', 'face', 'x-face', 'followup-to', 'supersedes'],
])

/** Whether `listedLines` holds all that a header has of these fields. Names in lower case. */
export function isListed(names: readonly string[]): boolean {
  return names.every(name => listedFields.has(name))
}

/**
 * What is kept of a header for those who ask for some of its fields; null where picking from it would not give the same
 * bytes as picking from the header, or it is too long.
 */
export function listedLines(header: Buffer): string | null {
  // A header that begins with a folded line goes on with whatever is put on top of it.
  if (header[0] === 0x20 || header[0] === 0x09) return null
  if (isAscii(header)) {
    const lines = pickedLines(wholeLines(header.toString('latin1')), listedFields)
    return lines.length > limits.mime.listedLinesMax || lines.includes('\0') ? null : lines
  }
  const picker = new FieldPicker(listedFields, true)
  const lines = Buffer.concat([picker.write(header), picker.end()]).subarray(0, -2)
  if (lines.length > limits.mime.listedLinesMax || !isUtf8(lines) || lines.includes(0)) return null
  return lines.toString()
}

/** The lines of a header up to its empty line, the last of them whole. */
function wholeLines(header: string): string {
  if (header.startsWith('\n') || header.startsWith('\r\n')) return ''
  const empty = /\n\r?\n/.exec(header)
  if (empty !== null) return header.slice(0, empty.index + 1)
  return header === '' || header.endsWith('\n') ? header : `${header}\r\n`
}

/** Lines of these fields, names in lower case, in lines that are whole, and the empty line behind them. */
export function pickLines(lines: string, names: ReadonlySet<string>): string {
  return `${pickedLines(lines, names)}\r\n`
}

function pickedLines(lines: string, names: ReadonlySet<string>): string {
  let picked = ''
  let from = 0
  let taking = false
  for (let at = 0; at < lines.length; ) {
    const end = lines.indexOf('\n', at) + 1 || lines.length
    const first = lines.charCodeAt(at)
    if (first !== 0x20 && first !== 0x09) {
      const colon = lines.indexOf(':', at)
      const name = colon < 0 || colon >= end ? '' : lines.slice(at, colon).trimEnd().toLowerCase()
      const wanted = names.has(name)
      if (taking && !wanted) picked += lines.slice(from, at)
      if (wanted && !taking) from = at
      taking = wanted
    }
    at = end
  }
  return taking ? picked + lines.slice(from) : picked
}
