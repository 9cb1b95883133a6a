// Rewritten senders of forwarded mail (SRS): the next host sees a domain of ours as the sender's, and a bounce comes back to
// us and goes on to the original sender.
//
// Pure. `SRS0=hash=day=domain=local@ours`: the hash is keyed, so nobody can make us send to an address of his choice, and the
// day ends the address after some weeks. Letters are compared without case, since hosts on the way change it.

import { createHmac } from 'node:crypto'
import { limits } from '#lib/limits.ts'
import { splitAddress } from './address.ts'

export interface SrsKey {
  /** Domain of rewritten senders, one whose mail comes here. */
  readonly domain: string
  readonly secret: string
}

const dayMs = 24 * 60 * 60 * 1000
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
/** Days are counted round this clock, which fits two letters. */
const daysMax = alphabet.length ** 2
const hashLength = 8

/** The sender to be used instead of `sender`; the null sender and senders of the domain itself stay. */
export function rewriteSender(sender: string, key: SrsKey, now: number): string {
  const { local, domain } = splitAddress(sender)
  if (domain === '' || domain.toLowerCase() === key.domain.toLowerCase()) return sender
  const day = dayText(now)
  return `SRS0=${hash(key, day, domain, local)}=${day}=${domain}=${local}@${key.domain}`
}

/** Whether an address has the form of a rewritten sender of this domain. */
export function isRewritten(address: string, domain: string): boolean {
  return /^srs0=/i.test(address) && splitAddress(address).domain.toLowerCase() === domain.toLowerCase()
}

/** The original sender behind a rewritten one; undefined where we did not make it, or long ago. */
export function originalSender(address: string, key: SrsKey, now: number): string | undefined {
  if (!isRewritten(address, key.domain)) return undefined
  const [, given, day, domain, original] =
    /^srs0=([a-z2-7]+)=([a-z2-7]{2})=([^=]+)=(.+)$/is.exec(splitAddress(address).local) ?? []
  if (given === undefined || day === undefined || domain === undefined || original === undefined) return undefined
  if (given.toLowerCase() !== hash(key, day.toLowerCase(), domain, original)) return undefined
  const made =
    alphabet.indexOf(day[0]?.toLowerCase() ?? '') * alphabet.length + alphabet.indexOf(day[1]?.toLowerCase() ?? '')
  const age = (dayNumber(now) - made + daysMax) % daysMax
  return age * dayMs <= limits.outbound.srsMs ? `${original}@${domain}` : undefined
}

function dayNumber(now: number): number {
  return Math.floor(now / dayMs) % daysMax
}

function dayText(now: number): string {
  const day = dayNumber(now)
  return `${alphabet[Math.floor(day / alphabet.length)]}${alphabet[day % alphabet.length]}`
}

function hash({ secret }: SrsKey, day: string, domain: string, local: string): string {
  const bytes = createHmac('sha256', secret).update(`${day}=${domain}=${local}`.toLowerCase()).digest()
  return Array.from(bytes.subarray(0, hashLength), byte => alphabet[byte % alphabet.length]).join('')
}
