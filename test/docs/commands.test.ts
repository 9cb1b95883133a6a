// Commands that documents name in passing, in a table or within a sentence, are there, with the options they are given. Those in blocks of
// `sh` are run as they stand (test/interop/documents.test.ts).

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, Help } from 'commander'
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

test.each(documents)('%s names commands and options that there are', async document => {
  const program = await commandLine()
  const text = readFileSync(document, 'utf8')
  const named = [...text.matchAll(/`(teal [^`]+)`/g)].map(([, line = '']) => line)
  const typed = [...text.matchAll(/^(?:sudo )?(teal [^\n#]+)/gm)].map(([, line = '']) => line)
  const wrong = [...named, ...typed].flatMap(line => {
    const what = fault(line.trim(), program)
    return what === undefined ? [] : [`${line}: ${what}`]
  })
  expect(wrong).toEqual([])
})

test('a command or an option that there is not is found', async () => {
  expect(fault('teal user ad', await commandLine())).toBe('no command ad')
  expect(fault('teal user add x --passwrd', await commandLine())).toBe('no --passwrd')
  expect(fault('teal suppression list|add|remove', await commandLine())).toBeUndefined()
})

test('the list of all commands, of which none is loaded for it, has each as it is', async () => {
  const listed = await commandLine([])
  expect(listed.commands.filter(one => one.commands.length > 0 || one.options.length > 0)).toEqual([])
  const whole = await commandLine()
  const terms = whole.commands.map(one => new Help().subcommandTerm(one))
  const { subcommandTerm } = listed.configureHelp()
  expect(listed.commands.map(one => subcommandTerm?.(one))).toEqual(terms)
  expect(listed.helpInformation()).toBe(whole.helpInformation())
})

test.each([
  ['user', ['user', 'list', '--json']],
  ['user', ['help', 'user']],
  ['user', ['--', 'user', 'status']],
  ['status', ['--bogus', 'status']],
])('of the command line, %s alone is loaded', async (name, words) => {
  const { commands } = await commandLine(words)
  const loaded = commands.filter(one => one.commands.length > 0 || one.options.length > 0).map(one => one.name())
  expect(loaded).toContain(name)
  expect(loaded.filter(one => !['status', 'cluster', 'log', 'user'].includes(one))).toEqual([])
})
