// Options every command has that reads the configuration: the file, and single settings on the command line.

import type { Command } from 'commander'
import { type Config, type ConfigPart, type Loaded, parseFlags, readConfig } from '#config'

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
  const flags: ConfigPart = parseFlags(options.set)
  const dataDir = options.dataDir === undefined ? {} : { dataDir: options.dataDir }
  return readConfig({ file: options.config, env: process.env, flags: { ...flags, ...dataDir } })
}

export function configFrom(options: ConfigOptions): Config {
  return loadedFrom(options).config
}
