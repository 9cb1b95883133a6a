// Letters that are open in this window, the one in front last.

import { signal } from '@preact/signals'
import type { Letter } from './letter.ts'

export const letters = signal<readonly Letter[]>([])

/** Each is saved in a moment. */
export const timers = new Map<string, ReturnType<typeof setTimeout>>()

/** Shows a letter in front of the others. */
export function open(letter: Letter): void {
  letters.value = [...letters.value.filter(one => one.key !== letter.key), letter]
}

/** It is open here no longer, and free for other windows. */
export function close(letter: Letter): void {
  hide(letter)
  for (const { control } of letter.uploads.value) control.abort()
  letter.release()
}

/** Not seen any more, but still this window's to send. */
export function hide(letter: Letter): void {
  clearTimeout(timers.get(letter.key))
  letters.value = letters.value.filter(one => one !== letter)
}
