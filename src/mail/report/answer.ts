// What a server's refusal says about a recipient (RFC 3463, RFC 5321 4.2.3): whether the address is gone, its box full, the mail
// unwanted, or nothing of the kind. Answers to our own attempts and those that reports carry are judged alike.
//
// Pure and linear. A code counts before words; words count where there is no code, or one that says nothing (5.0.0). What speaks of
// policy is never about the address, whatever code it carries: servers refuse spam with 5.1.1, too.

export type AnswerKind = 'unknown' | 'full' | 'policy' | 'delayed' | 'other'

export interface Answer {
  /** Class, subject and detail: `5.1.1`; empty where there is none. */
  readonly status: string
  /** SMTP code; null where there is none. */
  readonly code: number | null
  readonly text: string
  /** Whether it is given up; a temporary answer may be the last one. */
  readonly final: boolean
}

/** A recipient that a report names. */
export interface BouncedRecipient {
  readonly address: string
  /** The one its sender named, where the report says so. */
  readonly original?: string
  readonly kind: AnswerKind
  /** Whether it is given up. */
  readonly final: boolean
  /** `5.1.1`; empty where nothing like it was said. */
  readonly status: string
  readonly text: string
}

/** Characters of an answer that are looked at. */
const lookedMax = 2000

/**
 * RFC 3463 3.2, RFC 7505 4.2: no such mailbox, no such domain, moved away, a domain without mail; RFC 3463 3.3: switched off. Others are
 * of the message, of a moment, or of who asks.
 */
const gone = /^5\.(?:1\.(?:1|2|6|10)|2\.1)$/

/** RFC 3463 3.1: nothing known. Others than these have a meaning of their own. */
const saysNothing = /^(?:|[45]\.0\.0|[45]\.1\.0|[45]\.5\.0|[45]\.3\.0)$/

const unwanted =
  /\b(?:spam|virus|malware|phish\w*|black-?list\w*|block-?list\w*|blocked|spamhaus|dnsbl|rbl|reputation|policy|dmarc|dkim|spf|greylist\w*|unauthenticated|content rejected|relay(?:ing)? (?:access )?denied|relaying|not permitted|denylist\w*|listed (?:at|by|on|in) [\w.-]+\.[a-z]{2,})\b/i

const noSuch =
  /(?:\b(?:user|recipient|address|mailbox|account|addressee|local[ -]part)s?(?: address)? (?:is |was |are )?(?:unknown|not found|invalid|not known|inactive|disabled|deactivated|closed|deleted|rejected: (?:user|recipient|address) unknown)|\b(?:unknown|invalid|no such|nonexistent|non-existent|bad) (?:local )?(?:e-?mail )?(?:user|recipient|address|mailbox|account|addressee|person|name)|\b(?:do|does)(?: not|n['’]t) exist|\bno mailbox here|\bnobody (?:of|by|with) th(?:is|at) name|\bnot listed in (?:the )?(?:public |domino )?(?:name|directory|address book)|\bdoes(?: not|n['’]t) have an? \S{1,100} account|\bcould(?: not|n['’]t) be found|\bno longer (?:available|valid|exists?|in use|active)|\bnot a (?:known|valid) (?:user|recipient|mailbox)|\bhost (?:or domain name )?(?:unknown|not found)|\bmailbox (?:is )?unavailable or (?:not local|invalid)|\bunrouteable address|\bis not known (?:here|at this)|\buser .{1,100} (?:not known|unknown)\b)/i

const noRoom =
  /\b(?:over ?quota|quota exceeded|exceed\w* (?:\w+ ){0,3}quota|mailbox (?:is )?(?:full|too large)|(?:is|user) over ?quota|disk quota|storage (?:is )?(?:full|exceeded)|insufficient (?:disk|storage|system storage))\b/i

/** What an answer says. */
export function sortAnswer({ status, code, text, final }: Answer): AnswerKind {
  const words = text.slice(0, lookedMax)
  if (/^[45]\.2\.2$/.test(status) || (code === 552 && noRoom.test(words))) return 'full'
  const temporary = status !== '' ? status.startsWith('4') : code !== null && code < 500
  if (noRoom.test(words) && !gone.test(status)) return 'full'
  if (!final) return 'delayed'
  if (/^[45]\.7\./.test(status) || unwanted.test(words)) return 'policy'
  if (gone.test(status)) return 'unknown'
  if (!temporary && saysNothing.test(status) && noSuch.test(words)) return 'unknown'
  return 'other'
}

/** The enhanced code that an answer begins with or names, of its own class where that is known; empty where there is none. */
export function statusIn(text: string, code: number | null = null): string {
  const kind = code === null ? '[245]' : String(Math.floor(code / 100))
  return new RegExp(`(?<![\\d.])${kind}\\.\\d{1,3}\\.\\d{1,3}(?![\\d.]*\\d)`).exec(text.slice(0, lookedMax))?.[0] ?? ''
}

/** The SMTP code in a text that quotes an answer; null where there is none. */
export function codeIn(text: string): number | null {
  const found = /(?<![\d.])([45]\d\d)(?=[ -])/.exec(text.slice(0, lookedMax))?.[1]
  return found === undefined ? null : Number(found)
}
