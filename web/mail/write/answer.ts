// Letters that begin: empty ones, answers, what is sent on. With the signature, and what is answered below, in the way one writes.
//
// What is quoted was written by strangers: HTML goes through rich/safe.ts before it stands in the page.

import { local } from '../../base/browser.ts'
import { call } from '../../base/client.ts'
import { moment } from '../../base/language.ts'
import { type Person, personName, personText, shownName } from '../../base/names.ts'
import { failed } from '../../base/notice.tsx'
import { isDeep } from '../read/deep.ts'
import { type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import {
  addressedIdentity,
  type Identity,
  identities,
  listed,
  loadIdentities,
  mainIdentity,
  ownAddress,
  signatureHtml,
  signatureText,
} from './identity.ts'
import { empty, type Fields, makeLetter, type Reference } from './letter.ts'
import { open } from './opened.ts'
import { withPictures } from './rich/pictures.ts'
import { safeHtml } from './rich/safe.ts'
import { escaped, htmlOf } from './rich/text.ts'

/** Whether one writes with form, as one did last. */
function isRich(): boolean {
  return local.get(place()) === 'rich'
}

export function rememberRich(rich: boolean): void {
  local.set(place(), rich ? 'rich' : 'plain')
}

function place(): string {
  return `teal.writing.${user()}`
}

/** Opens an empty letter, or one with some fields. */
export function newLetter(fields: Partial<Fields>, reference?: Reference): void {
  void loadIdentities()
    .catch(() => {})
    .then(() => {
      const identity = mainIdentity()
      const begun = fields.text === undefined ? begin(identity, '', '') : {}
      open(
        makeLetter({
          fields: { ...empty, from: ownAddress(identity), ...begun, ...fields },
          ...(reference && { reference }),
        }),
      )
    })
}

/** Nothing yet, the signature, and what stands below it. */
function begin(identity: Identity | undefined, text: string, html: string): Pick<Fields, 'text' | 'html'> {
  if (!isRich()) return { text: signatureText(identity) + text, html: null }
  return { text: '', html: `<div><br></div>${signatureHtml(identity)}${html}` }
}

const getting = 'GET /users/:user/mailboxes/:mailbox/messages/:message'

/** Answers a message, or sends it on. */
export async function answer(at: { mailbox: string; uid: number }, action: Reference['action']): Promise<void> {
  try {
    await loadIdentities()
    const message = await call(getting, { params: { user: user(), mailbox: at.mailbox, message: at.uid } })
    const isForward = action === 'forward'
    const { to, cc } = isForward ? { to: [], cc: [] } : addressees(message, action === 'replyAll')
    const identity = addressedIdentity(message) ?? mainIdentity()
    const prefix = isForward ? /^fwd?:/i : /^re:/i
    const subject = prefix.test(message.subject) ? message.subject : `${isForward ? 'Fwd' : 'Re'}: ${message.subject}`
    const { html, shown } = isRich() ? await quotedHtml(message, isForward) : { html: '', shown: new Set<string>() }
    const below = begin(identity, `\n\n${isForward ? forwarded(message) : quoted(message)}`, html)
    const fields = { from: identity?.address ?? '', to: listed(to), cc: listed(cc), subject, ...below }
    const carried = (isForward ? message.attachments : [])
      .filter(one => !shown.has(one.id))
      .map(({ id, filename, size }) => ({ id, name: shownName(filename) || id, size }))
    newLetter({ ...fields, carried }, { mailbox: at.mailbox, id: at.uid, action })
  } catch (error) {
    failed(error)
  }
}

/** Whom an answer is for; one to what oneself has sent is for whom that was for. */
function addressees({ from, replyTo = [], to = [], cc = [] }: Message, isToAll: boolean) {
  const own = identities.value.map(keyOf)
  const others = once(to, own)
  const isOwn = own.includes(keyOf(from)) && others.length > 0
  const back = once(replyTo.length > 0 ? replyTo : isOwn ? others : [from])
  if (!isToAll) return { to: back, cc: [] }
  const all = [...back, ...once(others, back.map(keyOf))]
  return { to: all, cc: once(cc, [...own, ...all.map(keyOf)]) }
}

function keyOf({ address }: { readonly address: string }): string {
  return address.toLowerCase()
}

/** People in their order, none of them twice. @param but addresses that are left out */
function once(people: readonly Person[], but: readonly string[] = []): Person[] {
  const left = new Map(people.toReversed().map(one => [keyOf(one), one]))
  for (const key of but) left.delete(key)
  return people.filter(one => left.get(keyOf(one)) === one)
}

const quotedMax = 200_000

function quoted({ from, date, text }: Message): string {
  const lines = text.slice(0, quotedMax).replace(/\r\n/g, '\n').trimEnd().split('\n')
  const quote = lines.map(line => (line.startsWith('>') ? `>${line}` : `> ${line}`)).join('\n')
  return `${mailTexts.value.wrote(personName(from), moment(date))}\n${quote}\n`
}

function forwarded(message: Message): string {
  return `${headOf(message).join('\n')}\n\n${message.text.slice(0, quotedMax).replace(/\r\n/g, '\n')}`
}

function headOf(message: Message): string[] {
  const texts = mailTexts.value
  return [
    `---------- ${texts.forwardedMessage} ----------`,
    `${texts.from}: ${personText(message.from)}`,
    `${texts.date}: ${moment(message.date)}`,
    `${texts.subject}: ${message.subject}`,
    `${texts.to}: ${(message.to ?? []).slice(0, 50).map(personText).join(', ')}`,
  ]
}

const quotedHtmlMax = 500_000

/** What a stranger wrote, cleaned, below what one writes, each in its own direction. What is far too long is quoted as its text. */
async function quotedHtml(message: Message, isForward: boolean): Promise<{ html: string; shown: Set<string> }> {
  const given = message.html?.join('<hr>') ?? ''
  const isShort = given !== '' && given.length <= quotedHtmlMax && !isDeep(given)
  const { html, shown } = isShort
    ? await withPictures(given, message)
    : { html: htmlOf(message.text.slice(0, quotedMax)), shown: new Set<string>() }
  const inner = safeHtml(html)
  if (isForward) return { html: `<div><br></div>${headOf(message).map(lineOf).join('')}<div><br></div>${inner}`, shown }
  const { from, date } = message
  const head = mailTexts.value.wrote(personName(from), moment(date))
  return { html: `<div><br></div>${lineOf(head)}<blockquote dir="auto">${inner}</blockquote>`, shown }
}

function lineOf(text: string): string {
  return `<div dir="auto">${escaped(text)}</div>`
}
