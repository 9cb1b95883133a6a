// What servers write about mail they could not deliver where they know no form for it: qmail's paragraphs, the transcripts of sendmail,
// exim's and Exchange's letters, Lotus Notes'. Recipients with what is said about each, as far as a line of text tells.
//
// Pure and linear. It takes too much rather than too little: whoever asks looks only for recipients of his own mail.

import { limits } from '#lib/limits.ts'
import { type BouncedRecipient, codeIn, sortAnswer, statusIn } from './answer.ts'

/** Where the text ends and what came back begins. */
const copyBegins =
  /^(?:-{2,}\s*(?:below this line is a copy|this is a copy of|original message|returned message|unsent message|message header follows|forwarded message|the (?:header|body) of the)|-{3,}\s*(?:original|returned|unsent)|the original message (?:was|follows)? ?(?:included|attached)|received:\s|return-path:\s)/i

/** Bytes after a recipient in which something is said about it. */
const paragraphMax = 1200

/** Characters beside its address that say something of a recipient. */
const saidMin = 12

const address = String.raw`[^\s<>"'(),;:@\[\]]{1,64}@[^\s<>"'(),;:@\[\]]{1,255}`
/** A line that names a recipient: alone, in brackets, in front of a colon, a bracket or dots, or behind a word for it. */
const named = new RegExp(
  String.raw`^[\s*>|-]{0,20}(?:(?:was not (?:delivered|reached) to|(?:failed |final |original )?recipients?(?: address)?|to|delivery to|could not be delivered to|rcpt to|user|address)\s{0,3}:?\s{0,3})?(?:rfc822;\s{0,3}|smtp:\s{0,3})?<?(${address})>?(?=$|[\s:;(.,\u2026])`,
  'i',
)

/** Given up, unless it says that it goes on. */
const goesOn =
  /\b(?:delayed|will (?:keep|continue|be) (?:try|retr)\w*|still (?:being )?(?:tried|undelivered|waiting|queued)|(?:not yet been|has not been) delivered|warning message only|no action is required|you do not need to resend)\b/i

/** Whatever the last answer was. */
const givenUp =
  /\b(?:not going to try again|in the queue too long|(?:giving|gave|given) up|retry time(?:out)? exceeded)\b/i

export function readLetter(text: string, failed: string): { recipients: BouncedRecipient[]; messageId: string } {
  const all = text.slice(0, limits.bounce.textBytesMax).split(/\r?\n/).slice(0, limits.bounce.linesMax)
  const end = all.findIndex(line => line.length < limits.bounce.lineLengthMax && copyBegins.test(line.trim()))
  const lines = end < 0 ? all : all.slice(0, end)
  const messageId = /^message-id:\s{0,9}(<[^<>\s]{1,900}>)/i
  const id =
    all
      .slice(Math.max(0, end))
      .map(line => messageId.exec(line)?.[1])
      .find(found => found !== undefined) ?? ''
  const whole = lines.join('\n').slice(0, paragraphMax)
  const late = goesOn.test(lines.join('\n'))
  const found = new Map<string, string>()
  for (const [at, line] of lines.entries()) {
    const one = line.length < limits.bounce.lineLengthMax ? named.exec(line)?.[1]?.replace(/\.+$/, '') : undefined
    if (one === undefined || !/\.[a-z0-9-]+$/i.test(one)) continue
    const own = paragraph(lines, at)
    // Some say what is wrong before they say with whom.
    const said = own.length - one.length > saidMin ? own : whole
    const known = found.get(one.toLowerCase())
    found.set(one.toLowerCase(), known === undefined ? said : `${known}\n${said}`.slice(0, 2 * paragraphMax))
    if (found.size >= limits.bounce.recipientsMax) break
  }
  const listed = failed
    .split(',')
    .map(one => one.trim().toLowerCase())
    .filter(one => one.includes('@'))
  for (const one of listed.slice(0, limits.bounce.recipientsMax)) if (!found.has(one)) found.set(one, whole)
  return { recipients: [...found].map(([one, said]) => recipient(one, said, late)), messageId: id }
}

/** What follows a recipient: to the next one, or to where something else begins. */
function paragraph(lines: readonly string[], at: number): string {
  let said = ''
  let empty = 0
  for (const [offset, line] of lines.slice(at, at + 20).entries()) {
    if (offset > 0 && named.test(line.slice(0, limits.bounce.lineLengthMax))) break
    empty = line.trim() === '' ? empty + 1 : 0
    if (empty > 1) break
    said += `${line.trim()}\n`
    if (said.length > paragraphMax) break
  }
  return said.slice(0, paragraphMax)
}

function recipient(one: string, said: string, late: boolean): BouncedRecipient {
  const text = said.replace(/\s+/g, ' ').trim()
  const code = codeIn(text)
  const status = statusIn(text, code)
  const final = !late && (!status.startsWith('4') || givenUp.test(text))
  const kind = sortAnswer({ status, code, text, final })
  return { address: one, kind, final, status, text: text.slice(0, limits.outbound.responseLengthMax) }
}
