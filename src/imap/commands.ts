// The table of commands, and what the service can do, computed from it.

import { appendCommands } from './command/append.ts'
import { changeCommands } from './command/change.ts'
import { fetchCommands } from './command/fetch.ts'
import { folderCommands } from './command/folders.ts'
import { listCommands } from './command/list.ts'
import { loginCommands } from './command/login.ts'
import { notifyCommands } from './command/notify.ts'
import { quotaCommands } from './command/quota.ts'
import { searchCommands } from './command/search.ts'
import { selectCommands } from './command/select.ts'
import { sessionCommands } from './command/session.ts'
import type { CommandRow } from './command.ts'

const commands: readonly CommandRow[] = [
  ...sessionCommands,
  ...loginCommands,
  ...folderCommands,
  ...listCommands,
  ...selectCommands,
  ...fetchCommands,
  ...changeCommands,
  ...appendCommands,
  ...searchCommands,
  ...quotaCommands,
  ...notifyCommands,
]

const byName = new Map(commands.map(row => [row.name, row]))

/** The command of that name (upper case), if it exists in the form that was used. */
export function findCommand(name: string, byUid: boolean): CommandRow | undefined {
  const row = byName.get(name)
  return row === undefined || (byUid && row.uid !== true) ? undefined : row
}

/**
 * What holds for the whole protocol rather than for one command. LITERAL+ includes what LITERAL- allows, and a server
 * announces one of them only (RFC 7888 5).
 */
const general = ['IMAP4rev2', 'IMAP4rev1', 'LITERAL+', 'MULTIAPPEND', 'UTF8=ACCEPT']

/** Everything the table can do, in the order of the table. */
export const allCapabilities: readonly string[] = [...general, ...commands.flatMap(row => row.capabilities)]
