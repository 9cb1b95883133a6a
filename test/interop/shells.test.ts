// Completion in the shells that it is made for, and the manual as `man` shows it.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folder, good, needPrograms, run } from './programs.ts'

const place = folder()
const path = (name: string) => join(place.path, name)

beforeAll(async () => {
  needPrograms('zsh', 'fish', 'man')
  const teal = (...words: string[]) => good(process.execPath, ['dist/main.js', ...words])
  for (const shell of ['zsh', 'fish']) writeFileSync(path(`teal.${shell}`), await teal('completion', shell))
  writeFileSync(path('teal.1'), await teal('man'))
})

afterAll(() => place.remove())

/** A line that is typed, and what it is completed to. */
const lines = [
  ['teal doc', 'teal doctor '],
  ['teal queue ret', 'teal queue retry '],
  ['teal user add bob --gen', 'teal user add bob --generate '],
  ['teal --config x backu', 'teal --config x backup '],
] as const

test.each(lines)('fish makes of "%s" "%s"', async (typed, whole) => {
  const text = await good('fish', ['--no-config', '-c', `source ${path('teal.fish')}; complete -C '${typed}'`])
  const words = text.split('\n').map(line => line.split('\t')[0])
  expect(words.filter(word => word !== '')).toEqual([whole.trim().split(' ').at(-1)])
})

test.each(lines)('zsh makes of "%s" "%s"', async (typed, whole) => {
  // A terminal of its own, on which the line is typed with a tab behind; then it is printed instead of run.
  const script = `
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell 'PS1=; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -d ${path('dump')}; source ${path('teal.zsh')}'
    zpty -w shell 'say() { print -r -- "<$BUFFER>"; BUFFER=; zle accept-line }; zle -N say; bindkey "^X" say; print ready'
    zpty -r shell heard '*ready*ready*'
    zpty -w -n shell $'${typed}\\t\\x18'
    zpty -r shell heard '*<*>*'
    print -r -- "$heard"
    zpty -d shell`
  const { text } = await run('zsh', ['-f', '-c', script], { env: { TERM: 'dumb' }, ms: 60_000 })
  expect(/<(teal [^>]*)>/.exec(text)?.[1]).toBe(whole)
})

test('the manual has nothing that man warns of, and its parts', async () => {
  const { code, text } = await run('man', ['--warnings', '--local-file', path('teal.1')], {
    env: { MANPAGER: 'cat', MANWIDTH: '100' },
  })
  expect(code).toBe(0)
  expect(text).not.toMatch(/warning|troff|<standard input>/)
  for (const part of ['NAME', 'SYNOPSIS', 'doctor', '--json']) expect(text).toContain(part)
})
