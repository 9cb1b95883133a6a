// A machine of ours on the small internet: what docs/owner.md says it takes, and nothing else.
//
// There is no systemd on it. What stands in its place starts the unit as the unit says: its command, user, environment and the one
// right it has.

import { readFileSync } from 'node:fs'
import type { Machine } from './machine.ts'
import { program } from './machine.ts'
import { type Town, trusted } from './town.ts'

export async function ownMachine(town: Town, name: string, address: string): Promise<Machine> {
  const machine = await town.machine(name, address)
  const reverse = `${address.split('.').toReversed().join('.')}.in-addr.arpa`
  await town.names.put(`${reverse}. IN PTR ${name}.`)
  const teal = `export NODE_EXTRA_CA_CERTS=${trusted}\nexec /opt/node ${program}/dist/main.js "$@"`
  machine.write('/usr/local/bin/teal', `#!/bin/sh\n${teal}\n`, 0o755)
  machine.write('/usr/local/bin/systemctl', systemctl(), 0o755)
  await machine.good(['useradd', '--system', '--home-dir', '/var/lib/teal', '--shell', '/usr/sbin/nologin', 'teal'])
  return machine
}

/** The records that a set-up printed, as a zone file has them. */
export function zoneOf(said: string): string[] {
  return said
    .split('\n')
    .filter(line => /^\S+\.\s+\d+ IN /.test(line))
    .map(line => line.replace(/\s+; .*$/, ''))
}

/** `enable --now`, `stop` and `restart` of the unit in deploy/. */
function systemctl(): string {
  const unit = readFileSync('deploy/teal.service', 'utf8')
  const said = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? ''
  const user = said('User')
  const right = said('AmbientCapabilities').replace('CAP_', '').toLowerCase()
  const rights = `--inh-caps=-all,+${right} --ambient-caps=-all,+${right} --bounding-set=-all,+${right} --no-new-privs`
  return `#!/bin/sh
up() { pgrep -u ${user} -f 'main.js serve' > /dev/null; }
case "$1" in stop|restart) pkill -TERM -u ${user} -f 'main.js serve'; while up; do sleep 0.1; done;; esac
case "$1" in stop) exit 0;; esac
umask ${said('UMask')}
for d in /var/lib/${said('StateDirectory')} /var/cache/${said('CacheDirectory')}; do mkdir -p -m 0700 $d; chown ${user}:${user} $d; done
${said('Environment')
  .split(' ')
  .map(pair => `export ${pair}`)
  .join('\n')}
setsid setpriv --reuid=${user} --regid=${said('Group')} --init-groups ${rights} ${said('ExecStart')} >> /var/log/teal.log 2>&1 < /dev/null &
`
}
