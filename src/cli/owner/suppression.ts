// `teal suppression`: addresses that are not written to for a while since they do not exist, and what can be done about it.
//
// Of one account with --user, else of all.

import { oneLine } from '#lib/journal/harmless.ts'
import { accountId, type Reach } from '../reach.ts'
import { group, rowsOf, type TaskOptions, task } from './task.ts'

interface Suppressed {
  readonly user: string | false
  readonly address: string
  readonly until: string
  readonly source: string
  readonly status?: string
  readonly response?: string
}

type Options = TaskOptions & { readonly user?: string; readonly until?: string; readonly reason?: string }

const ofUser = ['--user <user>', 'only for this account: id, username or address'] as const

async function base(to: Reach, { user }: Options): Promise<string> {
  return user === undefined ? '/suppressions' : `/users/${await accountId(to, user)}/suppressions`
}

const tasks = [
  task<Options>({
    name: 'list',
    description: 'List addresses that are not written to, with the reason',
    options: [ofUser],
    example: 'teal suppression list',
    async run(to, _words, options, say) {
      for await (const one of rowsOf<Suppressed>(to, await base(to, options))) {
        const whose = one.user === false ? 'everybody' : one.user
        const said = oneLine([one.status, one.response].filter(Boolean).join(' '))
        say(one, `${one.address}  for ${whose}  until ${one.until}  by ${one.source}  ${said}`.trimEnd())
      }
    },
  }),
  task<Options>({
    name: 'add',
    description: 'Have an address not written to',
    takes: [['<address>']],
    options: [
      ofUser,
      ['--until <date>', '90 days from now unless told'],
      ['--reason <text>', 'for whoever is refused'],
    ],
    example: 'teal suppression add gone@example.net --reason "asked us to"',
    async run(to, [address = ''], { until, reason, ...options }, say) {
      const body = { address, ...(until !== undefined && { until }), ...(reason !== undefined && { reason }) }
      say(await to.call('POST', await base(to, options), body), 'It is not written to.')
    },
  }),
  task<Options>({
    name: 'remove',
    description: 'Have an address written to again',
    takes: [['<address>']],
    options: [ofUser],
    example: 'teal suppression remove gone@example.net',
    async run(to, [address = ''], options, say) {
      say(
        await to.call('DELETE', `${await base(to, options)}/${encodeURIComponent(address)}`),
        'It is written to again.',
      )
    },
  }),
]

export const suppressionCommands = () => [group('suppression', tasks)]
