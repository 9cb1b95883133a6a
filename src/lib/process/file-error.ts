// What an error of the operating system about a file means for whoever runs the service, in words, and what to do.
//
// Its own words name a call and a number; people have a path and want to know which of few things is wrong with it.

import { constants } from 'node:os'

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

/** The runtime has no name for a quota that is used up, and gives the number alone. */
function codeOf({ code = 'unknown', errno }: NodeJS.ErrnoException): string {
  return errno === -constants.errno.EDQUOT ? 'EDQUOT' : code
}
