// The fields of a filter as they come and go over HTTP (api-semantics 6.1, 6.2).
//
// Texts have their white space collapsed, expressions are kept as written and refused where they do not compile, with the
// place and the reason. An empty value or null means "none".

import type { Static, TSchema } from 'typebox'
import { readTarget } from '#actors/sending/outgoing.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { compile as compilePattern, type Pattern } from '#lib/pattern.ts'
import { maskUrl, type UrlSecrets } from '#lib/secret/url-secret.ts'
import type { FilterAction, FilterQuery } from '#mail/filter/filter.ts'
import { faultPosition, looksLikePattern, readPattern } from '#mail/filter/filter-pattern.ts'
import { compile, itemsOf, type Read, readBoolean } from '../../input/validate.ts'
import { field, id, num, optional, text } from '../../schema.ts'

/** Null and an empty string both say "none". */
function orNone<S extends TSchema>(schema: S, none: Static<S>) {
  const read = compile(schema)
  const either: Read = (value, path, problems) => (value === null || value === '' ? none : read(value, path, problems))
  return optional(field<Static<S>>({ anyOf: [schema, { type: 'null' }] }, either, {}, true))
}

const readWritten = compile(text({ max: limits.pattern.lengthMax + 8, trim: true }))

/** A text with its white space collapsed, or an expression as it is written. */
const readCondition: Read = (value, path, problems) => {
  const given = readWritten(value, path, problems)
  if (typeof given !== 'string') return undefined
  const pattern = readPattern(given)
  if (pattern === undefined && !looksLikePattern(given)) {
    const single = given.replace(/\s+/g, ' ')
    const { conditionLengthMax: max } = limits.filter
    return single.length <= max
      ? single
      : problems.add(path, `length must be less than or equal to ${max} characters long`)
  }
  const trouble = troubleOf(given, pattern)
  return trouble === undefined ? given : problems.add(path, trouble)
}

/** A text or an expression, `''` for none. */
const condition = (what: string) =>
  orNone(
    field<string>({ type: 'string', maxLength: limits.pattern.lengthMax + 8, description: what }, readCondition),
    '',
  )

export const queryFields = {
  from: condition('In From or Sender: a text, or `/pattern/flags`'),
  to: condition('In To, Cc or the envelope recipient'),
  subject: condition('In the subject'),
  listId: condition('In List-ID'),
  text: condition('In the text: words that must all be there, `"phrases"`, alternatives separated by OR'),
  ha: optional(
    field<boolean | '' | null>({ anyOf: [{ type: 'boolean' }, { type: 'null' }] }, emptyOr(readBoolean), {}, true),
  ),
  size: orNone(num({ description: 'Bytes: at least this, or where negative at most that' }), 0),
}

const triple = (what: string) =>
  optional(
    field<boolean | null>(
      { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
      (value, path, problems) => (value === null || value === '' ? null : readBoolean(value, path, problems)),
      { description: what },
      true,
    ),
  )

export const actionFields = {
  seen: triple('Mark as read'),
  flag: triple('Flag'),
  delete: triple('Do not store'),
  spam: triple('Move to Junk, or never'),
  targets: optional(
    field<string[]>(
      { type: 'array', items: { type: 'string' }, maxItems: limits.filter.targetsMax },
      (value, path, problems) => {
        if (value === '' || value === null) return []
        const all = itemsOf(value) ?? [value]
        if (all.length > limits.filter.targetsMax) {
          return problems.add(path, `must contain less than or equal to ${limits.filter.targetsMax} items`)
        }
        return all.map((one, at) => {
          if (typeof one !== 'string') return problems.add(`${path},${at}`, 'must be a string')
          try {
            return readTarget(one).value
          } catch {
            return problems.add(`${path},${at}`, 'must be an address or a URL of smtp, smtps, http or https')
          }
        })
      },
      { description: 'Addresses and URLs the message is forwarded to' },
      true,
    ),
  ),
  mailbox: orNone(id({ description: 'Id of a mailbox' }), ''),
}

type Given<Fields> = { readonly [Key in keyof Fields]?: Fields[Key] | null | '' }

/** Actions as they are kept. */
export async function readAction(secrets: UrlSecrets, action: Given<FilterAction>): Promise<Given<FilterAction>> {
  return action.targets ? { ...action, targets: [...new Set(await secrets.sealAll(action.targets))] } : action
}

/** What is wrong with an expression, and where. */
function troubleOf(value: string, pattern: Pattern | undefined): string | undefined {
  try {
    if (pattern === undefined) throw new Fault('InputValidationError', { text: 'a slash must be written \\/' })
    compilePattern(pattern)
    return undefined
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^The pattern is not valid: /, '') : ''
    const source = value.slice(1, value.lastIndexOf('/'))
    const place = pattern === undefined ? source.search(/(?<!\\)\//) : faultPosition(pattern)
    return `is not a valid expression at position ${Math.max(place, 0) + 1}: ${reason}`
  }
}

/** Conditions for people (6.2). */
export function shownQuery(query: FilterQuery): (string | number)[][] {
  const shown: (string | number)[][] = []
  for (const key of ['from', 'to', 'subject', 'listId'] as const) {
    if (query[key]) shown.push([key, `(${query[key]})`])
  }
  if (query.ha !== undefined) shown.push([query.ha ? 'has attachment' : 'no attachments'])
  if (query.text) shown.push(['text', `"${query.text}"`])
  if (query.size) shown.push([query.size > 0 ? 'larger' : 'smaller', Math.abs(query.size)])
  return shown
}

const words = {
  seen: ['mark as read', 'do not mark as read'],
  flag: ['flag it', 'do not flag it'],
  spam: ['mark it as spam', 'do not mark it as spam'],
  delete: ['delete it', 'do not delete it'],
} as const

/** Actions for people, in the order in which they are kept. */
export function shownAction(action: FilterAction, paths: ReadonlyMap<string, string>): string[][] {
  return Object.entries(action).flatMap(([key, value]): string[][] => {
    if (key === 'targets') return [['forward to', (value as string[]).map(maskUrl).join(', ')]]
    if (key === 'mailbox') return [['move to folder', `"${paths.get(String(value)) ?? value}"`]]
    const [yes, no] = words[key as keyof typeof words] ?? []
    return yes === undefined || no === undefined ? [] : [[value === true ? yes : no]]
  })
}

function emptyOr(read: typeof readBoolean): typeof readBoolean {
  return (value, path, problems) => (value === '' || value === null ? '' : read(value, path, problems))
}
