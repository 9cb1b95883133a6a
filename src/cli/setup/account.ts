// A domain's first steps: the domain itself, and its first account, made where it is not there, with a password that is shown once.
//
// Where a second factor is wanted it comes with an application password for mail programs, which know no factors. The keys
// that sign come with the address. Each step may have been done before, and is then left as it is.

import type { Config } from '#config'
import { acmeName } from '#lib/acme-name.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { decodeBase32, stepMs, totpCode } from '#lib/secret/totp.ts'
import type { Reach } from '../reach.ts'
import { namesOf } from './plan.ts'

export interface Account {
  readonly id: string
  readonly address: string
  /** Whether it was made now. */
  readonly made: boolean
  /** Of the second factor, where it was switched on now. */
  readonly seed?: string
  /** For mail programs, where there is a second factor. */
  readonly mailPassword?: string
}

/** @param password asked for where the account is made */
export async function provideAccount(to: Reach, address: string, password: () => Promise<string>): Promise<Account> {
  const found = await accountOf(to, address)
  if (found !== undefined) return { id: found, address, made: false }
  const form = { username: address, password: await password(), address }
  const { id } = await to.call<{ id: string }>('POST', '/users', form)
  return { id, address, made: true }
}

/** Id of the account that has an address. */
export async function accountOf(to: Reach, address: string): Promise<string | undefined> {
  const { results } = await to.call<{ results: ({ id: string } | null)[] }>('POST', '/control/accounts', {
    identifiers: [address],
  })
  return results[0]?.id
}

/**
 * Switches one-time codes on.
 *
 * @param code what the program shows, asked of its owner; worked out here where nobody is there to ask
 */
export async function protect(to: Reach, account: Account, code?: (seed: string) => Promise<string>): Promise<Account> {
  const { id } = account
  const { seed } = await to.call<{ seed: string }>('POST', `/users/${id}/2fa/totp/setup`, { label: account.address })
  const key = decodeBase32(seed)
  const token =
    code === undefined && key !== undefined ? totpCode(key, Math.floor(now() / stepMs)) : ((await code?.(seed)) ?? '')
  await to.call('POST', `/users/${id}/2fa/totp/enable`, { token })
  const form = { description: 'Mail programs', scopes: ['*'] }
  const { password: mailPassword } = await to.call<{ password: string }>('POST', `/users/${id}/asps`, form)
  return { ...account, seed, mailPassword }
}

/** The domain as a thing of its own, with nothing said of it yet; one that was made stays as it is. */
export async function provideDomain(to: Reach, domain: string): Promise<void> {
  const path = `/domains/${encodeURIComponent(domain)}`
  const { created } = await to.call<{ created: string | false }>('GET', path)
  if (created === false) await to.call('PUT', path, {})
}

/** The keys that sign mail of the domain: made where there are none yet. */
export async function provideKeys(to: Reach, domain: string): Promise<void> {
  const path = `/domainkeys?domain=${encodeURIComponent(domain)}`
  const { results } = await to.call<{ results: unknown[] }>('GET', path)
  if (results.length === 0) await to.call('POST', '/domainkeys/rotate', { domain })
}

/** Has certificates fetched for the domain's names, where that is done here and the settings, written for another domain, have others. */
export async function provideNames(to: Reach, { tls: { acme } }: Config, domain: string): Promise<void> {
  if (!acme.enabled) return
  const wanted = namesOf(domain).flatMap(name => acmeName(name) ?? [])
  const named = new Set(acme.names.map(acmeName))
  for (const servername of wanted.filter(name => !named.has(name))) {
    const path = `/certs/resolve/${encodeURIComponent(servername)}`
    const known = await to.call('GET', path).catch((error: unknown) => {
      if (!(error instanceof Fault) || error.code !== 'CertNotFound') throw error
      return undefined
    })
    if (known === undefined) await to.call('POST', '/certs', { servername, acme: true })
  }
}
