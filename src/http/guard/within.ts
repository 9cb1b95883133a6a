// What a call may touch that is limited to some domains: those of whoever looks after them.
//
// `null` stands for calls that are not limited so. What lies elsewhere is refused without a word on whether it is there.

import { Fault } from '#lib/fault.ts'

/** Names in lower case and in unicode; null: a call that is not limited to any. */
export type Domains = readonly string[] | null

export function isWithin(domains: Domains, domain: string): boolean {
  return domains === null || domains.includes(domain)
}

/** @throws Fault MissingPrivileges */
export function requireWithin(domains: Domains, ...names: readonly string[]): void {
  if (names.some(name => !isWithin(domains, name))) throw new Fault('MissingPrivileges')
}
