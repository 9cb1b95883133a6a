// The commands and their exit codes: 0 done, 1 a refusal or a mistake of ours, 2 a wrong command line or configuration.
// What a command prints for programs goes to standard output, everything else to standard error.
//
// Errors are one sentence that says what to do; where a mistake of ours came from is its last words.

import { Command } from 'commander'
import { version } from '#lib/build-info.ts'
import { Fault, reasonOf } from '#lib/fault.ts'
import { harmless } from '#lib/journal/harmless.ts'
import { fileProblem } from '#lib/process/file-error.ts'
import { addCommands } from './commands.ts'

/**
 * The program, as the manual, completion and the reference are made from it.
 * @param words of the command line that it is for: no other command is loaded; undefined for all of them
 */
export async function commandLine(words?: readonly string[]): Promise<Command> {
  const program = new Command('teal').description('A whole mail service in one process').version(version)
  await addCommands(program, words)
  return program
}

/** Runs the command line in `process.argv`. */
export async function run(): Promise<void> {
  // What any command makes is for its owner alone, wherever it lies.
  process.umask(0o077)
  outputMayFail()
  try {
    const program = await commandLine(process.argv.slice(2))
    settle(program)
    await program.parseAsync()
  } catch (error) {
    process.stderr.write(`teal: ${harmless(await told(error))}\n`)
    process.exitCode = error instanceof Fault && error.code === 'ConfigInvalid' ? 2 : 1
  }
}

/** What is said of an error: one sentence, with the place where it is a mistake of ours. */
async function told(error: unknown): Promise<string> {
  if (error instanceof Fault) {
    const reason = error.code === 'StorageUnavailable' ? reasonOf(error) : ''
    return reason === '' ? error.message : `${error.message}: ${reason}`
  }
  const { message = String(error), stack, syscall, code } = error as NodeJS.ErrnoException
  // With it comes the engine.
  const { engineFault } = await import('#store/engine/sqlite/handle.ts')
  const engine = engineFault(error, 'the database')
  if (engine !== undefined) return engine.message.replace(/^./, first => first.toUpperCase())
  if (syscall === 'uv_cwd') return 'The folder that this was typed in is gone: change into one that is there'
  if (syscall !== undefined) return fileProblem(error as NodeJS.ErrnoException)
  const what = code === undefined ? message : `${message} (${code})`
  const where = stack
    ?.split('\n')
    .find(line => /^\s+at /.test(line))
    ?.trim()
  return `This should not have happened, please report it: ${what}${where === undefined ? '' : ` ${where}`}`
}

/** Output that nobody takes ends a command, not with a stack; one that serves goes on. */
function outputMayFail(): void {
  process.stderr.on('error', () => {})
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.stderr.write(`teal: the output cannot be written: ${error.message}\n`)
    process.exit(1)
  })
}

/** Commands that are added do not take these over by themselves: help after a mistake, and the exit code for one. */
function settle(command: Command): void {
  command.showHelpAfterError().configureHelp({ showGlobalOptions: true, ...command.configureHelp() })
  command.exitOverride(error => {
    process.exit(error.exitCode === 0 ? 0 : 2)
  })
  for (const one of command.commands) settle(one)
}
