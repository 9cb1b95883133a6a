// The pages of docs/reference, made from the definitions of settings, commands and refusals: `node deploy/reference.ts` writes them.
//
// Nothing is said here that is not said there; a test finds pages that are stale.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { commandLine } from '#cli/program.ts'
import { listKeys } from '#config'
import { type FaultForm, faultForms } from '#lib/fault.ts'
import { advice } from './advice.ts'

const made = 'Made by `node deploy/reference.ts`; what is changed here is lost.'

/** Name of a page -> its text. */
export async function pages(): Promise<Record<string, string>> {
  return { 'settings.md': settings(), 'commands.md': await commands(), 'errors.md': errors() }
}

const cell = (text: string) => text.replaceAll('|', '\\|').replace(/\s+/g, ' ')
const code = (text: string) => `\`${text}\``
const row = (...cells: string[]) => `| ${cells.map(cell).join(' | ')} |`

function settings(): string {
  const sections = new Map<string, string[]>()
  for (const { name, key } of listKeys()) {
    const section = name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : ''
    // What the machine is called differs from one to the next.
    const initial = name === 'hostname' ? 'the name of the machine' : code(key.show(initialOf(key)))
    const line = row(code(name.slice(section === '' ? 0 : section.length + 1)), key.text, key.kind, initial)
    sections.set(section, [...(sections.get(section) ?? []), line])
  }
  const parts = [...sections].map(([section, lines]) => {
    const heading = section === '' ? '## At the top' : `## [${section}]`
    return `${heading}\n\n${table(['key', 'what it does', 'kind', 'unless set'], lines)}`
  })
  const intro =
    'In a TOML file (`--config`), as a variable (`TEAL_API_PORT` for `api.port`), or as a flag (`--set api.port=8081`), later ones winning.'
  return page('Settings', intro, parts)
}

type AnyKey = ReturnType<typeof listKeys>[number]['key']

function initialOf({ initial }: AnyKey): unknown {
  return typeof initial === 'function' ? initial() : initial
}

async function commands(): Promise<string> {
  const parts = all(await commandLine(), 'teal').map(({ path, command }) => {
    const words = [path, command.usage()].join(' ').trim()
    const values = command.registeredArguments.map(one => row(code(one.name()), one.description))
    const options = command.options.map(one => row(code(one.flags), one.description))
    return [
      `## ${path}`,
      `${command.description()}.`,
      `\`\`\`text\n${words}\n\`\`\``,
      ...(values.length > 0 ? [table(['argument', ''], values)] : []),
      ...(options.length > 0 ? [table(['option', ''], options)] : []),
    ].join('\n\n')
  })
  const intro =
    'Exit codes: 0 done, 1 a refusal, 2 a wrong command line or configuration, 3 done, but not with everything, which was named (imports, `restore --damaged`).'
  return page('Commands', intro, parts)
}

function all(command: Command, path: string): { path: string; command: Command }[] {
  return command.commands.flatMap(one => {
    const own = `${path} ${one.name()}`
    return one.commands.length > 0 ? all(one, own) : [{ path: own, command: one }]
  })
}

function errors(): string {
  const forms = Object.entries(faultForms) as [keyof typeof advice, FaultForm][]
  const lines = forms
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, { status, text, smtp = '', imap = '' }]) =>
      row(code(name), `${text}.`, advice[name], String(status), smtp, imap),
    )
  const intro =
    'What HTTP answers as `code`, and the log as `result`. The sentence may say more than the one here. SMTP answers 451 4.3.0 where nothing else stands.'
  return page('Errors', intro, [table(['code', 'what it says', 'what to do', 'HTTP', 'SMTP', 'IMAP'], lines)])
}

function table(heads: readonly string[], lines: readonly string[]): string {
  return [row(...heads), `|${heads.map(() => '---').join('|')}|`, ...lines].join('\n')
}

function page(title: string, intro: string, parts: readonly string[]): string {
  return `${[`# ${title}`, made, intro, ...parts].join('\n\n')}\n`
}

if (import.meta.main) {
  const folder = new URL('../docs/reference', import.meta.url).pathname
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(await pages())) writeFileSync(join(folder, name), text)
}
