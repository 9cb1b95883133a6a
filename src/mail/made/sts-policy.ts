// The policy by which others are told how to send mail here (MTA-STS, RFC 8461 3.2), and by what they know it from the next.
//
// It is the same for every domain of this service, since all of them have this host; its id follows from its text.

import { createHash } from 'node:crypto'

export type StsMode = 'none' | 'testing' | 'enforce'

/** Seconds for which it is to be remembered; in `testing` not for long, so that a mistake passes. */
const ages: Readonly<Record<StsMode, number>> = { none: 86_400, testing: 86_400, enforce: 14 * 86_400 }
const idLength = 20

export function stsPolicyText(hostname: string, mode: StsMode): string {
  return `version: STSv1\r\nmode: ${mode}\r\nmx: ${hostname.toLowerCase()}\r\nmax_age: ${ages[mode]}\r\n`
}

/** The TXT record of `_mta-sts.<domain>`. */
export function stsRecord(hostname: string, mode: StsMode): string {
  const id = createHash('sha256').update(stsPolicyText(hostname, mode)).digest('hex').slice(0, idLength)
  return `v=STSv1; id=${id};`
}
