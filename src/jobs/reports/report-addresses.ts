// Where a domain wants to be told (`rua`): of TLS in `_smtp._tls` (RFC 8460 3), of DMARC in `_dmarc` (RFC 9989 4.7).
//
// A domain that names somebody else's address for DMARC must be allowed to by whom it names (RFC 9990 4), who may name another one of
// his; or strangers could have this service write to anybody. That nobody could say what a domain wants is thrown; of others whom it names it is told, since
// one whose name server is gone must not keep the rest from hearing anything.

import { limits } from '#lib/limits.ts'
import { isAddress, splitAddress } from '#mail/address/address.ts'
import { isAligned } from '#mail/origin/verification.ts'
import type { ResolveTxt } from '#net/tls/mta-sts.ts'
import type { ReportKind } from '#store/sending/report.ts'

export interface ReportAddresses {
  readonly mail: readonly MailAddress[]
  /** URLs of https, for reports about TLS. */
  readonly https: readonly string[]
  /** Of some whom it names nobody could say whether they agree. */
  readonly doubtful: boolean
}

interface MailAddress {
  readonly address: string
  readonly bytesMax: number
}

const units: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 }

/** Empty where it wants to hear nothing. Rejects where nobody could say. */
export async function reportAddresses(kind: ReportKind, domain: string, resolve: ResolveTxt): Promise<ReportAddresses> {
  const tls = kind === 'tls'
  const records = await textsOf(`${tls ? '_smtp._tls' : '_dmarc'}.${domain}`, resolve)
  const ours = records.filter(record => (tls ? /^v=TLSRPTv1\s*;/ : /^v=DMARC1\s*(?:;|$)/).test(record))
  const rua = ours.length === 1 ? ruaOf(ours[0]) : undefined
  const mail: MailAddress[] = []
  const https: string[] = []
  let doubtful = false
  for (const uri of urisIn(rua)) {
    if (tls && /^https:\/\//i.test(uri) && URL.canParse(uri)) https.push(uri)
    const found = mailOf(uri)
    if (found === undefined) continue
    const agreed = tls ? [found] : await agreedBy(domain, found, resolve).catch(() => undefined)
    doubtful ||= agreed === undefined
    mail.push(...(agreed ?? []).filter(({ address }) => !mail.some(one => one.address === address)))
  }
  return { mail: mail.slice(0, limits.report.addressesMax), https, doubtful }
}

function urisIn(rua: string | undefined): string[] {
  const texts = (rua ?? '').split(',').slice(0, limits.report.addressesMax)
  return texts.map(text => text.trim())
}

function mailOf(uri: string): MailAddress | undefined {
  const [, encoded = '', count, unit = ''] = /^mailto:([^?!]+)(?:!(\d{1,12})([kmgt]?))?(?:\?.*)?$/i.exec(uri) ?? []
  const address = decoded(encoded)
  if (!isAddress(address)) return undefined
  const bytesMax = count === undefined ? limits.report.bytesMax : Number(count) * (units[unit.toLowerCase()] ?? 1)
  return { address, bytesMax: Math.min(bytesMax, limits.report.bytesMax) }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

/** Where reports of a domain may go of what it names: none where that is another domain's and it does not agree. */
async function agreedBy(domain: string, named: MailAddress, resolve: ResolveTxt): Promise<readonly MailAddress[]> {
  const hostOf = ({ address }: MailAddress) => splitAddress(address).domain.toLowerCase()
  const other = hostOf(named)
  if (isAligned(domain, other)) return [named]
  const records = await textsOf(`${domain}._report._dmarc.${other}`, resolve)
  const agreement = records.find(record => /^v=DMARC1\s*(?:;|$)/.test(record))
  if (agreement === undefined) return []
  const instead = ruaOf(agreement)
  if (instead === undefined) return [named]
  // Who agrees may say where; where he names others and not himself, nobody is told (RFC 9990 4).
  return urisIn(instead)
    .flatMap(uri => mailOf(uri) ?? [])
    .filter(one => hostOf(one) === other)
}

function ruaOf(record = ''): string | undefined {
  return /;\s*rua\s*=\s*([^;]+)/i.exec(record)?.[1]
}

async function textsOf(name: string, resolve: ResolveTxt): Promise<string[]> {
  try {
    return (await resolve(name)).map(parts => parts.join(''))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOTFOUND' || code === 'ENODATA') return []
    throw error
  }
}
