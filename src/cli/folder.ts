// A folder that others can write to while it is read: opened once, and everything in it found from there and not by a path.
//
// A path is looked up anew each time, and whoever owns a folder on it may have put a link in its place meanwhile. What is
// opened through the folder itself lies in it. Where the operating system has no way to that but its own calls, paths are
// used, with a look before.

import { closeSync, constants, existsSync, lstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onDisk } from './import/disk-name.ts'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants

/** Names under an open folder, on Linux. */
const descriptors = '/proc/self/fd'

export class Folder {
  /** As people know it. */
  readonly path: string
  readonly #handle: number

  private constructor(path: string, handle: number) {
    this.path = path
    this.#handle = handle
  }

  /** @throws ELOOP or ENOTDIR for a link and for what is no folder, ENOENT where there is nothing */
  static open(path: string): Folder {
    return new Folder(path, openSync(onDisk(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
  }

  /** A folder in this one. @throws as `Folder.open` */
  open(name: string): Folder {
    const handle = openSync(onDisk(this.at(name)), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    return new Folder(join(this.path, name), handle)
  }

  /** Where to find what lies in it under a name; the folder itself without. Good as long as it is open. */
  at(name = ''): string {
    const own = `${descriptors}/${this.#handle}`
    return existsSync(own) ? `${own}/${name}` : join(this.path, name)
  }

  /** What lies there: a folder, something else, or nothing. */
  kindOf(name: string): 'folder' | 'other' | 'none' {
    const found = lstatSync(onDisk(this.at(name)), { throwIfNoEntry: false })
    return found === undefined ? 'none' : found.isDirectory() ? 'folder' : 'other'
  }

  /** A small text in it; empty where there is none, or more than `bytesMax`, or no regular file. */
  text(name: string, bytesMax: number): string {
    try {
      const found = lstatSync(onDisk(this.at(name)))
      if (!found.isFile() || found.size > bytesMax) return ''
      const handle = openSync(onDisk(this.at(name)), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      try {
        return readFileSync(handle, 'utf8').slice(0, bytesMax)
      } finally {
        closeSync(handle)
      }
    } catch {
      return ''
    }
  }

  close(): void {
    closeSync(this.#handle)
  }
}
