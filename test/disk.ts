// A small file system in memory, for tests of a disk that is full. Root mounts it; anybody else gets it in a mount namespace
// of their own, which commands enter and which the test itself reaches through the process that holds it.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

export interface Disk {
  /** Where it is for commands, run through `enter`. */
  readonly path: string
  /** Where it is for this process. */
  readonly seen: string
  /** The words to begin a command with. */
  readonly enter: readonly string[]
  unmount(): Promise<void>
}

/** @param folder made, and under which it lies */
export async function smallDisk(folder: string, size: string): Promise<Disk> {
  mkdirSync(folder)
  const mount = ['-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', folder]
  if (process.getuid?.() === 0) {
    execFileSync('mount', mount)
    const unmount = async () => void execFileSync('umount', [folder])
    return { path: folder, seen: folder, enter: [], unmount }
  }
  // `cat` holds the namespace until its standard input ends.
  const words = ['--user', '--map-root-user', '--mount', '/bin/sh', '-c', 'mount "$@" && echo up && exec cat', 'sh']
  const holder = spawn('unshare', [...words, ...mount], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(holder, 'close')
  await Promise.race([
    once(holder.stdout, 'data'),
    ended.then(() => {
      throw new Error('neither root nor user namespaces: nothing can be mounted here (user.max_user_namespaces)')
    }),
  ])
  const unmount = async () => {
    holder.stdin.end()
    await ended
  }
  const where = ['--target', String(holder.pid), `--wdns=${process.cwd()}`]
  const enter = ['nsenter', ...where, '--user', '--mount', '--preserve-credentials']
  return { path: folder, seen: join('/proc', String(holder.pid), 'root', folder), enter, unmount }
}
