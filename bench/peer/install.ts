// Makes sure that a peer's program is there: as root it installs Debian packages, otherwise it says what is missing.
//
// Packages are kept from starting services of their own while they are installed; a policy that was there before
// stays as it was. Several processes at once take turns, and lists of packages that are fresh are not fetched again.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const policy = '/usr/sbin/policy-rc.d'
const lock = '/run/lock/teal-packages'

const script = `
set -u
own=
if [ ! -e ${policy} ]; then printf '#!/bin/sh\\nexit 101\\n' > ${policy}; chmod 755 ${policy}; own=1; fi
trap '[ -z "$own" ] || rm -f ${policy}' EXIT
export DEBIAN_FRONTEND=noninteractive
apt() { apt-get -qq -o DPkg::Lock::Timeout=600 "$@" >/dev/null; }
put() { apt install -y --no-install-recommends -o Dpkg::Options::=--force-unsafe-io "$@"; }
fresh() { [ -n "$(find /var/lib/apt/lists -maxdepth 0 -mmin -60)" ]; }
if fresh && put "$@" 2>/dev/null; then exit 0; fi
for _ in 1 2 3 4 5; do
  if apt update && put "$@"; then exit 0; fi
  sleep 10
done
exit 1
`

/** Throws unless `program` is on the path or could be installed from `packages`. */
export function installed(program: string, packages: readonly string[]): void {
  if (isThere(program)) return
  if (process.getuid?.() !== 0) throw new Error(`${program} is missing: run as root, or install ${packages.join(' ')}`)
  installPackages(packages)
  if (!isThere(program)) throw new Error(`${program} is still missing after installing ${packages.join(' ')}`)
}

/** Installs Debian packages, all of them or none; what is there already costs a moment. */
export function installPackages(packages: readonly string[]): void {
  execFileSync('flock', [lock, 'sh', '-c', script, 'sh', ...packages], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Whether a program is on the path. */
export function isThere(program: string): boolean {
  const folders = `${process.env.PATH ?? ''}:/usr/sbin:/usr/bin`.split(':')
  return folders.some(folder => existsSync(`${folder}/${program}`))
}
