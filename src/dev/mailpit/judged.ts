// What Mailpit's checks of HTML and of spam answer, in the shapes of its documentation, from checks of our own.

import type { Compatibility, Feature, Support } from '../html/compatibility.ts'
import type { Program } from '../html/support.ts'
import type { SpamScore } from '../spam.ts'

const words = { shown: 'yes', partly: 'partial', not: 'no' } as const

/** Programs of which nothing is known are left out. */
export function htmlCheck({ programs, features }: Compatibility): object {
  const all = features.flatMap(({ support }) => Object.values(support))
  const { found, ...shares } = sharesOf(all)
  return {
    Platforms: Object.fromEntries(programs.map(program => [program, [program]])),
    Total: { Tests: found, Nodes: features.reduce((sum, { count }) => sum + count, 0), ...shares },
    Warnings: features.map(warning),
  }
}

function warning({ slug, title, url, count, support }: Feature): object {
  const { found: _, ...shares } = sharesOf(Object.values(support))
  const known = Object.entries(support).filter((one): one is [Program, keyof typeof words] => one[1] !== 'unknown')
  return {
    ...{ Slug: slug, Title: title, Description: '', URL: url, Category: slug.split('-', 1)[0], Tags: [], Keywords: '' },
    Results: known.map(([program, how]) => ({
      ...{ Family: program.split(/[,.]/, 1)[0], Platform: program, Version: '', Name: program },
      ...{ Support: words[how], NoteNumber: '' },
    })),
    NotesByNumber: {},
    Score: { Found: count, ...shares },
  }
}

function sharesOf(all: readonly Support[]) {
  const found = all.filter(one => one !== 'unknown').length
  const share = (of: Support) =>
    found === 0 ? 0 : Math.round((all.filter(one => one === of).length / found) * 1000) / 10
  return { found, Supported: found === 0 ? 100 : share('shown'), Partial: share('partly'), Unsupported: share('not') }
}

export function spamCheck({ points, junkFrom, parts }: SpamScore): object {
  return {
    ...{ Error: '', IsSpam: points >= junkFrom, Score: points },
    Rules: parts.map(({ name, points: Score, info }) => ({ Name: name, Score, Description: info })),
  }
}
