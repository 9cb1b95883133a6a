// Whose a set-up is: root may write the configuration and hands the data to the user that the service runs as.
//
// What is new is made by root and given away at the end; what is the user's already is gone on with as that user, so that nothing of
// root's lies in it. Settings are for their owner and the service to read: passwords may be written into them later.

import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  lchownSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { threadFile } from '#lib/build-info.ts'
import { Fault } from '#lib/fault.ts'
import { makeFolder, putFile } from '#lib/lasting.ts'

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

/** Whether a data directory is there and belongs to that user already. */
export function isOwnerOf({ uid }: SystemUser, dataDir: string): boolean {
  return statSync(dataDir, { throwIfNoEntry: false })?.uid === uid
}

/** Goes on as that user. @throws Fault NotPermitted where the program itself is not for him to read */
export function become({ name, uid, gid }: SystemUser): void {
  process.setgroups?.([gid])
  process.setgid?.(gid)
  process.setuid?.(uid)
  try {
    accessSync(threadFile('writer'), constants.R_OK)
  } catch (error) {
    const text = `The data belongs to ${name}: run this as that user (runuser -u ${name} -- teal setup …), or while the service runs.`
    throw new Fault('NotPermitted', { text, cause: error })
  }
}

/** Gives what was made to that user. */
export function give({ uid, gid }: SystemUser, dataDir: string): void {
  for (const name of ['', ...readdirSync(dataDir, { recursive: true })])
    lchownSync(join(dataDir, String(name)), uid, gid)
}

/**
 * Puts the settings where the service reads them: as one of the user's group. Where root does not know yet who that will be
 * everybody may; nothing that is written here is secret.
 */
export function putSettings(file: string, text: string, user: SystemUser | undefined): void {
  const isRoot = process.geteuid?.() === 0
  const mode = user !== undefined ? 0o640 : isRoot ? 0o644 : 0o600
  const folder = dirname(file)
  const isNew = !existsSync(folder)
  makeFolder(folder)
  if (isNew && isRoot) chmodSync(folder, 0o755)
  putFile(file, text, 0o600)
  if (user !== undefined) chownSync(file, 0, user.gid)
  chmodSync(file, mode)
}
