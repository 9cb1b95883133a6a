// A letter of the service to somebody who has mail here: plain text, from nobody who reads answers.
//
// Pure. Lines are the caller's; what strangers chose in them cannot begin a header field or a line of its own.

import { randomHex } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { encodeWords } from '../header/words.ts'
import { mailDate } from './dsn.ts'

export interface ServiceLetter {
  readonly hostname: string
  readonly to: string
  readonly subject: string
  /** Paragraphs are lines with an empty one between. */
  readonly lines: readonly string[]
  readonly now: number
}

const idBytes = 16

export function composeServiceLetter({ hostname, to, subject, lines, now }: ServiceLetter): Buffer {
  const head = [
    `From: Mail service <postmaster@${hostname}>`,
    `To: <${plain(to)}>`,
    `Subject: ${encodeWords(plain(subject))}`,
    `Date: ${mailDate(now)}`,
    `Message-ID: <${randomHex(idBytes)}@${hostname}>`,
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
  ]
  return Buffer.from(`${[...head, '', ...lines.map(plain), ''].join('\r\n')}`)
}

function plain(text: string): string {
  return text.slice(0, limits.outbound.responseLengthMax).replace(/[\x00-\x1f\x7f]+/g, ' ')
}
