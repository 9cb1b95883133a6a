// The commands and their exit codes: 0 done, 1 a refusal or a mistake of ours, 2 a wrong command line or configuration.
// What a command prints for programs goes to standard output, everything else to standard error.

import { Command } from 'commander'
import { Fault } from '#lib/fault.ts'
import { version } from '#lib/own.ts'
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
    const known = error instanceof Fault
    process.stderr.write(`teal: ${known ? error.message : String((error as Error).stack)}\n`)
    process.exitCode = known && error.code === 'ConfigInvalid' ? 2 : 1
  }
}

/** Commands that are added do not take these over by themselves: help after a mistake, and the exit code for one. */
function settle(command: Command): void {
  command.showHelpAfterError().configureHelp({ showGlobalOptions: true })
  command.exitOverride(error => {
    process.exit(error.exitCode === 0 ? 0 : 2)
  })
  for (const one of command.commands) settle(one)
}
