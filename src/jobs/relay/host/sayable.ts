// What cannot be said to a host, known from what it offers before anything is said: an address or a header for which it has no
// words, and a message that is larger than it takes. Refused here as it would refuse it, for good, so that nothing is tried for days, and no other
// recipient suffers for it.

/** What a host offers in its EHLO. */
export interface Offers {
  /** SMTPUTF8 (RFC 6531). */
  readonly utf8: boolean
  /** 8BITMIME (RFC 6152). */
  readonly eightBit: boolean
  /** REQUIRETLS (RFC 8689). */
  readonly requireTls: boolean
  /** Bytes of the largest message (RFC 1870); 0 where it does not say. */
  readonly sizeMax: number
}

/** As the library gives what a server refused. */
interface Refusal {
  readonly responseCode: number
  readonly response: string
  /** That it did not: it was not asked. */
  readonly unasked: true
}

interface Envelope {
  readonly from: string
  readonly to: readonly string[]
  readonly size?: number
  readonly eightBit?: boolean
  readonly utf8?: 'wanted' | 'needed' | undefined
  readonly requireTls?: 'always' | 'offered'
}

/** What a sender hears where no host keeps REQUIRETLS (RFC 8689 7). */
export const requireTlsMissing = '5.7.30 REQUIRETLS support required'

/** The host does not offer REQUIRETLS. */
export class Unfit extends Error {
  readonly response = requireTlsMissing
}

export type Lacking = 'eightBit' | 'utf8'

/** The host does not offer 8BITMIME or SMTPUTF8. */
export class AsciiOnly extends Error {
  readonly lacks: Lacking
  constructor(lacks: Lacking) {
    super('the host takes ASCII alone')
    this.lacks = lacks
  }
}

/** The host can be told nothing of it. */
class Unsayable extends Error implements Refusal {
  readonly responseCode: number
  readonly response: string
  readonly unasked = true
  readonly rejectedErrors: readonly Refusal[]

  constructor({ responseCode, response }: Refusal, rejectedErrors: readonly Refusal[] = []) {
    super(response)
    this.responseCode = responseCode
    this.response = response
    this.rejectedErrors = rejectedErrors
  }
}

/** @param secure whether it was said over TLS, without which some of it means nothing */
export function offersIn(reply: string, secure: boolean): Offers {
  const size = Number(/^250[- ]SIZE[ \t]+(\d{1,15})/im.exec(reply)?.[1] ?? 0)
  const offers = (name: string) => new RegExp(`^250[- ]${name}\\b`, 'im').test(reply)
  const requireTls = secure && /^250[- ]REQUIRETLS *\r?$/im.test(reply)
  return { utf8: offers('SMTPUTF8'), eightBit: offers('8BITMIME'), requireTls, sizeMax: size }
}

/** Whom the host can be told of, and of whom it cannot. @throws Unsayable where that is nobody, or the message is not for it; Unfit, AsciiOnly */
export function sayable({ from, to, size = 0, eightBit, utf8, requireTls }: Envelope, offers: Offers) {
  if (requireTls === 'always' && !offers.requireTls) throw new Unfit('the host does not offer REQUIRETLS')
  const { sizeMax } = offers
  if (sizeMax > 0 && size > sizeMax) {
    throw new Unsayable(refusal(552, `5.3.4 The host takes ${sizeMax} bytes, and the message has ${size}`))
  }
  // RFC 6531 3.2.
  if (utf8 === 'needed' && !offers.utf8) {
    throw new Unsayable(refusal(550, '5.6.7 The host takes headers in ASCII alone, and the message has another one'))
  }
  const sender = refusedAddress(from, offers, '5.1.7')
  if (sender !== undefined) throw new Unsayable(sender)
  const said: string[] = []
  const unsaid: (Refusal & { readonly recipient: string })[] = []
  for (const recipient of to) {
    const why = refusedAddress(recipient, offers, '5.1.3')
    if (why === undefined) said.push(recipient)
    else unsaid.push({ recipient, ...why })
  }
  const [first] = unsaid
  if (first !== undefined && said.length === 0) throw new Unsayable(first, unsaid)
  if (eightBit === true && !offers.eightBit) throw new AsciiOnly('eightBit')
  if (utf8 !== undefined && !offers.utf8) throw new AsciiOnly('utf8')
  return { to: said, unsaid }
}

function refusedAddress(address: string, { utf8 }: Offers, odd: string): Refusal | undefined {
  // The library writes no brackets within brackets, whoever quotes them.
  if (/[\r\n<>]/.test(address)) return refusal(553, `${odd} The address holds what is not sent to other hosts`)
  // RFC 6531 3.5.
  if (!utf8 && /[^\0-\x7f]/.test(address)) return refusal(553, '5.6.7 The host takes addresses in ASCII alone')
  return undefined
}

function refusal(responseCode: number, text: string): Refusal {
  return { responseCode, response: `${responseCode} ${text}`, unasked: true }
}

/** Part of the library that it keeps to itself. */
interface Speaking {
  _sendCommand(line: string, ...more: unknown[]): void
}

/** Says SMTPUTF8 of messages whose header wants it (RFC 6531 3.4); the library does so of addresses alone. */
export function headerUtf8(connection: object): (wanted: boolean) => void {
  const speaking = connection as Speaking
  const say = speaking._sendCommand.bind(connection)
  let wants = false
  speaking._sendCommand = (line, ...more) => {
    const lacks = wants && line.startsWith('MAIL FROM:') && !/ SMTPUTF8\b/.test(line)
    say(lacks ? `${line} SMTPUTF8` : line, ...more)
  }
  return wanted => {
    wants = wanted
  }
}
