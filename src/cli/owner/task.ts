// A command of an owner's as data: its name, what it takes, and what it asks of the service. All of them speak to whoever holds the
// data directory (reach.ts), print a line a thing, or JSON with --json, and end in the same way.
//
// Help, completion and the manual page come from the same definitions.

import { Command } from 'commander'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { print } from '../print.ts'
import { type Reach, reach } from '../reach.ts'

export interface TaskOptions extends ConfigOptions {
  readonly json?: boolean
}

export interface Task<Options extends TaskOptions = TaskOptions> {
  readonly name: string
  /** Missing where the list of commands has it (commands.ts). */
  readonly description?: string
  /** As commander has them: `<needed>`, `[optional]`, `<several...>`; each with its explanation. */
  readonly takes?: readonly (readonly [string, string?])[]
  readonly options?: readonly (readonly [string, string])[]
  /** A line as it is typed. */
  readonly example: string
  /** What its exit codes mean, where they say more than those of all commands. */
  readonly codes?: string
  run(to: Reach, words: readonly string[], options: Options, say: Say): Promise<void>
}

/** Prints one thing: as JSON, or as the text. */
type Say = (value: unknown, text: string) => void

/** A task with options of its own; for the compiler alone. */
export function task<Options extends TaskOptions>(made: Task<Options>): Task {
  return made as unknown as Task
}

/** A command with these as its own commands. */
export function group(name: string, tasks: readonly Task[]): Command {
  const command = new Command(name)
  for (const one of tasks) command.addCommand(commandOf(one))
  return command
}

/** A task as a command. */
export function commandOf({ name, description = '', takes = [], options = [], example, codes, run }: Task): Command {
  const command = withConfig(new Command(name)).description(description)
  for (const [form, text] of takes) command.argument(form, text)
  for (const [form, text] of options) command.option(form, text)
  command
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExample:\n  ${example}${codes === undefined ? '' : `\n\nExit codes: ${codes}.`}`)
  return command.action(async (...given: unknown[]) => {
    const settings = command.opts<TaskOptions>()
    const words = given.slice(0, takes.length).flatMap(word => (word === undefined ? [] : (word as string | string[])))
    const to = await reach(configFrom(settings))
    try {
      await run(to, words, settings, (value, text) => print(settings.json, value, text))
    } finally {
      await to.close()
    }
  })
}

/** Every row of a listing, a page at a time. */
export async function* rowsOf<Row>(to: Reach, path: string, role?: string): AsyncGenerator<Row> {
  for (let cursor = ''; ; ) {
    const more = `${path.includes('?') ? '&' : '?'}limit=250${cursor === '' ? '' : `&next=${encodeURIComponent(cursor)}`}`
    const page = await to.call<{ results: Row[]; nextCursor: string | false }>('GET', `${path}${more}`, undefined, role)
    yield* page.results
    if (page.nextCursor === false) return
    cursor = page.nextCursor
  }
}

/** A time as people write it, as the API takes it; now where none is given. @throws Fault InputValidationError */
export function timeOf(text: string | undefined): string {
  const at = text === undefined ? now() : Date.parse(text)
  if (Number.isNaN(at)) throw new Fault('InputValidationError', { text: `${text} is no time, such as 2026-11-23` })
  return new Date(at).toISOString()
}
