// How much whoever looks after a domain may give an account of it: no more than the domain gives by itself.
//
// A number of 0 means the service's own, which may be more than that, so it becomes the domain's. Bytes may go up to all
// that the domain has, where it has a number; how many were given together is the writer's to see (store/domains/domain.ts).

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { normalizeAddress, splitAddress } from '#mail/address/address.ts'
import type { UserLimit } from '#store/accounts/users.ts'
import { findDomain, plainDomain } from '#store/domains/domain.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Settings } from '#store/folder/settings.ts'

type Given = Readonly<Partial<Record<UserLimit | 'quota', number | undefined>>>

/** The domain of an address or of a username that is one, as it is stored; empty where there is none. */
export function domainOf(name: string): string {
  return name.includes('@') ? normalizeAddress(name).domain : splitAddress(name).domain
}

/** What an account gets for what is given. @throws Fault DomainLimit for what is more than it may be */
export async function bounded(read: Reader, settings: Settings, domain: string, given: Given): Promise<Given> {
  const { defaults, quota } = (await findDomain(read, domain)) ?? plainDomain(domain)
  const own: Record<UserLimit, number> = {
    recipients: settings.get('const:max:recipients'),
    forwards: settings.get('const:max:forwards'),
    filters: settings.get('const:max:filters'),
    imapMaxUpload: settings.get('const:max:imap:upload'),
    imapMaxDownload: settings.get('const:max:imap:download'),
    pop3MaxDownload: settings.get('const:max:pop3:download'),
    pop3MaxMessages: limits.user.pop3MessagesMax,
    imapMaxConnections: limits.user.imapConnectionsMax,
    receivedMax: limits.user.receivedMax,
  }
  const taken: Partial<Record<UserLimit | 'quota', number>> = {}
  const bound = (name: UserLimit | 'quota', usual: number, most: number) => {
    const value = given[name]
    if (value === undefined) return
    if (value > most) throw new Fault('DomainLimit', { text: `"${name}" may be ${most} at most in this domain` })
    taken[name] = value === 0 ? usual : value
  }
  for (const [name, plain] of Object.entries(own) as [UserLimit, number][]) {
    const most = defaults.limits?.[name] || plain
    bound(name, most, most)
  }
  const usual = defaults.quota || settings.get('const:max:storage')
  bound('quota', usual, quota || usual)
  return taken
}
