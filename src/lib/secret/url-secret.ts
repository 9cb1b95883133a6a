// URLs that hold a password: sealed for rows, opened where they are called, masked where they are shown.
//
// Only the secret itself is sealed: the password, or where there is none the name, which is a token then. What is left is
// a URL still, so destinations, searches and answers need no key. One URL is sealed to one text, so that rows find it again. What
// comes from outside is sealed as it is, also what looks sealed: nobody may have somebody else's secret opened for him.

import { invalid } from '../fault.ts'
import type { SecretBox } from './secret-box.ts'

/** What stands in answers where a secret is. */
const mask = '***'
const sealedForm = /^\$wd01\$aes-256-gcm\$[0-9a-f]{32}\$[0-9a-f]{24}\$[0-9a-f]{32}\$[0-9a-f]*$/

export class UrlSecrets {
  readonly #box: SecretBox

  constructor(box: SecretBox) {
    this.#box = box
  }

  /** A URL as it is stored. One without a secret, one whose secret is masked (`keepSecrets`) and what is no URL is itself. */
  async seal(url: string): Promise<string> {
    const parts = partsOf(url)
    if (parts === undefined || parts.secret === mask) return url
    const { before, secret, after } = parts
    return before + (await this.#box.sealSame(secret, before + after)) + after
  }

  async sealAll(urls: readonly string[]): Promise<string[]> {
    return Promise.all(urls.map(url => this.seal(url)))
  }

  /** A URL as it is called. One that was never sealed is itself. @throws Fault SealBroken */
  async open(url: string): Promise<string> {
    const parts = partsOf(url)
    if (parts === undefined || !sealedForm.test(parts.secret)) return url
    return parts.before + (await this.#box.open(parts.secret)) + parts.after
  }
}

/** A URL as it may be shown, whether it is sealed or not. */
export function maskUrl(url: string): string {
  const parts = partsOf(url)
  return parts === undefined ? url : parts.before + mask + parts.after
}

/**
 * URLs that were given (and sealed), those that came back as they were shown with the secrets that are stored.
 *
 * @throws Fault InputValidationError for a masked one that is not stored: the mask is nobody's password
 */
export function keepSecrets(given: readonly string[], stored: readonly string[], field: string): string[] {
  return given.map(url => {
    if (partsOf(url)?.secret !== mask) return url
    const shown = maskUrl(url)
    const kept = stored.find(one => maskUrl(one) === shown)
    if (kept === undefined) throw invalid(field, 'must hold the password, since it is not a URL that is stored here')
    return kept
  })
}

/** Whether a stored URL holds a secret that anybody can read. */
export function isClear(url: string): boolean {
  const parts = partsOf(url)
  return parts !== undefined && !sealedForm.test(parts.secret)
}

/** A URL around its secret; undefined where it has none. */
function partsOf(text: string): { before: string; secret: string; after: string } | undefined {
  if (!text.includes('@') || !URL.canParse(text)) return undefined
  const { href, username, password } = new URL(text)
  const secret = password || username
  if (secret === '') return undefined
  // Of the two parts in front of the first @ this is the latter; both have theirs escaped.
  const end = href.indexOf('@')
  return { before: href.slice(0, end - secret.length), secret, after: href.slice(end) }
}
