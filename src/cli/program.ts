// The commands and their exit codes: 0 done, 1 a refusal or a mistake of ours, 2 a wrong command line or configuration.
// What a command prints for programs goes to standard output, everything else to standard error.
//
// Errors are one sentence that says what to do; where a mistake of ours came from is its last words.

import { Command } from 'commander'
import { version } from '#lib/build-info.ts'
import { Fault, reasonOf } from '#lib/fault.ts'
import { harmless } from '#lib/journal/harmless.ts'
import { engineFault } from '#store/engine/sqlite/handle.ts'
import { backupCommand, restoreCommand, verifyCommand } from './command/backup.ts'
import { bodiesCommand } from './command/database/bodies.ts'
import { moveCommand } from './command/database/move.ts'
import { renumberCommand } from './command/database/renumber.ts'
import { devCommand } from './command/dev.ts'
import { dkimCommand } from './command/dkim.ts'
import { dnsCommand } from './command/dns.ts'
import { doctorCommand } from './command/doctor.ts'
import { reportsCommand } from './command/reports.ts'
import { serveCommand } from './command/serve.ts'
import { setupCommand } from './command/setup.ts'
import { tokenCommand } from './command/token.ts'
import { traceCommand } from './command/trace.ts'
import { exportCommand, importCommand } from './command/transfer.ts'
import { userCommand } from './command/user.ts'
import { configCommand } from './config.ts'
import { importImapCommand } from './import/import-imap.ts'
import { importMaildirCommand } from './import/import-maildir.ts'
import { importMboxCommand } from './import/import-mbox.ts'
import { addressCommands } from './owner/addresses.ts'
import { belongingCommands } from './owner/belongings.ts'
import { domainCommand } from './owner/domains.ts'
import { manualCommands } from './owner/manual.ts'
import { queueCommands } from './owner/queue.ts'
import { serviceCommands } from './owner/service.ts'
import { statusCommands } from './owner/status.ts'
import { suppressionCommands } from './owner/suppression.ts'

/** Every command, as the manual, completion and the reference are made from them. */
export function commandLine(): Command {
  const program = new Command('teal')
    .description('A whole mail service in one process')
    .version(version)
    .showHelpAfterError()
    .configureHelp({ showGlobalOptions: true })
  for (const command of [
    ...[setupCommand(), serveCommand(), devCommand(), userCommand(), tokenCommand(), configCommand()],
    ...[importMaildirCommand(), importMboxCommand(), importImapCommand(), exportCommand(), importCommand()],
    ...[
      backupCommand(),
      restoreCommand(),
      verifyCommand(),
      renumberCommand(),
      moveCommand(),
      bodiesCommand(),
      doctorCommand(),
      dnsCommand(),
      dkimCommand(),
      traceCommand(),
      reportsCommand(),
    ],
    ...[
      ...statusCommands(),
      domainCommand(),
      ...addressCommands(),
      ...queueCommands(),
      ...suppressionCommands(),
      ...belongingCommands(),
      ...serviceCommands(),
      ...manualCommands(program),
    ],
  ])
    program.addCommand(command)
  return program
}

/** Runs the command line in `process.argv`. */
export async function run(): Promise<void> {
  // What any command makes is for its owner alone, wherever it lies.
  process.umask(0o077)
  outputMayFail()
  const program = commandLine()
  settle(program)
  try {
    await program.parseAsync()
  } catch (error) {
    process.stderr.write(`teal: ${harmless(told(error))}\n`)
    process.exitCode = error instanceof Fault && error.code === 'ConfigInvalid' ? 2 : 1
  }
}

/** What is said of an error: one sentence, with the place where it is a mistake of ours. */
function told(error: unknown): string {
  if (error instanceof Fault) {
    const reason = error.code === 'StorageUnavailable' ? reasonOf(error) : ''
    return reason === '' ? error.message : `${error.message}: ${reason}`
  }
  const { message = String(error), stack, syscall, code } = error as NodeJS.ErrnoException
  const engine = engineFault(error, 'The database')
  if (engine !== undefined) return engine.message
  if (syscall !== undefined) return `${message}. Does it belong to this user, and is there room on the disk?`
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
  command.showHelpAfterError().configureHelp({ showGlobalOptions: true })
  command.exitOverride(error => {
    process.exit(error.exitCode === 0 ? 0 : 2)
  })
  for (const one of command.commands) settle(one)
}
