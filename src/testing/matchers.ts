// What a test says of a mail in one word: for `expect.extend` of vitest, jest and Playwright, which all take an object of
// functions that answer `{ pass, message }`. None of them is needed here.
//
// A message says what there was instead.

import type * as Promised from '../testing.d.ts'
import { excerpt, named, shown } from './arrived/mail.ts'
import { isAddress, matches } from './arrived/matching.ts'

type Mail = Promised.Mail

/** @param what the mail should have, as a sentence goes on: 'have a link' */
function verdict(mail: Mail, pass: boolean, what: string, instead: string): { pass: boolean; message(): string } {
  return { pass, message: () => `${named(mail)} should ${pass ? 'not ' : ''}${what}. ${instead}` }
}

function listed(what: string, all: readonly string[]): string {
  return `${what}: ${all.length === 0 ? 'none' : all.join(', ')}`
}

/** With a thing, or with one that is what was asked for. */
function which(match: unknown): string {
  return match === undefined ? '' : ` ${shown(match)}`
}

export const matchers: typeof Promised.matchers = {
  toHaveSubject(mail, subject) {
    return verdict(mail, matches(mail.subject, subject), `have the subject ${shown(subject)}`, '')
  },
  toHaveText(mail, text) {
    return verdict(mail, matches(mail.text, text), `have the text ${shown(text)}`, `Its text:\n${excerpt(mail.text)}`)
  },
  toHaveLink(mail, link) {
    const links = mail.links()
    const pass = link === undefined ? links.length > 0 : links.some(one => matches(one, link))
    return verdict(mail, pass, `have a link${which(link)}`, listed('Its links', links))
  },
  toHaveCode(mail, code) {
    let found = ''
    try {
      found = code instanceof RegExp ? mail.code(code) : mail.code()
    } catch {
      // It has none.
    }
    const pass = found !== '' && (typeof code !== 'string' || found === code)
    return verdict(mail, pass, `have a code${which(code)}`, found === '' ? 'It has none' : `Its code is ${found}`)
  },
  toHaveAttachment(mail, attachment) {
    const wanted =
      attachment === undefined || typeof attachment === 'string' || attachment instanceof RegExp
        ? { filename: attachment }
        : attachment
    const pass = mail.attachments.some(one => {
      const { filename, contentType } = wanted as { filename?: Promised.TextMatch; contentType?: Promised.TextMatch }
      const isNamed = filename === undefined || matches(one.filename, filename)
      return isNamed && (contentType === undefined || matches(one.contentType, contentType))
    })
    const all = mail.attachments.map(({ filename, contentType }) => `${filename} (${contentType})`)
    return verdict(mail, pass, `have an attachment${which(attachment)}`, listed('Its attachments', all))
  },
  toHaveRecipient(mail, address) {
    const all = [...mail.envelope.to, ...mail.to.map(one => one.address), ...mail.cc.map(one => one.address)]
    const pass = all.some(one => isAddress(one, address))
    return verdict(mail, pass, `go to ${shown(address)}`, listed('It goes to', [...new Set(all)]))
  },
  toBeFrom(mail, address) {
    const all = [mail.from?.address ?? '', mail.envelope.from].filter(one => one !== '')
    const pass = all.some(one => isAddress(one, address))
    return verdict(mail, pass, `be from ${shown(address)}`, listed('It is from', [...new Set(all)]))
  },
  toBeSignedBy(mail, domain) {
    const pass = mail.dkim === domain.toLowerCase()
    const fields = mail.headers['dkim-signature'] ?? []
    const why =
      mail.dkim !== false
        ? `It is signed by ${mail.dkim}`
        : fields.length === 0
          ? 'It has no DKIM-Signature'
          : 'Its signature is not valid, or its key is not in `dns` of startTesting'
    return verdict(mail, pass, `be signed by ${domain}`, why)
  },
  toBeSentOverTls(mail) {
    const { session } = mail
    const how = session === null ? 'It was made in the service' : `It came by ${session.protocol}`
    return verdict(mail, session !== null && session.tls !== null, 'be sent over TLS', how)
  },
}
