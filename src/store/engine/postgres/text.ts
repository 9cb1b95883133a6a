// Texts of the store as PostgreSQL reads them: its words for those of dialect.ts, numbered parameters, and what both engines
// say differently everywhere: names in mixed case, LIKE, IS of two values, conflicts without a target, queries without a name.
//
// A text is taken apart once; what is bound says the type of each parameter (values.ts), and so which statement it is.

import { inWords } from '../dialect.ts'
import { definedTables } from '../table.ts'
import { gramsOf, wordsOf } from './full-text.ts'
import { indexed } from './indexed.ts'
import { arrayOf, bound } from './values.ts'
import { postgresWords } from './words.ts'

/** A statement with its values, for the driver. */
export interface Prepared {
  readonly name: string
  readonly text: string
  readonly values: (string | Buffer | null)[]
}

interface Parameter {
  /** Its place among the values, or its name. */
  readonly source: number | string
  /** Another form than the value itself. */
  readonly form: string | undefined
  /** Its value is only asked for being there. */
  readonly asked: boolean
}

interface Parsed {
  /** What stands between parameters: one more than those. */
  readonly pieces: readonly string[]
  readonly parameters: readonly Parameter[]
  /** Statements by the types of what is bound. */
  readonly statements: Map<string, { name: string; text: string }>
}

const known = new Map<string, Parsed>()
let named = 0

/** The statement of a text for these values. */
export function prepared(text: string, values: readonly unknown[]): Prepared {
  let parsed = known.get(text)
  if (parsed === undefined) {
    parsed = parse(text)
    known.set(text, parsed)
  }
  const types: string[] = []
  const forms = parsed.parameters.map(parameter => {
    const { type, form } = formOf(parameter, values)
    types.push(type)
    return form
  })
  const key = types.join()
  let statement = parsed.statements.get(key)
  if (statement === undefined) {
    named += 1
    statement = { name: `t${named}`, text: put(parsed.pieces, types) }
    parsed.statements.set(key, statement)
  }
  return { ...statement, values: forms }
}

function put(pieces: readonly string[], types: readonly string[]): string {
  return pieces.map((piece, at) => (at < types.length ? `${piece}$${at + 1}${types[at]}` : piece)).join('')
}

function formOf({ source, form, asked }: Parameter, values: readonly unknown[]): ReturnType<typeof bound> {
  const value = valueFor(source, values)
  if (form !== undefined && typeof value === 'string') return { type: '', form: otherForm(form, value, source, values) }
  const given = bound(value)
  return asked && given.form === null ? { ...given, type: '::text' } : given
}

function otherForm(form: string, value: string, source: number | string, values: readonly unknown[]): string {
  if (form === 'array') return arrayOf(value)
  // The account follows the expression.
  const user = Number(values[Number(source) + 1])
  return form === 'grams' ? gramsOf(user, value) : wordsOf(user, value)
}

function valueFor(source: number | string, values: readonly unknown[]): unknown {
  if (typeof source === 'number') {
    if (source >= values.length) throw new RangeError('too few values for a text')
    return values[source]
  }
  const names = values.find(value => isNames(value)) as Readonly<Record<string, unknown>> | undefined
  if (names === undefined || !(source in names)) throw new RangeError(`no value is called ${source}`)
  return names[source]
}

function isNames(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array)
}

function parse(text: string): Parsed {
  const sources: (number | string)[] = []
  const strings: string[] = []
  let place = 0
  const numbered = text.replace(/'(?:[^']|'')*'|\?|@(\w+)/g, (found, name: string | undefined) => {
    if (found.startsWith("'")) return putAway(strings, found)
    sources.push(name ?? place++)
    return `$${sources.length}`
  })
  return taken(spoken(numbered, strings), strings, sources)
}

/** Strings are out of the way while the text around them changes: a number between two marks stands for each. */
function putAway(strings: string[], string: string): string {
  return `\x02${strings.push(string) - 1}\x02`
}

