// What an error of the operating system about a file means for whoever runs the service, in words, and what to do.
//
// Its own words name a call and a number; people have a path and want to know which of few things is wrong with it.

/** By the code of the error. */
export const fileReasons: Readonly<Record<string, string>> = {
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
  const { code = '', message } = error
  const reason = fileReasons[code]
  return path === undefined || reason === undefined ? message : `${path}: ${reason} (${code})`
}
