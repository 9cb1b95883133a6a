// The thread that finds out whether mail comes from whom it says. It waits for DNS most of the time, so it works on several
// messages at once; one that keeps it busy for too long takes the thread with it, and the others count as not looked at.

import { Resolver } from 'node:dns/promises'
import { limits } from '../src/lib/limits.ts'
import { serve, threadEnd } from '../src/lib/process/serve.ts'
import { checkMark } from '../src/mail/bimi/mark.ts'
import { DnsAnswers } from '../src/mail/crypt/dns-answers.ts'
import { type VerifyInput, verifyMessage } from '../src/mail/crypt/verification.ts'
import { type ListZones, Standings } from '../src/mail/spam/standing.ts'

const end = threadEnd<{ readonly servers: readonly string[]; readonly lists?: ListZones }>()
const { servers, lists = { block: [], allow: [], uri: [] } } = end.given
const resolver = new Resolver({ timeout: limits.verify.questionMs, tries: 2 })
if (servers.length > 0) resolver.setServers(servers)

const answers = new DnsAnswers((name, type) => resolver.resolve(name, type))

const ask = (name: string, type: string) => answers.ask(name, type)
const standings = new Standings(ask, lists, resolver.getServers())

async function verify(input: VerifyInput) {
  const [found, standing] = await Promise.all([verifyMessage(input, ask), standings.of(input)])
  return { ...found, standing }
}

serve({ verify, mark: checkMark }, { end })
