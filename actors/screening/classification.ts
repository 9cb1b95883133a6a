// Headers that say how a message was judged: what ours say (wire-details 8, Delivery order), and keeping a stranger's out.
//
// A copy that came in with the message is cut out before anybody sees it, so that what stands there is ours, whoever wrote it
// and however it came: what is said of spam (but by a relay in front that is trusted with it), marks, and
// Authentication-Results that speak in our name (RFC 8601 5). Nothing else of the message changes. A header block beyond
// limits.mime.headerBytesMax is not looked at, here as anywhere.

import { limits } from '#lib/limits.ts'
import { speaksAs } from '#mail/header/auth-results.ts'
import { cutUnwanted } from '#mail/header/cut.ts'
import type { Header } from '#mail/header/header.ts'
import type { User } from '#store/accounts/users.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { SpamScore } from '#store/mailboxes/messages.ts'
import type { Trace } from '#store/rules/trace.ts'

const name = 'WD-Mail-Classification'
const names = ['', '-Source', '-Info'].map(part => name + part)

/** Who decided, and how that is said. */
const sources = {
  domain: ['user-domainaccess', 'The sender domain is on a list'],
  level: ['user-spamlevel', 'The spam level decided'],
  filter: ['user-filter', 'A filter decided'],
} as const

/** The header lines of a verdict. */
export function classification({ spam, by }: NonNullable<Trace['verdict']>): string {
  const [source, info] = sources[by as keyof typeof sources] ?? sources.filter
  const values = [spam ? 'junk' : 'not-junk', source, info]
  return names.map((one, at) => `${one}: ${values[at]}\r\n`).join('')
}

/** The score from which on an account takes mail for junk (api-semantics 10.5); at 100 none. */
export function spamLevelOf({ options }: Pick<User, 'options'>): number {
  return options.spamLevel ?? usualLevel
}

const usualLevel = 50

/** Fields that say what was found of spam, as programs know them, for an account with this level. */
export function spamFields({ score, parts }: SpamScore, level: number): string {
  const tests = parts.map(part => `${part.name}=${part.score}`.replace(/[^\w=.-]/g, '_'))
  const yes = isJunk(score, level) ? 'Yes' : 'No'
  const lines = [`X-Spam-Flag: ${yes.toUpperCase()}`, `X-Spam-Score: ${score}`]
  return `${[...lines, `X-Spam-Status: ${yes}, score=${score} required=${level}\r\n\ttests=${tests.join(',\r\n\t ')}`].join('\r\n')}\r\n`
}

export function isJunk(score: number, level: number): boolean {
  return score >= level && level < levelMax
}

const levelMax = 100

/** Whether somebody before us has said in a header what he found of spam. */
export function saysOfSpam(header: Header): boolean {
  return ['x-spam-flag', 'x-spam-status', 'x-spam-score'].some(key => header.has(key))
}

/** What a message must not say of itself. */
export interface Verdicts {
  /** Ours of junk are written. */
  readonly classifies: boolean
  /** The name under which we say what was looked at; null where somebody before us may have said it. */
  readonly hostname: string | null
  /** A relay brings it whose word on spam is trusted: `heeded` where it is a part of our score. */
  readonly relay?: 'trusted' | 'heeded' | undefined
}

/** A message whose bytes are here already. */
export interface Here {
  /** Bytes of its header block, the empty line included. */
  readonly headerEnd: number
  readonly size: number
  stream(start: number, end?: number): AsyncIterable<Buffer>
}

/** The message without such headers, for the caller to discard; null where it has none. */
export async function withoutVerdicts(
  bodies: Bodies,
  { headerEnd, size, stream }: Here,
  { classifies, hostname, relay }: Verdicts,
): Promise<Received | null> {
  const stays = relay === 'trusted' || (relay === 'heeded' && !classifies)
  const end = Math.min(headerEnd, limits.mime.headerBytesMax)
  const chunks: Buffer[] = []
  for await (const chunk of stream(0, end)) chunks.push(chunk)
  const block = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  // A quick look: there hardly ever are any.
  if (!suspicious.test(block.toString('latin1'))) return null
  const top = cutUnwanted(block, (key, value) => {
    if (ofSpam.test(key)) return !stays
    if (ofVerdict.test(key)) return classifies || hostname !== null
    if (hostname === null) return false
    return ofMark.test(key) || (key === 'authentication-results' && speaksAs(hostname, value()))
  })
  if (top.length === block.length) return null
  async function* whole(): AsyncGenerator<Buffer> {
    yield top
    yield* stream(end)
  }
  return await bodies.receiveAll(whole(), size)
}

const suspicious = /authentication-results|wd-mail-classification|x-spam|bimi-/i
const ofSpam = /^x-spam(?:-|$)/
const ofVerdict = /^wd-mail-classification(?:-|$)/
/** A program that reads them would take a stranger's word for ours. */
const ofMark = /^(?:bimi-(?:location|indicator|logo-preference)|x-bimi-indicator-hash)$/
