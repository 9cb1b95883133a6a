// Mailpit's search language as it is documented: words and quoted phrases that all must be there, prefixes for fields, `!` or
// `-` for what must not be.
//
// A word without a prefix is looked for in addresses, subject and text. Tags there are none of.

import type { Mail } from '#testing.d'
import type { Shelved } from '../shelf.ts'
import { bareId, hiddenOf } from './shape.ts'

type Judge = (shelved: Shelved) => boolean

/** Says of each mail whether it is one of those. */
export function parseSearch(query: string): Judge {
  const judges = [...query.matchAll(/([!-]?)(?:([a-z-]+):)?(?:"([^"]*)"|(\S+))/gi)].map(
    ([, not, prefix = '', phrase, word]) => {
      const value = (phrase ?? word ?? '').toLowerCase()
      const known = judging(prefix.toLowerCase(), value) ?? inAll(`${prefix}:${value}`.toLowerCase())
      return not === '' || not === undefined ? known : (one: Shelved) => !known(one)
    },
  )
  return shelved => judges.every(judge => judge(shelved))
}

function judging(prefix: string, value: string): Judge | undefined {
  const has = (texts: (mail: Mail) => readonly string[]): Judge => {
    return ({ mail }) => texts(mail).some(text => text.toLowerCase().includes(value))
  }
  const named = (list: Mail['to']) => list.map(({ name, address }) => `${name} ${address}`)
  const from = (mail: Mail) => [`${mail.from?.name ?? ''} ${mail.from?.address ?? mail.envelope.from}`]
  switch (prefix) {
    case '':
      return inAll(value)
    case 'from':
      return has(from)
    case 'to':
      return has(mail => named(mail.to))
    case 'cc':
      return has(mail => named(mail.cc))
    case 'bcc':
      return has(hiddenOf)
    case 'reply-to':
      return has(mail => named(mail.replyTo))
    case 'addressed':
      return has(mail => [...from(mail), ...named([...mail.to, ...mail.cc, ...mail.replyTo]), ...hiddenOf(mail)])
    case 'subject':
      return has(mail => [mail.subject])
    case 'message-id':
      return has(mail => [bareId(mail)])
    case 'is':
      return isJudge(value)
    case 'has':
      return hasJudge(value)
    case 'tag':
      return () => false
    case 'before':
      return dated(value, (arrived, moment) => arrived < moment)
    case 'after':
      return dated(value, (arrived, moment) => arrived >= moment)
    case 'larger':
      return sized(value, (size, bound) => size > bound)
    case 'smaller':
      return sized(value, (size, bound) => size < bound)
    default:
      return undefined
  }
}

function inAll(value: string): Judge {
  return ({ mail }) =>
    [
      ...[mail.subject, mail.text, mail.envelope.from, ...mail.envelope.to],
      ...[...(mail.from === undefined ? [] : [mail.from]), ...mail.to, ...mail.cc, ...mail.replyTo].flatMap(
        ({ name, address }) => [name, address],
      ),
      ...mail.attachments.map(({ filename }) => filename),
    ].some(text => text.toLowerCase().includes(value))
}

function isJudge(value: string): Judge | undefined {
  if (value === 'read') return ({ read }) => read
  if (value === 'unread') return ({ read }) => !read
  return value === 'tagged' ? () => false : undefined
}

function hasJudge(value: string): Judge | undefined {
  if (value === 'inline') return ({ mail }) => mail.attachments.some(({ inline }) => inline)
  if (!/^attachments?$/.test(value)) return undefined
  return ({ mail }) => mail.attachments.some(({ inline }) => !inline)
}

function dated(value: string, fits: (arrived: number, moment: number) => boolean): Judge | undefined {
  const moment = Date.parse(value)
  return Number.isNaN(moment) ? undefined : ({ mail }) => fits(mail.arrived, moment)
}

function sized(value: string, fits: (size: number, bound: number) => boolean): Judge | undefined {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)\s*([kmg]?)b?$/.exec(value) ?? []
  if (digits === undefined) return undefined
  const bound = Number(digits) * 1024 ** ['', 'k', 'm', 'g'].indexOf(unit)
  return ({ entry }) => fits(entry.facts.size, bound)
}
