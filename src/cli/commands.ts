// The commands there are: how each is called and what it does, as `teal --help` lists them, and the module that it comes from. One that is
// not asked for is not loaded: a command line reads what its own command needs.
//
// What a command takes besides, its options and what it does with them stand in its module.

import { Command, Help } from 'commander'

interface Source {
  /** As help has it, its name first -> what it does. */
  readonly commands: Readonly<Record<string, string>>
  /** Makes these commands, in this order. */
  load(program: Command): Promise<readonly Command[]>
}

const sources: readonly Source[] = [
  {
    commands: {
      'setup [options] <domain>': 'Set a mail server up: configuration, first account, keys, certificate, DNS records',
    },
    load: async () => [(await import('./command/setup.ts')).setupCommand()],
  },
  {
    commands: { 'serve [options]': 'Run the service' },
    load: async () => [(await import('./command/serve.ts')).serveCommand()],
  },
  {
    commands: { 'dev [options]': 'Run a mail service for tests: any recipient, any password, a page of what arrived' },
    load: async () => [(await import('./command/dev.ts')).devCommand()],
  },
  {
    commands: { user: 'Make, list, show and delete accounts' },
    load: async () => [(await import('./command/user.ts')).userCommand()],
  },
  {
    commands: { token: 'Make, list and end access tokens' },
    load: async () => [(await import('./command/token.ts')).tokenCommand()],
  },
  {
    commands: { config: 'Look at the configuration' },
    load: async () => [(await import('./config.ts')).configCommand()],
  },
  {
    commands: { 'import-maildir [options] <pair...>': 'Move Maildirs into accounts' },
    load: async () => [(await import('./import/import-maildir.ts')).importMaildirCommand()],
  },
  {
    commands: { 'import-mbox [options] <pair...>': 'Move mbox files into accounts' },
    load: async () => [(await import('./import/import-mbox.ts')).importMboxCommand()],
  },
  {
    commands: { 'import-imap [options] <user>': 'Fetch the mail of an account from another IMAP server' },
    load: async () => [(await import('./import/import-imap.ts')).importImapCommand()],
  },
  {
    commands: {
      'export [options] <file>':
        'Write accounts with settings, addresses, mailboxes and filters into a file; mail stays',
      'import [options] <file>': 'Take accounts in from an export; what is there already stays as it is',
    },
    load: async () => {
      const made = await import('./command/transfer.ts')
      return [made.exportCommand(), made.importCommand()]
    },
  },
  {
    commands: {
      'backup [options] [folder]': 'Copy everything into a folder, while the service runs; again, only what is new',
      'restore [options] <folder>': 'Bring a backup back into an empty data directory',
      'verify [options]': 'Check every rule of the stored data, and every stored byte against its hash',
    },
    load: async () => {
      const made = await import('./command/backup.ts')
      return [made.backupCommand(), made.restoreCommand(), made.verifyCommand()]
    },
  },
  {
    commands: {
      'renumber [options]':
        'Give all folders a new UIDVALIDITY, after the database was brought back to an earlier moment, while no service runs',
    },
    load: async () => [(await import('./command/database/renumber.ts')).renumberCommand()],
  },
  {
    commands: {
      'move [options]': 'Move everything from the database file to PostgreSQL, or back, while the service is stopped',
    },
    load: async () => [(await import('./command/database/move.ts')).moveCommand()],
  },
  {
    commands: {
      'bodies [options]':
        'Carry large parts of messages from the database on PostgreSQL to the store of bodies.url, or back',
    },
    load: async () => [(await import('./command/database/bodies.ts')).bodiesCommand()],
  },
  {
    commands: {
      'doctor [options] [domains...]':
        'Look a set-up through: DNS, certificates, MTA-STS, blocklists, queue, disk, backups, clock, versions',
    },
    load: async () => [(await import('./command/doctor.ts')).doctorCommand()],
  },
  {
    commands: { 'dns [options] <domain>': 'Print the DNS records that a domain needs, and check those that are set' },
    load: async () => [(await import('./command/dns.ts')).dnsCommand()],
  },
  {
    commands: { dkim: 'Look at the keys that sign mail of domains, and change them' },
    load: async () => [(await import('./command/dkim.ts')).dkimCommand()],
  },
  {
    commands: { 'trace [options] <id>': 'Tell the whole way of a message, in and out' },
    load: async () => [(await import('./command/trace.ts')).traceCommand()],
  },
  {
    commands: { 'reports [options] <domain>': 'Tell what others report about mail of a domain (DMARC, TLS)' },
    load: async () => [(await import('./command/reports.ts')).reportsCommand()],
  },
  {
    commands: {
      'status [options]': 'Say whether the service runs and works, and what it holds',
      cluster: 'Look after nodes that share one database',
      'log [options] [words...]': 'Find the lines of the log that tell of somebody: an address, an id, a host',
    },
    load: async () => (await import('./owner/status.ts')).statusCommands(),
  },
  {
    commands: { domain: 'What domains hold and may hold, who looks after them, and whether they are open' },
    load: async () => [(await import('./owner/domains.ts')).domainCommand()],
  },
  {
    commands: {
      address: 'List, give and take addresses of accounts',
      alias: 'Domains that stand for others',
      forward: 'Addresses that only forward',
    },
    load: async () => (await import('./owner/addresses.ts')).addressCommands(),
  },
  {
    commands: { queue: 'What waits to be sent', webhook: 'Who is told of events' },
    load: async () => (await import('./owner/queue.ts')).queueCommands(),
  },
  {
    commands: { suppression: 'Addresses that are not written to' },
    load: async () => (await import('./owner/suppression.ts')).suppressionCommands(),
  },
  {
    commands: {
      'app-password': 'Passwords of accounts for their mail programs',
      autoreply: 'What accounts answer by themselves',
      filter: 'What becomes of mail to accounts',
      task: 'What is done in the background',
    },
    load: async () => (await import('./owner/belongings.ts')).belongingCommands(),
  },
  {
    commands: {
      cert: 'Certificates of host names',
      setting: 'What may be set while the service runs',
      sender: 'Domains whose mail is always, or never, taken for junk',
      audit: 'Copies of an account’s mail for who must look into it',
      'call [options] <method> <path>':
        'Call the HTTP API as the owner of the data, without a token, and print the answer',
    },
    load: async () => (await import('./owner/service.ts')).serviceCommands(),
  },
  {
    commands: { 'completion <shell>': 'Print what a shell needs to complete commands', man: 'Print the manual page' },
    load: async program => (await import('./owner/manual.ts')).manualCommands(program),
  },
]

