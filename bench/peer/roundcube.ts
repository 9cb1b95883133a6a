// Roundcube as a peer: Debian's package with a configuration and an SQLite database of our own in a folder of its own, served by PHP's
// own web server with several workers and the code cache on. It speaks IMAP and submission to the service that is measured.
//
// Nothing of the machine's own configuration is read or changed.

import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '#lib/clock.ts'
import type { Target } from '../load/line.ts'
import { makeFolder, removeFolder } from '../service.ts'
import { installed } from './install.ts'
import { freePort } from './port.ts'

const program = '/usr/share/roundcube'
const php = '/usr/bin/php'
const workers = 4
const triesMax = 100

/** Starts Roundcube before a service, runs `task` with its address, and stops it whatever happens. */
export async function withRoundcube<Result>(
  service: { readonly imap: Target; readonly submission: Target },
  task: (origin: string) => Promise<Result>,
): Promise<Result> {
  installed('php', ['php-cli', 'php-sqlite3'])
  if (!existsSync(program)) installed('../share/roundcube/index.php', ['roundcube-core', 'roundcube-sqlite3'])
  const folder = makeFolder()
  const port = await freePort()
  const settings = configure(folder, service)
  const options = ['-d', 'opcache.enable_cli=1', '-d', 'error_reporting=0', '-d', `error_log=${folder}/php.log`]
  const server = spawn(php, [...options, '-S', `127.0.0.1:${port}`, '-t', program], {
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      PHP_CLI_SERVER_WORKERS: String(workers),
      ROUNDCUBE_CONFIG_DIR: settings,
    },
    stdio: 'ignore',
    detached: true,
  })
  const ended = new Promise<void>(resolve => server.once('exit', () => resolve()))
  try {
    const origin = `http://127.0.0.1:${port}`
    await up(origin)
    return await task(origin)
  } finally {
    if (server.pid !== undefined) process.kill(-server.pid, 'SIGTERM')
    await ended
    removeFolder(folder)
  }
}

/** Answers the folder of its configuration. */
function configure(folder: string, { imap, submission }: { imap: Target; submission: Target }): string {
  const config = join(folder, 'config')
  for (const name of ['config', 'temp', 'logs']) mkdirSync(join(folder, name))
  const database = join(folder, 'roundcube.db')
  const settings = {
    db_dsnw: `sqlite:///${database}?mode=0600`,
    imap_host: `${imap.host}:${imap.port}`,
    smtp_host: `${submission.host}:${submission.port}`,
    smtp_user: '%u',
    smtp_pass: '%p',
    des_key: 'rcmail-bench-24-byte-key',
    plugins: [],
    skin: 'elastic',
    temp_dir: join(folder, 'temp'),
    log_dir: join(folder, 'logs'),
    enable_installer: false,
    session_lifetime: 60,
  }
  const lines = Object.entries(settings).map(([key, value]) => {
    return `$config['${key}'] = ${Array.isArray(value) ? '[]' : JSON.stringify(value)};`
  })
  writeFileSync(join(config, 'config.inc.php'), `<?php\n$config = [];\n${lines.join('\n')}\n`)
  for (const name of ['defaults.inc.php', 'mimetypes.php']) {
    const from = [join(program, 'config', name), join('/etc/roundcube', name)].find(existsSync)
    if (from !== undefined) copyFileSync(from, join(config, name))
  }
  const sql = ['/usr/share/dbconfig-common/data/roundcube/install/sqlite3', join(program, 'SQL/sqlite.initial.sql')]
  const schema = sql.find(existsSync)
  if (schema === undefined) throw new Error('the package of Roundcube has no schema for SQLite')
  const code = `$db = new PDO('sqlite:${database}'); $db->exec(file_get_contents('${schema}'));`
  execFileSync(php, ['-r', code], { stdio: ['ignore', 'ignore', 'inherit'] })
  return config
}

async function up(origin: string): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    try {
      const answer = await fetch(origin)
      if (answer.ok && (await answer.text()).includes('rcmloginuser')) return
    } catch {
      // It is not there yet.
    }
    await sleep(100)
  }
  throw new Error('Roundcube does not show its page')
}
