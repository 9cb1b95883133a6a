// Where a domain wants to be told (`rua`): of TLS in `_smtp._tls` (RFC 8460 3), of DMARC in `_dmarc` (RFC 7489 6.3).
//
// A domain that names somebody else's address for DMARC must be allowed to by whom it names (RFC 7489 7.1), or strangers could have
// this service write to anybody. That nobody could be asked is thrown: it is tried again later.

import { limits } from '#lib/limits.ts'
import { isAddress, splitAddress } from '#mail/address/address.ts'
import { isAligned } from '#mail/origin/verification.ts'
import type { ResolveTxt } from '#net/tls/mta-sts.ts'
import type { ReportKind } from '#store/sending/report.ts'

export interface ReportAddresses {
  readonly mail: readonly { readonly address: string; readonly bytesMax: number }[]
  /** URLs of https, for reports about TLS. */
  readonly https: readonly string[]
}

const units: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 }

/** Empty where it wants to hear nothing. Rejects where nobody could say. */
export async function reportAddresses(kind: ReportKind, domain: string, resolve: ResolveTxt): Promise<ReportAddresses> {
  const tls = kind === 'tls'
  const records = await textsOf(`${tls ? '_smtp._tls' : '_dmarc'}.${domain}`, resolve)
  const ours = records.filter(record => (tls ? /^v=TLSRPTv1\s*;/ : /^v=DMARC1\s*(?:;|$)/).test(record))
  const rua = ours.length === 1 ? /;\s*rua\s*=\s*([^;]+)/i.exec(ours[0] ?? '')?.[1] : undefined
  const mail: { address: string; bytesMax: number }[] = []
  const https: string[] = []
  for (const text of (rua ?? '').split(',').slice(0, limits.report.addressesMax)) {
    const uri = text.trim()
    if (tls && /^https:\/\//i.test(uri) && URL.canParse(uri)) https.push(uri)
    const found = mailOf(uri)
    if (found !== undefined && (tls || (await allows(domain, found.address, resolve)))) mail.push(found)
  }
  return { mail, https }
}

function mailOf(uri: string): { address: string; bytesMax: number } | undefined {
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

/** Whether reports of a domain may go to an address of another one. */
async function allows(domain: string, address: string, resolve: ResolveTxt): Promise<boolean> {
  const other = splitAddress(address).domain.toLowerCase()
  if (isAligned(domain, other)) return true
  const records = await textsOf(`${domain}._report._dmarc.${other}`, resolve)
  return records.some(record => /^v=DMARC1\s*(?:;|$)/.test(record))
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
