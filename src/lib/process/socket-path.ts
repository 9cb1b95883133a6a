// A path of a socket that the operating system takes: what is too long for one is named through its open folder, where the
// system has names for open files. Too long a path must never come to a library, which may write past its end.

import { closeSync, constants, existsSync, openSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { Fault } from '../fault.ts'
import { limits } from '../limits.ts'

/** Names of what this process has open, on Linux. */
const descriptors = '/proc/self/fd'

export interface SocketPath {
  readonly path: string
  /** The path is good until then; a socket that was made or connected stays. */
  release(): void
}

/** @throws Fault DataDirectoryUnusable where the path is too long and there is no other name for it */
export function socketPath(file: string): SocketPath {
  if (Buffer.byteLength(file) <= limits.process.socketPathBytesMax) return { path: file, release() {} }
  if (!existsSync(descriptors)) {
    throw new Fault('DataDirectoryUnusable', { text: `The path ${file} is too long for a socket` })
  }
  const handle = openSync(dirname(file), constants.O_RDONLY | constants.O_DIRECTORY)
  return { path: `${descriptors}/${handle}/${basename(file)}`, release: () => closeSync(handle) }
}

/** Whether this is a named pipe of Windows, which is no file and goes with its process. */
export function isPipe(path: string): boolean {
  return path.startsWith('\\\\.\\pipe\\')
}