const nameOf = (shown: string) => shown.split(' ', 1)[0] ?? ''

/**
 * Adds every command to the program.
 * @param words of a command line, of whose command alone more is known than name and purpose; undefined for all as they are
 */
export async function addCommands(program: Command, words?: readonly string[]): Promise<void> {
  const asked = words === undefined ? undefined : askedOf(words)
  const listed = new Map<string, string>()
  for (const { commands, load } of sources) {
    const all = Object.entries(commands)
    const isAsked = asked === undefined || all.some(([shown]) => asked === nameOf(shown))
    const made = isAsked ? await load(program) : all.map(([shown]) => new Command(nameOf(shown)))
    for (const [at, [shown, purpose]] of all.entries()) {
      const command = made[at]
      if (command?.name() !== nameOf(shown)) throw new Error(`no command ${shown} where it is listed`)
      program.addCommand(command.description(purpose))
      listed.set(command.name(), shown)
    }
  }
  program.configureHelp({
    showGlobalOptions: true,
    subcommandTerm: command => listed.get(command.name()) ?? new Help().subcommandTerm(command),
  })
}

/** Name of the command that a command line asks for, or for the help of; undefined for those that tell of all commands. */
function askedOf(words: readonly string[]): string | undefined {
  const [first = '', second = ''] = words.filter(word => !word.startsWith('-'))
  if (first === 'completion' || first === 'man') return
  return first === 'help' ? second : first
}
