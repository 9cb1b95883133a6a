// `teal config`: shows what is in force and where each value came from, checks a file, prints a commented sample.

import { Command } from 'commander'
import { sampleConfig, settingsInForce, showConfig } from '#config'
import { Fault } from '#lib/fault.ts'
import { configProblems } from './command/config-check.ts'
import { type ConfigOptions, configFrom, loadedFrom, withConfig } from './options.ts'
import { print } from './print.ts'

interface JsonOptions extends ConfigOptions {
  readonly json?: boolean
}

export function configCommand(): Command {
  const command = new Command('config')
  withConfig(command.command('show'))
    .description('Print every setting with its origin; secrets are masked')
    .option('--json', 'print JSON')
    .action((options: JsonOptions) => {
      const loaded = loadedFrom(options)
      if (options.json !== true) return print(false, null, showConfig(loaded))
      for (const { name, value, origin, default: initial } of settingsInForce(loaded.config))
        print(true, { key: name, value, origin, default: initial }, '')
    })
  withConfig(command.command('check'))
    .description('Say what is wrong with the configuration; exit code 2 when something is')
    .option('--json', 'print JSON')
    .action((options: JsonOptions) => {
      const problems = configProblems(configFrom(options))
      if (options.json === true) {
        print(true, { problems }, '')
        if (problems.length > 0) process.exitCode = 2
        return
      }
      if (problems.length > 0) throw new Fault('ConfigInvalid', { text: problems.join('\n') })
      process.stderr.write('The configuration is valid.\n')
    })
  command
    .command('sample')
    .description('Print a commented configuration file with every setting at its default')
    .action(() => {
      process.stdout.write(`${sampleConfig()}\n`)
    })
  return command
}
