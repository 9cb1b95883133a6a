// Whose a set-up is: root may write the configuration and hands the data to the user that the service runs as.

import { chownSync, existsSync, readFileSync, statSync } from 'node:fs'
import { Fault } from '#lib/fault.ts'
import { makeFolder } from '#lib/lasting.ts'

interface SystemUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** The user that a name means, among those of this machine. */
function findUser(name: string): SystemUser | undefined {
  if (!existsSync('/etc/passwd')) return undefined
  const fields = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map(line => line.split(':'))
    .find(([known]) => known === name)
  return fields === undefined ? undefined : { name, uid: Number(fields[2]), gid: Number(fields[3]) }
}

/**
 * The user the service is to run as; undefined where this is not run by root, or there is none.
 *
 * @param name asked for; '' takes `teal` where there is one
 * @throws Fault NotPermitted where there is no user of that name, or this is not run by root
 */
export function serviceUser(name: string): SystemUser | undefined {
  const isRoot = process.geteuid?.() === 0
  const found = findUser(name || 'teal')
  if (name !== '' && (found === undefined || !isRoot)) {
    const text = isRoot
      ? `There is no user ${name}: useradd --system --home-dir /var/lib/${name} --shell /usr/sbin/nologin ${name}`
      : 'Only root may name another user to run as: run this as root, or without --user.'
    throw new Fault('NotPermitted', { text })
  }
  return isRoot && found?.uid !== 0 ? found : undefined
}

/** Goes on as that user, whose the data directory is from then on; it must be new, empty or his. */
export function become({ uid, gid }: SystemUser, dataDir: string): void {
  makeFolder(dataDir)
  if (statSync(dataDir).uid !== uid) chownSync(dataDir, uid, gid)
  process.setgroups?.([gid])
  process.setgid?.(gid)
  process.setuid?.(uid)
}
