// Options every command has that reads the configuration: the file, and single settings on the command line.

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { type Config, type ConfigPart, type Loaded, parseFlags, readConfig } from '#config'
import { databaseFile } from '#store/folder/place.ts'

/** Where a set-up by root puts the settings. */
export const systemFile = '/etc/teal/teal.toml'

export interface ConfigOptions {
  readonly config?: string
  readonly dataDir?: string
  readonly set: string[]
}

/** Adds the options to a command. */
export function withConfig(command: Command): Command {
  return command
    .option('-c, --config <file>', 'configuration file (TOML)')
    .option('-d, --data-dir <folder>', 'folder for everything the service writes')
    .option(
      '-s, --set <key=value...>',
      'a setting, such as api.port=8081',
      (pair, pairs: string[]) => [...pairs, pair],
      [],
    )
}

/** The configuration these options, the environment and the file add up to. @throws Fault ConfigInvalid */
export function loadedFrom(options: ConfigOptions): Loaded {
  const loaded = withFile(options, options.config)
  return options.config === undefined && isNowhere(loaded) ? withFile(options, systemFile) : loaded
}

export function configFrom(options: ConfigOptions): Config {
  return loadedFrom(options).config
}

/** The same for who begins something: without being told otherwise, in the folder it is run in. */
export function configHere(options: ConfigOptions): Config {
  return withFile(options, options.config).config
}

function withFile({ dataDir, set }: ConfigOptions, file: string | undefined): Loaded {
  const flags: ConfigPart = parseFlags(set)
  const named = dataDir === undefined ? {} : { dataDir }
  return readConfig({ file, env: process.env, flags: { ...flags, ...named } })
}

/** Whether nothing said where the data is, and none is where it would be: then it is that of the machine's own service. */
function isNowhere({ config, origins }: Loaded): boolean {
  const told = origins.has('dataDir') || origins.has('store.url') || (process.env.TEAL_CONFIG ?? '') !== ''
  return !told && existsSync(systemFile) && !existsSync(databaseFile(resolve(config.dataDir)))
}
