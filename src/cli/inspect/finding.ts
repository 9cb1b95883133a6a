// What a look at a set-up found: a word for programs, a sentence for people, and what to do where something is wrong.

import { oneLine } from '#lib/journal/harmless.ts'

export interface Finding {
  /** What was looked at: `resolver`, `dns`, `certificate`, ... */
  readonly check: string
  /** Which one, where there are several: a name, a port. */
  readonly subject?: string
  /** `unknown`: it could not be looked at. */
  readonly state: 'good' | 'warning' | 'wrong' | 'unknown'
  readonly text: string
  /** What to do, as a sentence. */
  readonly advice?: string
}

type Told = Pick<Finding, 'text'> & Partial<Pick<Finding, 'subject' | 'advice'>>

const of =
  (state: Finding['state']) =>
  (check: string, text: string, more: Omit<Told, 'text'> = {}): Finding => ({
    ...{ check, state, text: oneLine(text) },
    ...more,
  })

export const good = of('good')
export const warning = of('warning')
export const wrong = of('wrong')
export const unknown = of('unknown')

const marks: Readonly<Record<Finding['state'], string>> = { good: 'ok', warning: 'note', wrong: 'WRONG', unknown: '?' }

/** A finding as a line for people. */
export function line({ state, check, text, advice }: Finding): string {
  const said = `${marks[state].padEnd(6)} ${check.padEnd(12)} ${text}`
  return advice === undefined ? said : `${said}\n${' '.repeat(20)}${advice}`
}
