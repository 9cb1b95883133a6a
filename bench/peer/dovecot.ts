// Dovecot as a peer: a configuration of our own in a folder of its own, an LMTP listener on loopback, sdbox mailboxes, and
// for those who ask IMAP, or the same Sieve script for every user.
//
// Nothing of the machine's own configuration is read or changed. Its durability is left at the default, which syncs
// each delivery. Runs as root only, because Dovecot changes to other users.

import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '#lib/clock.ts'
import type { Target } from '../load/line.ts'
import { makeFolder, removeFolder } from '../service.ts'
import { installed } from './install.ts'
import { freePort, greeting } from './port.ts'

export interface Dovecot {
  readonly lmtp: Target
  /** Only where it was asked for. */
  readonly imap: Target
  /** The first of its processes. */
  readonly pid: number
  /** One for each user; the password is `dovecotPassword`. */
  readonly addresses: readonly string[]
  /** Messages in all mailboxes. */
  stored(): number
}

export interface DovecotOptions {
  /** Sieve script of every user. */
  readonly sieve?: string
  readonly imap?: boolean
  /** Processes that have served a session serve the next: logins are several times as fast as by default. */
  readonly reuse?: boolean
}

export const dovecotPassword = 'x'

const mailUser = 5000
const userName = (index: number) => `u${String(index).padStart(4, '0')}`

/** Starts Dovecot with `count` users, runs `task`, and stops it whatever happens. */
export async function withDovecot<Result>(
  count: number,
  task: (peer: Dovecot) => Promise<Result>,
  options: DovecotOptions = {},
): Promise<Result> {
  installed('dovecot', ['dovecot-core', 'dovecot-lmtpd'])
  if (options.sieve !== undefined) installed('sievec', ['dovecot-sieve'])
  if (options.imap === true) installed('../lib/dovecot/imap', ['dovecot-imapd'])
  const folder = makeFolder()
  const port = await freePort()
  const imapPort = await freePort()
  const names = Array.from({ length: count }, (_, index) => userName(index))
  const addresses = names.map(name => `${name}@bench.test`)
  const file = writeConfiguration(folder, { lmtp: port, imap: imapPort }, addresses, options)
  const dovecot = spawn('dovecot', ['-c', file, '-F'], { stdio: 'ignore' })
  const ended = new Promise<void>(resolve => dovecot.once('exit', () => resolve()))
  try {
    const lmtp = { host: '127.0.0.1', port }
    const imap = { host: '127.0.0.1', port: imapPort }
    await greeting(lmtp, `Dovecot (process ${dovecot.pid})`)
    const stored = () => names.reduce((sum, name) => sum + messagesIn(join(folder, 'mail', 'bench.test', name)), 0)
    return await task({ lmtp, imap, pid: dovecot.pid ?? 0, addresses, stored })
  } finally {
    dovecot.kill('SIGTERM')
    await ended
    await sleep(goneMs)
    removeFolder(folder)
  }
}

/** Its processes take a moment to follow the first one. */
const goneMs = 200

/** Each message of an sdbox is a file, which gets its name when it is complete. */
function messagesIn(home: string): number {
  try {
    const files = readdirSync(join(home, 'sdbox', 'mailboxes', 'INBOX', 'dbox-Mails'))
    return files.filter(name => name.startsWith('u.')).length
  } catch {
    return 0
  }
}

function writeConfiguration(
  folder: string,
  ports: { readonly lmtp: number; readonly imap: number },
  addresses: readonly string[],
  { sieve, imap, reuse = false }: DovecotOptions,
): string {
  chmodSync(folder, 0o755)
  for (const name of ['run', 'state', 'mail']) mkdirSync(join(folder, name))
  chownSync(join(folder, 'mail'), mailUser, mailUser)
  const users = join(folder, 'users')
  writeFileSync(
    users,
    addresses.map(address => `${address}:{PLAIN}${dovecotPassword}:${mailUser}:${mailUser}::::\n`).join(''),
  )
  if (sieve !== undefined) {
    writeFileSync(join(folder, 'rules.sieve'), sieve)
    chownSync(join(folder, 'rules.sieve'), mailUser, mailUser)
  }
  const file = join(folder, 'dovecot.conf')
  writeFileSync(
    file,
    `protocols = lmtp${imap === true ? ' imap' : ''}
base_dir = ${folder}/run
state_dir = ${folder}/state
log_path = ${folder}/log
listen = 127.0.0.1
ssl = no
default_login_user = dovenull
default_internal_user = dovecot
first_valid_uid = 1000
mail_uid = ${mailUser}
mail_gid = ${mailUser}
mail_home = ${folder}/mail/%d/%n
mail_location = sdbox:~/sdbox
namespace inbox {
  inbox = yes
  separator = /
}
passdb {
  driver = passwd-file
  args = ${users}
}
userdb {
  driver = passwd-file
  args = ${users}
  override_fields = home=${folder}/mail/%d/%n
}
service lmtp {
  process_limit = 200
  inet_listener lmtp {
    address = 127.0.0.1
    port = ${ports.lmtp}
  }
}
${imap === true ? imapSettings(ports.imap, reuse) : ''}service auth {
  client_limit = 20000
}
service anvil {
  client_limit = 20000
}
service stats {
  client_limit = 20000
}
protocol lmtp {
  postmaster_address = postmaster@bench.test
${sieve === undefined ? '' : '  mail_plugins = $mail_plugins sieve\n'}}
${sieve === undefined ? '' : `plugin {\n  sieve = file:~/sieve;active=${folder}/rules.sieve\n}\n`}`,
  )
  execFileSync('doveconf', ['-c', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  if (sieve !== undefined)
    execFileSync('sievec', ['-c', file, join(folder, 'rules.sieve')], { stdio: ['ignore', 'ignore', 'inherit'] })
  return file
}

/** Enough processes for sessions that wait, and no port but ours. */
function imapSettings(port: number, reuse: boolean): string {
  return `service imap-login {
  inet_listener imap {
    address = 127.0.0.1
    port = ${port}
  }
  inet_listener imaps {
    port = 0
  }
${reuse ? '  service_count = 0\n  process_min_avail = 2\n  process_limit = 2\n  client_limit = 2000\n' : ''}}
service imap {
  process_limit = 2000
  client_limit = 1
${reuse ? '  service_count = 1000\n  process_min_avail = 4\n' : ''}}
protocol imap {
  mail_max_userip_connections = 2000
}
`
}
