// Whether a mail is the one that is waited for, and if not, why: each thing that is asked for is looked at by itself, so that
// an error can say what was different.
//
// Pure; a name that no filter has is an error.

import type { Filter, Mail, MailFilter, TextMatch } from '../../testing.d.ts'

/** A part of the text, whatever its case, or an expression. */
export function matches(text: string, match: TextMatch): boolean {
  if (typeof match === 'string') return text.toLowerCase().includes(match.toLowerCase())
  // An expression that remembers where it was would answer differently the second time.
  match.lastIndex = 0
  return match.test(text)
}

/** A whole address, or an expression. */
export function isAddress(address: string, match: TextMatch): boolean {
  return typeof match === 'string' ? address.toLowerCase() === match.toLowerCase() : matches(address, match)
}

type Asked = { readonly [Name in keyof Filter]-?: (mail: Mail, wanted: NonNullable<Filter[Name]>) => string[] }

const shownLength = 120

/** What of a filter is looked at; a list of what was found instead, empty where it fits. */
const asked: Asked = {
  from: (mail, wanted) => {
    const candidates = [mail.envelope.from, mail.from?.address ?? '', mail.from?.name ?? '']
    return candidates.some(text => matches(text, wanted)) ? [] : [`from is ${mail.from?.address ?? mail.envelope.from}`]
  },
  to: (mail, wanted) => {
    const all = [...mail.envelope.to, ...mail.to.map(one => one.address), ...mail.cc.map(one => one.address)]
    return all.some(address => isAddress(address, wanted)) ? [] : [`to is ${mail.envelope.to.join(', ')}`]
  },
  subject: (mail, wanted) => differs('subject', mail.subject, wanted),
  text: (mail, wanted) => differs('text', mail.text, wanted),
  html: (mail, wanted) => differs('html', mail.html, wanted),
  attachment: (mail, wanted) => {
    const names = mail.attachments.map(({ filename }) => filename)
    if (names.some(name => matches(name, wanted))) return []
    return [`attachments are ${names.length === 0 ? 'none' : names.join(', ')}`]
  },
  headers: (mail, wanted) =>
    Object.entries(wanted).flatMap(([name, match]) => {
      const values = mail.headers[name.toLowerCase()] ?? []
      if (values.some(value => matches(value, match))) return []
      return [`header ${name} is ${values.length === 0 ? 'absent' : clip(values.join(' | '))}`]
    }),
}

function differs(name: string, text: string, wanted: TextMatch): string[] {
  return matches(text, wanted) ? [] : [`${name} is ${text === '' ? 'empty' : `'${clip(text)}'`}`]
}

function clip(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > shownLength ? `${line.slice(0, shownLength)}…` : line
}

/** Why a mail is not the one; empty where it is. @throws TypeError for a filter with a name that does not exist */
export function mismatch(mail: Mail, filter: MailFilter | undefined): string[] {
  if (filter === undefined) return []
  if (typeof filter === 'function') return filter(mail) ? [] : ['the function said no']
  checkFilter(filter)
  return Object.entries(filter).flatMap(([name, wanted]) => {
    const ask = asked[name as keyof Filter] as (mail: Mail, wanted: unknown) => string[]
    return wanted === undefined ? [] : ask(mail, wanted)
  })
}

/** A name that nobody knows would match every mail. @throws TypeError */
export function checkFilter(filter: MailFilter | undefined): void {
  if (filter === undefined || typeof filter === 'function') return
  const unknown = Object.keys(filter).filter(name => !Object.hasOwn(asked, name))
  if (unknown.length === 0) return
  throw new TypeError(`A filter knows no ${unknown.join(', ')}; it knows ${Object.keys(asked).join(', ')}`)
}

/** A filter as an error shows it. */
export function showFilter(filter: MailFilter | undefined): string {
  if (filter === undefined) return 'any mail'
  if (typeof filter === 'function') return 'a mail for which the function says yes'
  const show = (wanted: unknown): string =>
    wanted instanceof RegExp || typeof wanted !== 'object'
      ? wanted instanceof RegExp
        ? String(wanted)
        : JSON.stringify(wanted)
      : `{ ${Object.entries(wanted as object)
          .map(([name, value]) => `${name}: ${show(value)}`)
          .join(', ')} }`
  return `a mail with ${show(filter)}`
}
