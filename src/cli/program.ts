// The commands and their exit codes: 0 done, 1 a refusal or a mistake of ours, 2 a wrong command line or configuration.
// What a command prints for programs goes to standard output, everything else to standard error.

import { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { version } from '#lib/own.ts'
import { sqliteFailure } from '#store/sqlite.ts'
import { backupCommand, restoreCommand, verifyCommand } from './backup.ts'
import { configCommand } from './config.ts'
import { dnsCommand } from './dns.ts'
import { importImapCommand } from './import-imap.ts'
import { importMaildirCommand } from './import-maildir.ts'
import { importMboxCommand } from './import-mbox.ts'
import { serveCommand } from './serve.ts'
import { tokenCommand } from './token.ts'
import { exportCommand, importCommand } from './transfer.ts'
import { userCommand } from './user.ts'

/** Runs the command line in `process.argv`. */
export async function run(): Promise<void> {
  const program = new Command('teal')
    .description('A whole mail service in one process')
    .version(version)
    .showHelpAfterError()
    .configureHelp({ showGlobalOptions: true })
  for (const command of [
    ...[serveCommand(), userCommand(), tokenCommand(), configCommand()],
    ...[importMaildirCommand(), importMboxCommand(), importImapCommand(), exportCommand(), importCommand()],
    ...[backupCommand(), restoreCommand(), verifyCommand(), dnsCommand()],
  ])
    program.addCommand(command)
  settle(program)
  try {
    await program.parseAsync()
  } catch (error) {
    process.stderr.write(`teal: ${told(error)}\n`)
    process.exitCode = error instanceof Fault && error.code === 'ConfigInvalid' ? 2 : 1
  }
}

/** What is said of an error: where it came from only if it is a mistake of ours. */
function told(error: unknown): string {
  const { message, stack, syscall } = error as NodeJS.ErrnoException
  const worlds = error instanceof Fault || syscall !== undefined || sqliteFailure(error)?.kind === 'full'
  return worlds ? message : (stack ?? String(error))
}

/** Commands that are added do not take these over by themselves: help after a mistake, and the exit code for one. */
function settle(command: Command): void {
  command.showHelpAfterError().configureHelp({ showGlobalOptions: true })
  command.exitOverride(error => {
    process.exit(error.exitCode === 0 ? 0 : 2)
  })
  for (const one of command.commands) settle(one)
}
