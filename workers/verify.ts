// The thread that finds out whether mail comes from whom it says. It waits for DNS most of the time, so it works on several
// messages at once; one that keeps it busy for too long takes the thread with it, and the others count as not looked at.

import { Resolver } from 'node:dns/promises'
import { workerData } from 'node:worker_threads'
import { limits } from '../src/lib/limits.ts'
import { answering } from '../src/lib/process/task.ts'
import { DnsAnswers } from '../src/mail/crypt/dns-answers.ts'
import { type VerifyInput, verifyMessage } from '../src/mail/crypt/verification.ts'

const { servers } = workerData as { readonly servers: readonly string[] }
const resolver = new Resolver({ timeout: limits.verify.questionMs, tries: 2 })
if (servers.length > 0) resolver.setServers(servers)

const answers = new DnsAnswers((name, type) => resolver.resolve(name, type))

/** Answers once the thread is up. */
export const ready = (): boolean => true

export const verify = answering((input: VerifyInput) => {
  return verifyMessage(input, (name, type) => answers.ask(name, type))
})
