// Rewritten senders of forwarded mail (SRS): the next host sees a domain of ours as the sender's, and what comes back comes to us, with
// the message that it is about.
//
// Pure. `SRS0=hash=day=domain=local@ours`: the hash is keyed, so nobody can make us send to an address of his choice, and the
// day ends the address after some weeks. Behind the two letters of the day stands the number of the message in the queue. Letters are
// compared without case, since hosts on the way change it. What could not stand there without quotes
// (and no host takes quotes in the midst) is written in hexadecimal digits, a local part behind one more `=`, an address literal behind `~`.

import { createHmac } from 'node:crypto'
import { limits } from '#lib/limits.ts'
import { domainToAscii, splitAddress } from './address.ts'

export interface SrsKey {
  /** Domain of rewritten senders, one whose mail comes here. */
  readonly domain: string
  readonly secret: string
}

export interface Rewritten {
  /** The sender there was; empty where there was no room for him, and the message has to say. */
  readonly sender: string
  /** Number of the message in the queue; 0 where the address does not say. */
  readonly message: number
}

const dayMs = 24 * 60 * 60 * 1000
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
/** Days are counted round this clock, which fits two letters. */
const daysMax = alphabet.length ** 2
const hashLength = 8
const dayLength = 2
/** Letters of a number; more is no number of ours. */
const numberLengthMax = 10

/**
 * The sender to be used instead of `sender`; the null sender and senders of the domain itself stay.
 *
 * @param message number of the message in the queue, where it has one
 */
export function rewriteSender(sender: string, key: SrsKey, now: number, message = 0): string {
  const { local, domain } = splitAddress(sender)
  if (domain === '' || domain.toLowerCase() === key.domain.toLowerCase()) return sender
  const day = dayText(now) + (message === 0 ? '' : numberText(message))
  const word = plain(local, '=')
  const name = plain(domainToAscii(domain) || domain, '~')
  const whole = `SRS0=${hash(key, day, name, word)}=${day}=${name}=${word}`
  const fits = whole.length <= limits.name.localPartBytesMax || day.length === dayLength
  return `${fits ? whole : `SRS0=${hash(key, day, '', '')}=${day}`}@${key.domain}`
}

/** What may stand in a local part as it is. */
const word = /^[^\x00-\x20"(),.:;<>@[\\\]\x7f-\u{10ffff}]+(?:\.[^\x00-\x20"(),.:;<>@[\\\]\x7f-\u{10ffff}]+)*$/u

function plain(text: string, sign: string): string {
  return word.test(text) && !text.startsWith(sign) ? text : `${sign}${Buffer.from(text).toString('hex')}`
}

function unplain(text: string, sign: string): string {
  if (!text.startsWith(sign) || !/^(?:[\da-f]{2})+$/i.test(text.slice(1))) return text
  return Buffer.from(text.slice(1), 'hex').toString()
}

/** Whether an address has the form of a rewritten sender of this domain. */
export function isRewritten(address: string, domain: string): boolean {
  return /^srs0=/i.test(address) && splitAddress(address).domain.toLowerCase() === domain.toLowerCase()
}

/** What is behind a rewritten sender; undefined where we did not make it, or long ago. */
export function readRewritten(address: string, key: SrsKey, now: number): Rewritten | undefined {
  if (!isRewritten(address, key.domain)) return undefined
  const [, given, day, number = '', domain = '', original = ''] =
    /^srs0=([a-z2-7]+)=([a-z2-7]{2})([a-z2-7]{0,10})(?:=([^=]+)=(.+))?$/is.exec(splitAddress(address).local) ?? []
  if (given === undefined || day === undefined || (domain === '' && number === '')) return undefined
  if (given.toLowerCase() !== hash(key, `${day}${number}`.toLowerCase(), domain, original)) return undefined
  const made =
    alphabet.indexOf(day[0]?.toLowerCase() ?? '') * alphabet.length + alphabet.indexOf(day[1]?.toLowerCase() ?? '')
  const age = (dayNumber(now) - made + daysMax) % daysMax
  if (age * dayMs > limits.outbound.srsMs) return undefined
  const sender = domain === '' ? '' : `${unplain(original, '=')}@${unplain(domain, '~')}`
  return { sender, message: readNumber(number.toLowerCase()) }
}

function numberText(number: number): string {
  let text = ''
  for (let left = number; left > 0; left = Math.floor(left / alphabet.length)) {
    text = `${alphabet[left % alphabet.length]}${text}`
  }
  return text.length > numberLengthMax ? '' : text
}

function readNumber(text: string): number {
  return [...text].reduce((number, letter) => number * alphabet.length + alphabet.indexOf(letter), 0)
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