const away = /\x02(\d+)\x02/g

function spoken(numbered: string, strings: string[]): string {
  const lists = numbered.replace(/\b(NOT )?IN (?=\{\{among )/g, (_, not?: string) => (not ? '<> ALL ' : '= ANY '))
  const bytes = lists.replace(/\bx\x02(\d+)\x02/g, (_, at: string) => {
    return putAway(strings, `'\\x${strings[Number(at)]?.slice(1, -1)}'::bytea`)
  })
  // The words bring strings as well.
  const worded = inWords(bytes, postgresWords).replace(/'[^']*'/g, found => putAway(strings, found))
  return withNames(targeted(everywhere(worded)))
}

function everywhere(text: string): string {
  return (
    text
      .replace(/(?<!["\w.]|\bAS )user(?!["\w(])/g, '"user"')
      .replace(/\bAS ([a-z]\w*[A-Z]\w*)/g, 'AS "$1"')
      // A backslash means nothing there unless it is said.
      .replace(/\bLIKE (\$\d+\b|\x02\d+\x02)(?! (?:ESCAPE|\|\|))/g, "LIKE $1 ESCAPE ''")
      .replace(/\bLIKE\b/g, 'ILIKE')
      .replace(/\bIS NOT (?!NULL\b|DISTINCT\b|TRUE\b|FALSE\b)/g, 'IS DISTINCT FROM ')
      .replace(/\bIS (?!NOT\b|NULL\b|DISTINCT\b|TRUE\b|FALSE\b)/g, 'IS NOT DISTINCT FROM ')
      .replace(/\bLIMIT -1\b/g, 'LIMIT ALL')
  )
}

/** A conflict that is resolved by changing the row is one of its key where no columns are said. */
function targeted(text: string): string {
  return text.replace(/\bON CONFLICT (?:\(([^()]*)\) )?DO UPDATE\b/g, (found, places: string | undefined) => {
    const [, name = ''] = /\bINTO "?(\w+)/.exec(text) ?? []
    const table = definedTables().get(name)
    if (table === undefined) return found
    const columns = Object.keys(table.columns).filter(key => places?.split(', ').includes(table.place(key)))
    return `ON CONFLICT (${indexed(table, places === undefined ? table.shape.key : columns)}) DO UPDATE`
  })
}

/** A query that others select from has a name here. */
function withNames(text: string): string {
  let said = ''
  const open: boolean[] = []
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    said += character
    if (character === '(') {
      open.push(/\b(?:FROM|JOIN)\s*\($/.test(said) && /^\s*SELECT\b/.test(text.slice(at + 1)))
    } else if (character === ')' && open.pop() === true && isUnnamed(text.slice(at + 1))) {
      said += ` AS q${at}`
    }
  }
  return said
}

/** Whether what follows a query is anything but a name for it. */
function isUnnamed(rest: string): boolean {
  const [, next] = /^\s*("?\w+)/.exec(rest) ?? []
  return next === undefined || /^(?:WHERE|GROUP|ORDER|LIMIT|JOIN|LEFT|UNION|ON|INTERSECT|EXCEPT)$/i.test(next)
}

function taken(text: string, strings: readonly string[], sources: readonly (number | string)[]): Parsed {
  const pieces: string[] = []
  const parameters: Parameter[] = []
  const whole = (piece: string) => piece.replace(away, (_, at: string) => strings[Number(at)] ?? '')
  let end = 0
  for (const found of text.matchAll(/\$(\d+)(?:!(\w+))?/g)) {
    pieces.push(whole(text.slice(end, found.index)))
    end = found.index + found[0].length
    const asked = /^ IS (?:NOT )?NULL\b/.test(text.slice(end))
    parameters.push({ source: sources[Number(found[1]) - 1] as number | string, form: found[2], asked })
  }
  pieces.push(whole(text.slice(end)))
  return { pieces, parameters, statements: new Map() }
}
