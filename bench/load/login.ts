// Logs in over IMAP or POP3: an operation is the whole of connecting, logging in and logging out.
//
// Each of the connections opens the next one when its own has ended, so `connections` are open at any time.

import type { LoadResult, LoginJob } from './job.ts'
import { LoadCounters } from './job.ts'
import { openLines } from './line.ts'

export function login(job: LoginJob): Promise<LoadResult> {
  const counters = new LoadCounters(job)
  return counters.run(ended => again(job, counters, ended))
}

function again(job: LoginJob, counters: LoadCounters, ended: () => void): void {
  const number = counters.next()
  const user = number === undefined ? undefined : job.users[number % job.users.length]
  if (user === undefined) {
    ended()
    return
  }
  const since = performance.now()
  const steps = job.protocol === 'imap' ? imapSteps(user.name, user.password) : pop3Steps(user.name, user.password)
  let step = 0
  let problem: string | undefined
  openLines(
    job,
    (line, client) => {
      if (problem !== undefined || !isAnswer(job.protocol, step, line)) return
      if (!/^(\* OK|a\d OK|\+OK)/.test(line)) problem = line
      const command = steps[step]
      if (problem !== undefined || command === undefined) client.end()
      else client.send(command)
      step += 1
    },
    error => {
      if (problem === undefined && error === undefined && step > steps.length) counters.done(since, 0)
      else counters.failed(problem ?? error?.message ?? 'closed early')
      again(job, counters, ended)
    },
  )
}

/** Untagged lines after the greeting are no answers. */
function isAnswer(protocol: LoginJob['protocol'], step: number, line: string): boolean {
  return protocol === 'pop3' || step === 0 || !line.startsWith('* ')
}

function imapSteps(name: string, password: string): string[] {
  return [`a1 LOGIN "${name}" "${password}"\r\n`, 'a2 LOGOUT\r\n']
}

function pop3Steps(name: string, password: string): string[] {
  return [`USER ${name}\r\n`, `PASS ${password}\r\n`, 'QUIT\r\n']
}
