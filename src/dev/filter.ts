// What a call asks for, out of JSON or of parameters in the URL: a filter of mails, a time, a number.
//
// A name that nobody knows is refused, since it would match every mail.

import { checkFilter } from '#testing/arrived/matching.ts'
import type { Filter, TextMatch } from '#testing.d'
import { invalid } from './exchange.ts'

export interface Asked {
  /** Whose mailbox; everybody's without. */
  readonly inbox: string | undefined
  readonly filter: Filter
  readonly timeout: number | undefined
  readonly within: number | undefined
  readonly count: number | undefined
}

type Form = Readonly<Record<string, unknown>>

const numbers = ['timeout', 'within', 'count'] as const

/** @throws Unwelcome */
export function askedBy(query: URLSearchParams, body: Form): Asked {
  const form: Record<string, unknown> = { ...Object.fromEntries(query), ...body }
  const found: Partial<Record<(typeof numbers)[number], number>> = {}
  for (const name of numbers) {
    if (form[name] !== undefined) found[name] = numberOf(name, form[name])
    delete form[name]
  }
  if (found.count !== undefined && !(Number.isInteger(found.count) && found.count >= 1))
    throw invalid('count is a number of mails from 1')
  const { inbox, ...filter } = form
  if (inbox !== undefined && typeof inbox !== 'string') throw invalid('inbox is an address')
  return { inbox, filter: filterOf(filter), timeout: found.timeout, within: found.within, count: found.count }
}

/** Parts of texts, or expressions as `{ "regex": "^Hello", "flags": "i" }`. */
function filterOf(form: Form): Filter {
  const filter: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(form)) {
    filter[name] = name === 'headers' ? headersOf(value) : matchOf(name, value)
  }
  try {
    checkFilter(filter)
  } catch (error) {
    throw invalid((error as Error).message)
  }
  return filter
}

function headersOf(value: unknown): Record<string, TextMatch> {
  if (typeof value !== 'object' || value === null) throw invalid('headers is an object: a name and a text for each')
  return Object.fromEntries(Object.entries(value).map(([name, match]) => [name, matchOf(name, match)]))
}

function matchOf(name: string, value: unknown): TextMatch {
  if (typeof value === 'string') return value
  const { regex, flags = '' } = (value ?? {}) as { regex?: unknown; flags?: unknown }
  if (typeof regex !== 'string' || typeof flags !== 'string')
    throw invalid(`${name} is a text, or { "regex": "...", "flags": "i" }`)
  try {
    return new RegExp(regex, flags)
  } catch (error) {
    throw invalid(`${name}: ${(error as Error).message}`)
  }
}

/** @throws Unwelcome */
export function numberOf(name: string, value: unknown): number {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  if (typeof number !== 'number' || !(number >= 0 && Number.isFinite(number)))
    throw invalid(`${name} is a number from 0`)
  return number
}
