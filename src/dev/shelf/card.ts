// What is known of a mail for as long as it is in the list: the line that is shown, what a search looks at, the tags it brought.
//
// Worked out once, when it arrived, so that neither a list nor a search reads a mail again. Texts are kept in lower case, and of a long
// one its beginning; the bytes stay where they are.

import { limits } from '#lib/limits.ts'
import type { Entry } from '#testing/arrived/journal.ts'
import type { Mail, MailAddress } from '#testing.d'
import { showLine } from '../shown.ts'
import { spamOf } from '../spam.ts'

export interface Card {
  readonly line: object
  readonly words: Words
  readonly attachments: number
  readonly inline: number
  readonly tags: readonly string[]
}

/** In lower case. */
export interface Words {
  readonly from: string
  readonly to: string
  readonly cc: string
  readonly bcc: string
  readonly replyTo: string
  readonly subject: string
  readonly messageId: string
  readonly text: string
  readonly files: string
}

const nothing: Words = {
  ...{ from: '', to: '', cc: '', bcc: '', replyTo: '', subject: '', messageId: '', text: '', files: '' },
}

export async function cardOf(entry: Entry, knowsRecords: boolean): Promise<Card> {
  const mail = await entry.mail()
  const inline = mail.attachments.filter(one => one.inline).length
  return {
    line: { ...showLine(entry, mail), spam: spamOf(mail, knowsRecords).points },
    words: wordsOf(mail),
    attachments: mail.attachments.length - inline,
    inline,
    tags: tagsOf(mail),
  }
}

/** Of a mail that cannot be read any more. */
export function emptyCard({ facts: { id, arrived, size, envelope } }: Entry): Card {
  const line = { id, arrived, size, envelope, from: null, subject: '', snippet: '', attachments: 0, spam: 0 }
  return { line, words: nothing, attachments: 0, inline: 0, tags: [] }
}

function wordsOf(mail: Mail): Words {
  const named = (list: readonly MailAddress[]) => list.map(({ name, address }) => `${name} ${address}`).join('\n')
  const words = {
    from: `${mail.from === undefined ? '' : named([mail.from])} ${mail.envelope.from}`,
    ...{ to: named(mail.to), cc: named(mail.cc), bcc: hiddenOf(mail).join('\n'), replyTo: named(mail.replyTo) },
    ...{ subject: mail.subject, messageId: bareId(mail), text: mail.text.slice(0, limits.dev.searchedLength) },
    files: mail.attachments.map(({ filename }) => filename).join('\n'),
  }
  return Object.fromEntries(Object.entries(words).map(([name, text]) => [name, text.toLowerCase()])) as unknown as Words
}

/** Recipients that no field names. */
export function hiddenOf(mail: Mail): string[] {
  const named = new Set([...mail.to, ...mail.cc].map(({ address }) => address.toLowerCase()))
  return mail.envelope.to.filter(address => !named.has(address.toLowerCase()))
}

export function bareId({ messageId }: Mail): string {
  return messageId.replace(/^<|>$/g, '')
}

/** Of the field X-Tags, and behind the plus of an address. */
function tagsOf({ headers, envelope }: Mail): string[] {
  const written = (headers['x-tags'] ?? []).flatMap(value => value.split(','))
  const plus = envelope.to.map(address => /^[^+@]+\+([^@]+)@/.exec(address)?.[1] ?? '')
  return cleanTags([...written, ...plus])
}

/** Letters, digits, blanks and `-_.`; each once, whatever its case; in order. */
export function cleanTags(tags: readonly string[]): string[] {
  const found = new Map<string, string>()
  for (const tag of tags) {
    const clean = tag
      .replace(/[^\p{L}\p{N} _.-]/gu, '')
      .replace(/ +/g, ' ')
      .trim()
      .slice(0, limits.dev.tagLength)
    if (clean !== '' && !found.has(clean.toLowerCase())) found.set(clean.toLowerCase(), clean)
  }
  return [...found.values()].toSorted((a, b) => a.localeCompare(b)).slice(0, limits.dev.tagsPerMail)
}
