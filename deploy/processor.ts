// How long all processes worked that a command started, those included that went into the background or were not waited for: a browser's,
// a database's, what a test kills.
//
// Linux counts by control group: whoever may make one (root, in most containers and build machines) puts the command into one of its own.
// Who may not asks the shell, which knows of those processes alone that were waited for.

import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'

/** A way to count: the group's folder, and where it is none, the file into which the shell writes. */
export interface Count {
  /** What runs `"$@"` in bash so that it is counted. */
  readonly script: string
  /** Seconds of a processor so far, of all threads and processes. */
  seconds(): number
  /** Lets go of what counted; the figure is gone. */
  end(): void
}

/** Where groups are made: the first version of control groups has a tree for processor time, the second one for all. */
const trees = [
  { folder: '/sys/fs/cgroup/cpuacct', file: 'cpuacct.usage', find: /^(\d+)$/m, perSecond: 1e9 },
  { folder: '/sys/fs/cgroup', file: 'cpu.stat', find: /^usage_usec (\d+)$/m, perSecond: 1e6 },
] as const

/**
 * @param name of the group, unique on the machine
 * @param timesFile where the shell may write what it knows
 */
export function countOf(name: string, timesFile: string): Count {
  for (const tree of trees) {
    const group = join(tree.folder, name)
    try {
      mkdirSync(group)
    } catch {
      continue
    }
    const usage = join(group, tree.file)
    // Before the first process joins, what is no control group (a folder of a mere file system) shows that it has no such file.
    if (existsSync(usage) && existsSync(join(group, 'cgroup.procs')))
      return {
        script: `echo $$ > '${group}/cgroup.procs'; exec "$@"`,
        seconds: () => Number(tree.find.exec(readFileSync(usage, 'utf8'))?.[1] ?? 0) / tree.perSecond,
        end: () => forget(group),
      }
    forget(group)
  }
  return {
    script: `"$@"; code=$?; times > '${timesFile}'; exit $code`,
    seconds: () => waitedFor(timesFile),
    end: () => undefined,
  }
}

function forget(group: string): void {
  try {
    rmdirSync(group)
  } catch {
    // Something still runs in it: it stays until the machine's end, and costs nothing.
  }
}

/** The last line of the shell's `times` has user and system of what it waited for: `1m2.3s 0m4.5s`. */
function waitedFor(file: string): number {
  const line = existsSync(file) ? (readFileSync(file, 'utf8').trim().split('\n').at(-1) ?? '') : ''
  return [...line.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  )
}
