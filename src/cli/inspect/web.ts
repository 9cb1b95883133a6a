// What strangers find over HTTPS under a domain's names: its MTA-STS policy, and a certificate for each name that mail programs
// are sent to.
//
// Asked as strangers ask: by the name's address in DNS, on port 443, with the certificates that this machine trusts. A name that
// is not in DNS is told of by its record, and not here again.

import type { Config } from '#config'
import { limits } from '#lib/limits.ts'
import { stsPolicyText } from '#mail/made/sts-policy.ts'
import { ownAddresses } from '#net/outward/own-addresses.ts'
import { type Certified, fetchPage, type Page } from '#net/outward/page-probe.ts'
import { lookUp } from '#net/outward/records.ts'
import { parsePolicy } from '#net/tls/mta-sts.ts'
import { type Finding, good, unknown, warning, wrong } from './finding.ts'

const port = 443
const policyPath = '/.well-known/mta-sts.txt'

/** Findings about one domain. */
export async function lookAtWeb(config: Config, domain: string, servers: readonly string[]): Promise<Finding[]> {
  const sts = config.smtp.stsMode !== 'none'
  const others = ['autoconfig', 'autodiscover'].map(label => `${label}.${domain}`)
  const [policy, ...shown] = await Promise.all([
    sts ? lookAtStsPolicy(config, domain, servers) : [],
    ...others.map(name => lookAtNameOf(name, servers)),
  ])
  return [...(policy ?? []), ...shown.flat()]
}

/** The policy that others fetch against the one this service has (RFC 8461 3.3). */
async function lookAtStsPolicy(
  { hostname, smtp: { stsMode } }: Config,
  domain: string,
  servers: readonly string[],
): Promise<Finding[]> {
  const name = `mta-sts.${domain}`
  const address = await addressOf(name, servers)
  if (address === undefined) return []
  const subject = domain
  const page = await fetchPage({ name, address, port, path: policyPath })
  const certificate = certificateOf(name, address, page, wrong)
  if (certificate.state !== 'good') return [certificate]
  const told = (text: string, advice: string) => [certificate, wrong('mta-sts', text, { subject, advice })]
  const own = `It is to be what this service answers under https://${name}${policyPath}.`
  if (page.status !== 200) return told(`The policy of ${domain} is answered with ${page.status}.`, own)
  if (!/^text\/plain\s*(?:;|$)/i.test(page.type))
    return told(`The policy of ${domain} is not text/plain, so nobody heeds it.`, own)
  const found = parsePolicy(page.text)
  const wanted = parsePolicy(stsPolicyText(hostname, stsMode))
  if (found === undefined) return told(`What stands where the policy of ${domain} should is none.`, own)
  if (found.mode === wanted?.mode && JSON.stringify(found.mx) === JSON.stringify(wanted.mx))
    return [certificate, good('mta-sts', `${domain} tells others how to send mail here (${found.mode}).`, { subject })]
  const said = `mode ${found.mode}, ${found.mx.join(', ') || 'no host'}`
  return told(`The policy of ${domain} says otherwise (${said}) than smtp.stsMode and hostname.`, own)
}

/** A name that mail programs look for, and can do without. */
async function lookAtNameOf(name: string, servers: readonly string[]): Promise<Finding[]> {
  const address = await addressOf(name, servers)
  if (address === undefined) return []
  return [certificateOf(name, address, await fetchPage({ name, address, port, path: '/' }), warning)]
}

function certificateOf(name: string, address: string, page: Page, bad: typeof wrong): Finding {
  const subject = name
  if (page.certified === undefined) {
    if (unanswered(page) && !ownAddresses().includes(address)) {
      // A router in front often does not lead its own network back in, while it does let others in.
      const advice = `Look from another network: https://${name}/. Many routers do not lead back in from behind them.`
      return unknown('certificate', `${name} is not reached from this machine itself.`, { subject, advice })
    }
    const advice = `Open port ${port} to the world (web.enabled), if it is not reached from elsewhere either.`
    return unreached(page)
      ? bad('certificate', `Nothing answers on port ${port} of ${name}.`, { subject, advice })
      : bad('certificate', `Port ${port} of ${name} does not speak TLS.`, { subject, advice })
  }
  const until = new Date(page.certified.expires).toISOString().slice(0, 10)
  const advice = 'Put the name into tls.acme.names, or a certificate that has it into tls.cert.'
  const { problem } = page.certified
  if (problem !== undefined)
    return bad('certificate', `${problemOf(problem, page.certified, name)}`, { subject, advice })
  if (page.certified.leftMs < limits.probe.certificateMsMin)
    return bad('certificate', `That of ${name} ends on ${until} and should have been renewed.`, { subject, advice })
  return good('certificate', `Good for ${name} until ${until}.`, { subject })
}

function unreached({ failure }: Page): boolean {
  return failure !== undefined && /^(ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/.test(failure)
}

/** Nobody said no, either. */
function unanswered({ failure }: Page): boolean {
  return failure !== undefined && /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/.test(failure)
}

function problemOf(problem: string, { names }: Certified, name: string): string {
  if (problem === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `Under ${name} a certificate is shown for ${names.slice(0, 5).join(', ') || 'nobody'}.`
  if (problem === 'CERT_HAS_EXPIRED') return `The certificate of ${name} has ended.`
  return `The certificate of ${name} is one that nobody trusts (${problem}).`
}

/** Where a name leads; undefined where it leads nowhere or nobody says. */
async function addressOf(name: string, servers: readonly string[]): Promise<string | undefined> {
  for (const kind of ['A', 'AAAA'] as const) {
    const [first] = (await lookUp(name, kind, servers)) ?? []
    if (first !== undefined) return first
  }
  return undefined
}
