// Postfix as a peer: takes mail over SMTP on loopback and hands it to somebody's LMTP, as in front of Dovecot. The same
// promise as ours: 250 means that it is on disk (in its queue), and at last in the mailbox.
//
// A configuration and a queue of its own in a folder of its own; nothing of the machine's is read or changed. Its defaults
// stand, but for looking up names, which nobody needs here. Runs as root only.

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '#lib/clock.ts'
import type { Target } from '../load/line.ts'
import { makeFolder, removeFolder } from '../service.ts'
import { installed } from './install.ts'
import { freePort, greeting } from './port.ts'

/** Starts Postfix in front of `lmtp`, runs `task` with where it listens, and stops it whatever happens. */
export async function withPostfix<Result>(
  lmtp: Target,
  addresses: readonly string[],
  task: (smtp: Target) => Promise<Result>,
): Promise<Result> {
  installed('postfix', ['postfix'])
  const folder = makeFolder()
  const smtp = { host: '127.0.0.1', port: await freePort() }
  const configuration = writeConfiguration(folder, smtp, lmtp, addresses)
  const postfix = (command: string) => execFileSync('postfix', ['-c', configuration, command], { stdio: 'ignore' })
  try {
    postfix('start')
    await greeting(smtp, 'Postfix')
    return await task(smtp)
  } finally {
    postfix('stop')
    await sleep(goneMs)
    removeFolder(folder)
  }
}

/** Its processes take a moment to follow the first one. */
const goneMs = 500

function writeConfiguration(folder: string, smtp: Target, lmtp: Target, addresses: readonly string[]): string {
  chmodSync(folder, 0o755)
  for (const name of ['etc', 'spool', 'data', 'log']) mkdirSync(join(folder, name))
  execFileSync('chown', ['postfix', join(folder, 'data')])
  const etc = join(folder, 'etc')
  writeFileSync(join(etc, 'users'), addresses.map(address => `${address} ok\n`).join(''))
  writeFileSync(
    join(etc, 'main.cf'),
    `compatibility_level = 3.6
queue_directory = ${folder}/spool
data_directory = ${folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
myhostname = mx.bench.test
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
maillog_file = ${folder}/log/mail.log
maillog_file_prefixes = ${folder}/log
alias_maps =
alias_database =
local_recipient_maps =
local_transport = error:no local mail
virtual_mailbox_domains = bench.test
virtual_mailbox_maps = texthash:${etc}/users
virtual_transport = lmtp:inet:${lmtp.host}:${lmtp.port}
smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination
disable_dns_lookups = yes
smtp_host_lookup = native
lmtp_host_lookup = native
biff = no
`,
  )
  const services = [
    `${smtp.host}:${smtp.port} inet n - n - - smtpd`,
    'cleanup unix n - n - 0 cleanup',
    'qmgr unix n - n 300 1 qmgr',
    'rewrite unix - - n - - trivial-rewrite',
    ...['bounce', 'defer', 'trace'].map(name => `${name} unix - - n - 0 bounce`),
    'verify unix - - n - 1 verify',
    'flush unix n - n 1000? 0 flush',
    'proxymap unix - - n - - proxymap',
    ...['error', 'retry'].map(name => `${name} unix - - n - - error`),
    'lmtp unix - - n - - lmtp',
    'anvil unix - - n - 1 anvil',
    'scache unix - - n - 1 scache',
    'postlog unix-dgram n - n - 1 postlogd',
  ]
  writeFileSync(join(etc, 'master.cf'), `${services.join('\n')}\n`)
  return etc
}
