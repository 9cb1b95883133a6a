// Whose a data directory is: everything in it is for one user of the operating system and for nobody else.
//
// A directory of another user is not served: what is made there would be lost to its owner, or read by somebody who should
// not. What others can enter or read is closed to them where it is ours; a directory that holds other things too is left as
// it is, and said.

import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { Fault } from '#lib/fault.ts'
import { keysDir } from './place.ts'

const others = 0o077

/** What the service makes at the top of its directory; anything else is somebody's. */
const ours =
  /^(teal\.db(-wal|-shm|-journal)?|lock(-journal)?|cache(\.broken)?|blobs|tmp|keys|tls|run\.json|root-token|control\.sock|\.gitkeep|lost\+found)(\.new)?$/

/**
 * Whether a path is the data directory, or lies in what the service makes there, through links too. What else an operator keeps in
 * the directory is his.
 */
export function isOfService(path: string, dataDir: string): boolean {
  const [top = ''] = relative(realOf(dataDir), realOf(path)).split(sep)
  return top === '' || ours.test(top)
}

/** A path without links; what is not there yet has none. */
function realOf(path: string): string {
  const whole = resolve(path)
  if (existsSync(whole) || dirname(whole) === whole) return realpathSync(whole)
  return join(realOf(dirname(whole)), basename(whole))
}

/** @throws Fault DataDirectoryUnusable where the directory is another user's */
export function requireOwner(dataDir: string): void {
  const self = process.geteuid?.()
  const { uid } = statSync(dataDir)
  if (self === undefined || uid === self) return
  const how =
    self === 0
      ? `run this as that user (\`runuser -u ${nameOf(uid)} -- teal …\`), or while the service runs as that user`
      : 'run this as that user, or give the directory to the one this runs as'
  const text = `The data directory ${dataDir} belongs to ${nameOf(uid)} and this runs as ${nameOf(self)}: ${how}`
  throw new Fault('DataDirectoryUnusable', { text })
}

/** Closes to others what is in the directory, and the directory. @returns what was wrong, as sentences */
export function closeToOthers(dataDir: string): string[] {
  const names = readdirSync(dataDir)
  const notes: string[] = []
  if (names.every(name => name === '.gitkeep' || name.startsWith('.probe-'))) {
    // Nobody had anything to read yet.
    if (names.includes('.gitkeep')) close(join(dataDir, '.gitkeep'))
    chmodSync(dataDir, 0o700)
    return notes
  }
  const open = names.filter(name => ours.test(name) && close(join(dataDir, name)))
  const keys = names.includes('keys')
    ? readdirSync(keysDir(dataDir)).filter(key => close(join(keysDir(dataDir), key)))
    : []
  const closed = [...open, ...keys.map(key => `keys/${key}`)]
  if (closed.length > 0) notes.push(`others could read ${closed.join(', ')} in ${dataDir}: closed to them`)
  if ((statSync(dataDir).mode & others) === 0) return notes
  const foreign = names.filter(name => !ours.test(name) && !name.startsWith('.probe-'))
  if (foreign.length === 0) {
    chmodSync(dataDir, 0o700)
    notes.push(`others could enter ${dataDir}: closed to them`)
  } else {
    notes.push(`others can enter ${dataDir}, which is left so because of what else is in it (${foreign[0]})`)
  }
  return notes
}

/** Gives what root has made in a directory to the one whose directory it is. */
export function giveToOwner(path: string, dir = dirname(path)): void {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(dir)
  const made = lstatSync(path, { throwIfNoEntry: false })
  if (made !== undefined && made.uid === 0 && uid !== 0) lchownSync(path, uid, gid)
}

/**
 * Goes on as the user whose folder `dir` is, where root is in one of the service's: what is made there is the service's then, and nothing that
 * the service put there leads root elsewhere. What the program consists of may be out of reach from here on.
 */
export function becomeOwner(dir: string, dataDir: string): void {
  const found = statSync(dir, { throwIfNoEntry: false })
  if (process.geteuid?.() !== 0 || found === undefined || found.uid === 0) return
  const { uid, gid } = found
  if (statSync(dataDir).uid !== uid) return
  process.setgroups?.([gid])
  process.setgid?.(gid)
  process.setuid?.(uid)
}

/** Takes the permissions of others away from a file or folder of ours. @returns whether they had any */
function close(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  // A link shows where the operator has put something, and has no mode.
  if (found === undefined || found.isSymbolicLink() || (found.mode & others) === 0) return false
  if (found.uid !== process.geteuid?.()) return false
  chmodSync(path, found.mode & 0o700)
  return true
}

/** Name of a user, or the number where it has none. */
function nameOf(uid: number): string {
  try {
    const line = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find(one => one.split(':')[2] === String(uid))
    return line?.split(':')[0] ?? `user ${uid}`
  } catch {
    return `user ${uid}`
  }
}
