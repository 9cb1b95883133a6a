// The search of what arrived, in Mailpit's language as it is documented: words and quoted phrases that all must be there, prefixes for
// fields, `!` or `-` for what must not be. docs/dev.md has all of it.
//
// A word without a prefix is looked for in addresses, subject, text, names of files and tags; a prefix nobody knows is a part of the word.

import type { Words } from './card.ts'
import type { Shelved } from './shelf.ts'

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

/** Prefix -> texts it looks at. */
const fields: Readonly<Record<string, readonly (keyof Words)[]>> = {
  from: ['from'],
  to: ['to'],
  cc: ['cc'],
  bcc: ['bcc'],
  'reply-to': ['replyTo'],
  addressed: ['from', 'to', 'cc', 'bcc', 'replyTo'],
  subject: ['subject'],
  text: ['text'],
  file: ['files'],
  'message-id': ['messageId'],
}

function judging(prefix: string, value: string): Judge | undefined {
  if (prefix === '') return inAll(value)
  const names = Object.hasOwn(fields, prefix) ? fields[prefix] : undefined
  if (names !== undefined) return ({ card: { words } }) => names.some(name => words[name].includes(value))
  switch (prefix) {
    case 'is':
      return isJudge(value)
    case 'has':
      return hasJudge(value)
    case 'tag':
      return ({ tags }) => tags.some(tag => tag.toLowerCase() === value)
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
  return ({ card: { words }, entry, tags }) =>
    Object.values(words).some((text: string) => text.includes(value)) ||
    entry.facts.envelope.to.some(address => address.toLowerCase().includes(value)) ||
    tags.some(tag => tag.toLowerCase().includes(value))
}

function isJudge(value: string): Judge | undefined {
  if (value === 'read') return ({ read }) => read
  if (value === 'unread') return ({ read }) => !read
  return value === 'tagged' ? ({ tags }) => tags.length > 0 : undefined
}

function hasJudge(value: string): Judge | undefined {
  if (value === 'inline') return ({ card }) => card.inline > 0
  return /^attachments?$/.test(value) ? ({ card }) => card.attachments > 0 : undefined
}

function dated(value: string, fits: (arrived: number, moment: number) => boolean): Judge | undefined {
  const moment = Date.parse(value)
  return Number.isNaN(moment) ? undefined : ({ entry }) => fits(entry.facts.arrived, moment)
}

function sized(value: string, fits: (size: number, bound: number) => boolean): Judge | undefined {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)\s*([kmg]?)b?$/.exec(value) ?? []
  if (digits === undefined) return undefined
  const bound = Number(digits) * 1024 ** ['', 'k', 'm', 'g'].indexOf(unit)
  return ({ entry }) => fits(entry.facts.size, bound)
}
