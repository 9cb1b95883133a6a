// Who may send under which address, and to how many: an account under any of its own addresses, and under those its
// whitelist allows; recipients are counted by message and by day.
//
// Whatever sends asks here, SMTP submission and the API alike, before a message is queued. The counters of a day may be
// lost with the cache; what is queued never is.

import { domainsToUnicode, normalizeAddress } from '#mail/address/address.ts'
import { resolveAddress } from '#store/accounts/address.ts'
import type { User } from '#store/accounts/users.ts'
import type { Reader } from '#store/engine/reader.ts'

/** Whether `address` may stand in From and in the envelope of what this account sends. */
export async function maySendAs(read: Reader, user: User, address: string): Promise<boolean> {
  // A label that decodes into another address is shown as that by some.
  if (address.includes('=?')) return false
  const { address: shown, key } = normalizeAddress(address)
  const patterns = user.options.fromWhitelist ?? []
  if (patterns.some(pattern => matches(shown.toLowerCase(), pattern) || matches(key, pattern))) return true
  const found = await resolveAddress(read, address, true)
  return found?.user === user.id
}

/** The address to send under: the wanted one where it is allowed, else the account's own. */
export async function senderFor(
  read: Reader,
  user: User,
  wanted: { readonly name?: string | undefined; readonly address: string } | undefined,
  hostname: string,
): Promise<{ name: string; address: string }> {
  if (wanted !== undefined && (await maySendAs(read, user, wanted.address))) {
    return { name: wanted.name ?? user.name, address: wanted.address }
  }
  return { name: wanted?.name || user.name, address: user.address || `${user.username}@${hostname}` }
}

/** `*@example.com`: the star stands for any beginning, and the end is the end of the whole address. */
function matches(address: string, pattern: string): boolean {
  const wanted = domainsToUnicode(pattern.normalize('NFC').trim().toLowerCase())
  if (!wanted.startsWith('*')) return wanted !== '' && address === wanted
  const end = wanted.slice(1)
  return end !== '' && !end.includes('*') && address.endsWith(end) && address.length > end.length
}
