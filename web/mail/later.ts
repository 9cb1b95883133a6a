// Reading and writing, which the list does not wait for: loaded once, when the list is there or when somebody wants them.

import { signal } from '@preact/signals'
import { failed } from '../base/notice.tsx'

type Letters = typeof import('./letters.ts')

/** Undefined until they were loaded. */
export const letters = signal<Letters | undefined>(undefined)
let loading: Promise<Letters> | undefined

/** @throws whatever the browser does where they cannot be had; they are asked for anew then */
export function loadLetters(): Promise<Letters> {
  loading ??= import('./letters.ts').then(
    found => {
      letters.value = found
      return found
    },
    error => {
      loading = undefined
      throw error
    },
  )
  return loading
}

/** Does something with them; where they cannot be had it is said. */
export function withLetters(run: (letters: Letters) => unknown): void {
  loadLetters().then(run).catch(failed)
}
