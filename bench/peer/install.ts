// Makes sure that a peer's program is there: as root it installs Debian packages, otherwise it says what is missing.
//
// Packages are kept from starting services of their own while they are installed; a policy that was there before
// stays as it was.

import { execFileSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

const policy = '/usr/sbin/policy-rc.d'

/** Another suite may be installing at the same moment. */
const patient = ['-o', 'DPkg::Lock::Timeout=300']

/** Throws unless `program` is on the path or could be installed from `packages`. */
export function installed(program: string, packages: readonly string[]): void {
  if (found(program)) return
  if (process.getuid?.() !== 0) throw new Error(`${program} is missing: run as root, or install ${packages.join(' ')}`)
  const ownPolicy = !existsSync(policy)
  if (ownPolicy) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    execFileSync('apt-get', [...patient, 'update', '-qq'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
    const options = [...patient, 'install', '-y', '-qq', '--no-install-recommends', ...packages]
    execFileSync('apt-get', options, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  } finally {
    if (ownPolicy) rmSync(policy, { force: true })
  }
  if (!found(program)) throw new Error(`${program} is still missing after installing ${packages.join(' ')}`)
}

function found(program: string): boolean {
  const folders = `${process.env.PATH ?? ''}:/usr/sbin:/usr/bin`.split(':')
  return folders.some(folder => existsSync(`${folder}/${program}`))
}
