// Dovecot as a peer: a configuration of our own in a folder of its own, an LMTP listener on loopback, sdbox mailboxes.
//
// Nothing of the machine's own configuration is read or changed. Its durability is left at the default, which syncs
// each delivery. Runs as root only, because Dovecot changes to other users.

import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { sleep } from '#lib/clock.ts'
import type { Target } from '../load/line.ts'
import { openLines } from '../load/line.ts'
import { makeFolder, removeFolder } from '../service.ts'
import { installed } from './install.ts'

export interface Dovecot {
  readonly lmtp: Target
  /** One for each user. */
  readonly addresses: readonly string[]
}

const mailUser = 5000

/** Starts Dovecot with `count` users, runs `task`, and stops it whatever happens. */
export async function withDovecot<Result>(count: number, task: (peer: Dovecot) => Promise<Result>): Promise<Result> {
  installed('dovecot', ['dovecot-core', 'dovecot-lmtpd'])
  const folder = makeFolder()
  const port = await freePort()
  const addresses = Array.from({ length: count }, (_, index) => `u${String(index).padStart(4, '0')}@bench.test`)
  const file = writeConfiguration(folder, port, addresses)
  const dovecot = spawn('dovecot', ['-c', file, '-F'], { stdio: 'ignore' })
  const ended = new Promise<void>(resolve => dovecot.once('exit', () => resolve()))
  try {
    const lmtp = { host: '127.0.0.1', port }
    await greeting(lmtp, dovecot.pid ?? 0)
    return await task({ lmtp, addresses })
  } finally {
    dovecot.kill('SIGTERM')
    await ended
    removeFolder(folder)
  }
}

function writeConfiguration(folder: string, port: number, addresses: readonly string[]): string {
  chmodSync(folder, 0o755)
  for (const name of ['run', 'state', 'mail']) mkdirSync(join(folder, name))
  chownSync(join(folder, 'mail'), mailUser, mailUser)
  const users = join(folder, 'users')
  writeFileSync(users, addresses.map(address => `${address}:{PLAIN}x:${mailUser}:${mailUser}::::\n`).join(''))
  const file = join(folder, 'dovecot.conf')
  writeFileSync(
    file,
    `protocols = lmtp
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
    port = ${port}
  }
}
service auth {
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
}
`,
  )
  execFileSync('doveconf', ['-c', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  return file
}

/** Waits until the peer greets. */
async function greeting(target: Target, pid: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const greeted = await new Promise<boolean>(resolve => {
      openLines(
        target,
        (_, client) => {
          resolve(true)
          client.end()
        },
        () => resolve(false),
      )
    })
    if (greeted) return
    await sleep(100)
  }
  throw new Error(`Dovecot (process ${pid}) did not greet`)
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}
