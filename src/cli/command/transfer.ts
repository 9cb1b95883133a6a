// `teal export` and `teal import`: accounts with everything but their mail, into a file and out of one.
//
// A file is there whole or not at all, and for its owner alone, since it holds hashes and seeds. Both go through the
// API of whoever holds the data directory (cli/reach.ts).

import { pipeline } from 'node:stream/promises'
import { Command, Option } from 'commander'
import { type ConfigOptions, configFrom, withConfig } from '../options.ts'
import { print } from '../print.ts'
import { accountId, inputStream, reach } from '../reach.ts'
import { wholeFile } from '../whole-file.ts'

interface ExportOptions extends ConfigOptions {
  readonly user: string[]
  readonly tag: string[]
  readonly form: string
}

export function exportCommand(): Command {
  const gather = (value: string, values: string[]) => [...values, value]
  return withConfig(new Command('export'))
    .argument('<file>', 'where to; - is standard output')
    .option('-u, --user <user...>', 'only these accounts (id, username or address)', gather, [])
    .option('-t, --tag <tag...>', 'only accounts with any of these tags', gather, [])
    .addOption(
      new Option('--form <form>', 'rows: whole and with a checksum, for Teal; documents: for other services, too')
        .choices(['rows', 'documents'])
        .default('rows'),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  teal export accounts.teal\n  teal export - --user alice@example.com | ssh new-host teal import -',
    )
    .action(exportAccounts)
}

async function exportAccounts(file: string, options: ExportOptions): Promise<void> {
  const to = await reach(configFrom(options))
  try {
    const users: string[] = []
    for (const user of options.user) users.push(await accountId(to, user))
    const chosen = { ...(users.length > 0 && { users }), ...(options.tag.length > 0 && { tags: options.tag }) }
    const form = { ...chosen, form: options.form }
    const bytes = await to.take('POST', '/data/export', form, 'export')
    if (file === '-') await pipeline(bytes, process.stdout)
    else await wholeFile(file, bytes)
  } finally {
    await to.close()
  }
}

export function importCommand(): Command {
  return withConfig(new Command('import'))
    .argument('<file>', '- is standard input')
    .option('--create', 'make the data directory where there is none')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  teal import accounts.teal\n\nExit codes: 0 done, 1 refused, 3 done, but some entries could not be taken.',
    )
    .action(importAccounts)
}

async function importAccounts(
  file: string,
  options: ConfigOptions & { json?: boolean; create?: boolean },
): Promise<void> {
  const to = await reach(configFrom(options), options.create === true)
  try {
    const { result } = await to.send<{ result: Record<'entries' | 'imported' | 'failed' | 'existing', number> }>(
      '/data/import',
      inputStream(file),
      'export',
    )
    const { entries, imported, existing, failed } = result
    print(options.json, result, `${entries} entries: ${imported} imported, ${existing} there already, ${failed} failed`)
    if (failed > 0) process.exitCode = 3
  } finally {
    await to.close()
  }
}
