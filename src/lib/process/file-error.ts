// What an error of the operating system about a file means for whoever runs the service, in words, and what to do.
//
// Its own words name a call and a number; people have a path and want to know which of few things is wrong with it.

import { accessSync, constants as modes, statfsSync } from 'node:fs'
import { constants } from 'node:os'
import { limits } from '#lib/limits.ts'

/** By the code of the error. */
const fileReasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not use it; give it to the user the service runs as (chown -R)',
  EPERM: 'this user may not use it',
  EROFS: 'its file system is mounted read-only',
  ENOSPC: 'there is no room on its disk',
  EDQUOT: 'the disk quota is used up',
  ENOENT: 'it is not there',
  EEXIST: 'something that is no folder has this name',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a file stands where a folder should',
  EMFILE: 'too many files are open already (ulimit -n, LimitNOFILE= of a unit)',
  ENAMETOOLONG: 'its path is too long',
}

/**
 * An error about a file as words: the path, what is wrong, the code; the system's own words where there is no path, or none of ours.
 *
 * @param path where the error does not say it, as those of reading and writing do not
 */
export function fileProblem(error: NodeJS.ErrnoException, path = error.path): string {
  const { reason, code } = fileReason(error)
  return path === undefined || reason === undefined ? error.message : `${path}: ${reason} (${code})`
}

/** The same without a path: what is wrong where we have words for it, and the code. */
export function fileReason(error: NodeJS.ErrnoException): {
  readonly reason: string | undefined
  readonly code: string
} {
  const code = codeOf(error)
  return { reason: fileReasons[code], code }
}

/** Why nothing can be written in a folder, in words with the code; undefined where that may go well, or nobody knows. */
export function writingProblem(folder: string): string | undefined {
  try {
    accessSync(folder, modes.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    if (bavail * bsize < limits.writer.roomBytesMin) return inWords({ code: 'ENOSPC' })
  } catch (error) {
    return inWords(error as NodeJS.ErrnoException)
  }
}

function inWords(error: { code?: string }): string | undefined {
  const { reason, code } = fileReason(error as NodeJS.ErrnoException)
  return reason === undefined ? undefined : `${reason} (${code})`
}

/** The runtime has no name for a quota that is used up, and gives the number alone. */
function codeOf({ code = 'unknown', errno }: NodeJS.ErrnoException): string {
  return errno === -constants.errno.EDQUOT ? 'EDQUOT' : code
}
