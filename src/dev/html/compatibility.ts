// What of a mail's HTML and CSS some mail programs do not show, program by program.
//
// Advice, by what was tested and published (support.ts): a program that is not named there, or of which nothing was tested, says nothing.
// What every program shows is not counted.

import type { Markup } from './markup.ts'
import { markupOf } from './markup.ts'
import { features, type Program, programs } from './support.ts'

export type Support = 'shown' | 'partly' | 'not' | 'unknown'

export interface Feature {
  readonly slug: string
  readonly title: string
  /** Where its test is described. */
  readonly url: string
  /** How often it stands in the mail. */
  readonly count: number
  readonly support: Readonly<Record<Program, Support>>
}

export interface Compatibility {
  readonly programs: readonly Program[]
  readonly features: readonly Feature[]
}

const supports = { y: 'shown', a: 'partly', n: 'not', '-': 'unknown' } as const satisfies Record<string, Support>

export function compatibilityOf(html: string): Compatibility {
  if (html === '') return { programs, features: [] }
  const markup = markupOf(html)
  const found = features.flatMap(([slug, title, sign, shown]): Feature[] => {
    const [kind = '', ...names] = sign.split(' ')
    const count = counters[kind as keyof typeof counters](markup, names)
    if (count === 0) return []
    const support = Object.fromEntries(
      programs.map((program, at) => [program, supports[shown[at] as keyof typeof supports]]),
    ) as Record<Program, Support>
    return [{ slug, title, url: `https://www.caniemail.com/features/${slug}/`, count, support }]
  })
  const weight = ({ support }: Feature) => Object.values(support).filter(one => one === 'not').length
  return { programs, features: found.toSorted((a, b) => weight(b) - weight(a)) }
}

type Counter = (markup: Markup, names: readonly string[]) => number

const among = (names: readonly string[]): ReadonlySet<string> => new Set(names)

const sumOf = (counts: ReadonlyMap<string, number>, names: readonly string[]) =>
  names.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0)

/** By the first word of how a feature is found. */
const counters = {
  tag: ({ tags }, names) => sumOf(tags, names),
  attribute: ({ attributes }, names) => sumOf(attributes, names),
  property: ({ declarations }, names) => {
    const wanted = among(names)
    return declarations.filter(({ property }) => wanted.has(property)).length
  },
  value: ({ declarations }, [of, ...names]) => {
    const wanted = among(names)
    return declarations.filter(
      ({ property, value }) => (of === '*' || property === of) && wanted.has(value.replace(/\s*!important$/, '')),
    ).length
  },
  function: ({ declarations }, names) =>
    declarations.filter(({ value }) => names.some(name => wordStarts(value, `${name}(`))).length,
  unit: ({ declarations }, [unit = '']) => {
    const pattern = new RegExp(`\\d${unit}(?![a-z])`)
    return declarations.filter(({ value }) => pattern.test(value)).length
  },
  rule: ({ preludes }, [name]) => preludes.filter(one => one.startsWith(`@${name}`)).length,
  media: ({ preludes }, [name = '']) => preludes.filter(one => one.startsWith('@media') && one.includes(name)).length,
  pseudo: ({ preludes }, [name = '']) => {
    const pattern = new RegExp(`:${name}(?![a-z-])`)
    return preludes.filter(one => !one.startsWith('@') && pattern.test(one)).length
  },
  image: ({ pictures }, names) => pictures.filter(source => names.some(name => isPicture(source, name))).length,
} as const satisfies Record<string, Counter>

/** Whether it is there and not as the end of a longer word: `min(`, and not `clamin(`. */
function wordStarts(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !/[a-z-]/.test(text[at - 1] as string)) return true
  }
  return false
}

function isPicture(source: string, name: string): boolean {
  if (name === 'data') return source.startsWith('data:')
  if (source.startsWith('data:')) return source.startsWith(`data:image/${name}`)
  const [path = ''] = source.split(/[?#]/, 1)
  return path.endsWith(`.${name}`)
}
