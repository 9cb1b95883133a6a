// Commands that documents name in passing, in a table or within a sentence, are there, with the options they are given. Those in blocks of
// `sh` are run as they stand (test/interop/documents.test.ts).

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { commandLine } from '#cli/program.ts'

const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  ...['docs', 'docs/protocols'].flatMap(folder =>
    readdirSync(folder)
      .filter(name => name.endsWith('.md'))
      .map(name => join(folder, name)),
  ),
]

/** What is wrong with a line that begins with `teal`; undefined where nothing is. */
function fault(line: string, program: Command): string | undefined {
  const [, ...words] = line.split(/\s+/)
  let command = program
  const options = [...program.options]
  for (const word of words) {
    if (word.startsWith('--')) {
      const name = word.split('=')[0]
      if (name !== '--help' && ![...options, ...program.options].some(({ long }) => long === name)) return `no ${word}`
      continue
    }
    if (command.commands.length === 0) continue
    // Several at once: `list|add|remove`.
    const names = word.replace(/[,;:.…]+$/, '').split('|')
    if (!names.every(name => /^[a-z][a-z-]+$/.test(name))) return
    const found = names.map(name => command.commands.find(one => one.name() === name || one.aliases().includes(name)))
    if (found.includes(undefined)) return `no command ${word}`
    command = found[0] as Command
    options.push(...command.options)
  }
  return
}

test.each(documents)('%s names commands and options that there are', document => {
  const program = commandLine()
  const text = readFileSync(document, 'utf8')
  const named = [...text.matchAll(/`(teal [^`]+)`/g)].map(([, line = '']) => line)
  const typed = [...text.matchAll(/^(?:sudo )?(teal [^\n#]+)/gm)].map(([, line = '']) => line)
  const wrong = [...named, ...typed].flatMap(line => {
    const what = fault(line.trim(), program)
    return what === undefined ? [] : [`${line}: ${what}`]
  })
  expect(wrong).toEqual([])
})

test('a command or an option that there is not is found', () => {
  expect(fault('teal user ad', commandLine())).toBe('no command ad')
  expect(fault('teal user add x --passwrd', commandLine())).toBe('no --passwrd')
  expect(fault('teal suppression list|add|remove', commandLine())).toBeUndefined()
})
